"""The k best of all trees, exactly and without repetition (Murty 1968; Lawler 1972).

All trees but the best fall into parts: those that agree with it on the heads of the words before d, and differ on that
of d, for d = 1..n. The best tree of each part is a candidate for the next place; once it is taken, its part falls into
parts in the same way.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from structdep.spanning.mst import best_tree

SIDE_BY_SIDE = 512
"""Trees that are sought at the same time, at most."""


class Part(NamedTuple):
    """Trees that share the heads of the words before `word`, `[batch]`, and the best of them.

    That has a score `[batch]`, heads and the ranks of its arcs `[batch, n]`. Trees whose `word` has one of the
    `excluded` heads and ranks, bool `[batch, n+1, ranks]`, are no longer among them.
    """

    score: jax.Array
    heads: jax.Array
    ranks: jax.Array
    word: jax.Array
    excluded: jax.Array


def k_best_trees(
    arcs: jax.Array, lengths: jax.Array, single_root: bool, k: int
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Scores `[k, batch]`, from the best down, -inf where there are fewer; heads and ranks `[k, batch, n]`.

    `arcs` are masked scores `[batch, n+1, n+1, ranks]`: a tree also chooses the rank of each arc, its label, say.
    Time O(k n^4).
    """
    batch, nodes, _, ranks = arcs.shape
    allowed, nowhere = jnp.ones((), bool), jnp.zeros((batch, nodes, ranks), bool)
    whole = _best(arcs, lengths, single_root, allowed, jnp.ones(batch, int), nowhere)
    pool = jax.tree.map(lambda leaf: jnp.zeros((k, nodes - 1, *leaf.shape), leaf.dtype), whole)
    pool = pool._replace(score=jnp.full_like(pool.score, -jnp.inf))

    def take(state: tuple[Part, Part], place: jax.Array) -> tuple[tuple[Part, Part], Part]:
        best, pool = state
        pool = jax.tree.map(lambda leaf, new: leaf.at[place].set(new), pool, _split(arcs, lengths, single_root, best))
        scores = pool.score.reshape(k * (nodes - 1), batch)
        number = (jnp.argmax(scores, 0), jnp.arange(batch))
        following = jax.tree.map(lambda leaf: leaf.reshape(k * (nodes - 1), *leaf.shape[2:])[number], pool)
        return (following, pool._replace(score=scores.at[number].set(-jnp.inf).reshape(pool.score.shape))), best

    _, taken = lax.scan(take, (whole, pool), jnp.arange(k))
    order = jnp.argsort(taken.score, axis=0, descending=True)
    sentences = jnp.arange(batch)
    return taken.score[order, sentences], taken.heads[order, sentences], taken.ranks[order, sentences]


def _split(arcs: jax.Array, lengths: jax.Array, single_root: bool, part: Part) -> Part:
    """The parts that are left of one without its best tree: `[n, batch, ..]`."""
    batch, nodes, _, ranks = arcs.shape
    taken = (part.heads[:, None, :, None] == jnp.arange(nodes)[:, None, None]) & (
        part.ranks[:, None, :, None] == jnp.arange(ranks)
    )
    taken = jnp.pad(taken, [(0, 0), (0, 0), (1, 0), (0, 0)])

    def before(word: jax.Array) -> Part:
        is_same = (part.word == word)[:, None, None]
        excluded = lax.dynamic_index_in_dim(taken, word, 2, False) | (part.excluded & is_same)
        place = jnp.arange(nodes)[:, None]
        allowed = jnp.where(place < word, taken, (place > word) | ~excluded[:, :, None])
        found = _best(arcs, lengths, single_root, allowed, jnp.full(batch, word), excluded)
        is_part = (part.word <= word) & (word <= lengths) & ~jnp.isneginf(part.score)
        return found._replace(score=jnp.where(is_part, found.score, -jnp.inf))

    words = jnp.arange(1, nodes)
    return jax.vmap(before)(words) if batch * len(words) <= SIDE_BY_SIDE else lax.map(before, words)


def _best(
    arcs: jax.Array, lengths: jax.Array, single_root: bool, allowed: jax.Array, word: jax.Array, excluded: jax.Array
) -> Part:
    """The best tree of allowed arcs."""
    weights = jnp.where(allowed, arcs, -jnp.inf)
    heads, exists = best_tree(weights.max(-1), lengths, single_root)
    ranks = jnp.take_along_axis(jnp.argmax(weights, -1)[:, :, 1:], heads[:, None], 1)[:, 0]
    score = jnp.where(exists, score_of(arcs, lengths, heads, ranks), -jnp.inf)
    return Part(score, heads, ranks, word, excluded)


def score_of(arcs: jax.Array, lengths: jax.Array, heads: jax.Array, ranks: jax.Array) -> jax.Array:
    """The score of a tree, `[batch]`."""
    chosen = jnp.take_along_axis(arcs[:, :, 1:], heads[:, None, :, None], 1)
    chosen = jnp.take_along_axis(chosen, ranks[:, None, :, None], 3)[:, 0, :, 0]
    return jnp.sum(chosen, 1, where=jnp.arange(chosen.shape[1]) < lengths[:, None])

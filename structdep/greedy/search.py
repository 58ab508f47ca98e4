"""Greedy search over all trees: the arc of least value is added, n times; with a beam, to several partial trees."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from structdep.greedy.partial_trees import Partial, Rule, add, start, values
from structdep.greedy.parts import Parts


def search(parts: Parts, rule: Rule, beam: int, single_root: bool) -> jax.Array:
    """The heads of one sentence's words, int32 `[n]`; -1 if no tree is found. `beam` partial trees are kept.

    With `single_root`, arcs from the root are lost with any other of them.
    """

    def step(number: jax.Array, trees: Partial) -> Partial:
        following = _following(parts, rule, trees, single_root)
        return jax.tree.map(lambda old, new: jnp.where(number < parts.lengths, new, old), trees, following)

    nodes = len(parts.arc)
    trees = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (beam, *leaf.shape)), start(parts, rule))
    trees = trees._replace(value=trees.value.at[1:].set(jnp.inf))
    trees = jax.lax.fori_loop(0, nodes - 1, step, trees)
    heads = trees.heads[:, 1:]
    scores = jnp.where(jnp.isinf(trees.value), -jnp.inf, jax.vmap(parts.score)(heads))
    best = jnp.argmax(scores)
    return jnp.where(jnp.isneginf(scores[best]), -1, heads[best]).astype(jnp.int32)


def _following(parts: Parts, rule: Rule, trees: Partial, single_root: bool) -> Partial:
    """The best partial trees with one arc more, all different."""
    beam, nodes = trees.heads.shape
    options = jax.vmap(partial(values, parts, rule, single_root=single_root))(trees)
    chosen = []
    for _ in range(beam):
        number, head, word = jnp.unravel_index(jnp.argmin(options), options.shape)
        chosen.append((options[number, head, word], number, head, word))
        heads = trees.heads[number].at[word].set(head)
        missing = trees.heads != heads
        is_part = jnp.all(~missing | (trees.heads < 0), 1)
        is_same = is_part[:, None, None] & missing[:, None] & (jnp.arange(nodes)[:, None] == heads)
        options = jnp.where(is_same, jnp.inf, options)
    value, number, head, word = (jnp.stack(column) for column in zip(*chosen, strict=True))
    parents = jax.tree.map(lambda leaf: leaf[number], trees)
    extend = partial(add, parts, single_root=single_root)
    return jax.vmap(extend)(parents, value, head, word)

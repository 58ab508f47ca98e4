"""Improvement of a tree by swaps of arcs, the best one at a time (Tchernowitz, Yedidsion, Reichart 2016)."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from structdep.greedy.parts import Parts
from structdep.trees import heads_to_arcs


def improved(parts: Parts, heads: jax.Array, swaps: int, single_root: bool) -> jax.Array:
    """The heads of one sentence's words, int32 `[n]`, after so many swaps, or as soon as none improves the tree.

    With `single_root`, a word is hung below the root only in the place of its head.
    """
    return jax.lax.fori_loop(0, swaps, lambda _, heads: _swap(parts, heads, single_root), heads)


def _swap(parts: Parts, heads: jax.Array, single_root: bool) -> jax.Array:
    """With another head for one word; if that lies below the word, the word's dependent on the way there moves up."""
    tree = heads_to_arcs(heads, parts.lengths)
    below = _below(tree)
    nodes = jnp.arange(len(tree))
    on_the_way = jnp.matmul(tree * nodes, below, precision=jax.lax.Precision.HIGHEST).astype(int)
    old = jnp.pad(jnp.maximum(heads, 0), (1, 0))
    gain = _gains(parts, tree, below > 0, on_the_way, old)
    gain = gain.at[0].set(-jnp.inf) if single_root else gain
    new, word = jnp.unravel_index(jnp.argmax(gain), gain.shape)
    moved = jnp.where(below[word, new] > 0, on_the_way[word, new], word)
    swapped = old.at[moved].set(old[word]).at[word].set(new)
    return jnp.where((gain[new, word] > 0) & (heads >= 0).all(), swapped[1:], heads).astype(heads.dtype)


def _below(tree: jax.Array) -> jax.Array:
    """`[v, u]`: 1 where u is v or below it, else 0."""
    reached = tree.astype(jnp.float32) + jnp.eye(len(tree))
    for _ in range(len(tree).bit_length()):
        reached = jnp.minimum(jnp.matmul(reached, reached, precision=jax.lax.Precision.HIGHEST), 1)
    return reached


def _gains(parts: Parts, tree: jax.Array, below: jax.Array, on_the_way: jax.Array, old: jax.Array) -> jax.Array:
    """What the tree's score gains by a new head u of a word v, `[u, v]`; -inf where that cannot be.

    Where u is not below v, v's arc is replaced. Where it is, w being v's dependent on the way to it, so is that of w,
    by one from v's old head: then pairs of replaced arcs are to be set right.
    """
    uses = tree.astype(parts.arc.dtype)
    weight = parts.arc + parts.others(uses)
    u, v = jnp.indices(tree.shape, sparse=True)
    h, w, chain = old[v], on_the_way.T, parts.grandparent
    gain = weight - weight[h, v]
    move = weight[h, w] - weight[v, w] + chain[h, v, w] - chain[u, v, w] - parts.sibling[h, v, w]
    move += jnp.where(u == w, chain[h, w, v], 0)
    gain += jnp.where(below.T, move, 0)
    possible = parts.allowed & (u != h) & (parts.allowed[h, w] | ~below.T)
    return jnp.where(possible, gain, -jnp.inf)

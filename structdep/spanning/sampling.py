"""Trees drawn exactly: words are eliminated with logarithms once, then come back one by one at random.

As in `mst`, an arc of the tree of the words before v leads through v with the probability that the detour has in its
weight. Of the dependents that v gets in this way, one gives v its own head: the first whose head lies below none of
them. The others' heads are forgotten; as they were drawn from the same distribution, this is exact, like the popping
of cycles in Wilson's algorithm (1996), whose walks may take very long, though.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from structdep.spanning.elimination import SUM, eliminate, share
from structdep.spanning.matrix_tree import without_best


def random_tree(arcs: jax.Array, lengths: jax.Array, single_root: bool, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The heads of a tree with p(tree) ∝ exp(score), int32 `[batch, n]`, and whether there is any, bool `[batch]`.

    `arcs` are masked scores `[batch, n+1, n+1]`, `keys` one for each sentence. Time O(n^3), also for several
    trees; space O(n^3).
    """
    found = eliminate(SUM, without_best(arcs, single_root)[0], lengths, single_root, note=share)
    own, rest = jax.vmap(jax.random.split, out_axes=1)(keys)
    leaves = jax.vmap(partial(jax.random.categorical, axis=0))(own, found.heads_of_leaves())
    return _restore(found.notes, leaves, rest), found.exists()


def _restore(detours: jax.Array, leaves: jax.Array, keys: jax.Array) -> jax.Array:
    batch, count = leaves.shape
    nodes = jnp.arange(count + 1)

    def step(v: jax.Array, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        heads, above = state
        detour = jnp.take_along_axis(lax.dynamic_index_in_dim(detours, v - 1, 0, False), heads[:, None], 1)[:, 0]
        is_new = jax.vmap(lambda key: jax.random.uniform(jax.random.fold_in(key, v), (count,)))(keys) < detour
        through = jnp.pad(is_new & (nodes[1:] < v), [(0, 0), (1, 0)])
        crossed = jnp.sum(above, 1, where=through[:, :, None], dtype=jnp.int32)
        starts = through[:, 1:] & (jnp.take_along_axis(crossed, heads, 1) == 0)
        first = jnp.argmax(starts, 1, keepdims=True)
        leaf = lax.dynamic_index_in_dim(leaves, v - 1, 1)
        head = jnp.where(starts.any(1, keepdims=True), jnp.take_along_axis(heads, first, 1), leaf)
        heads = jnp.where(through[:, 1:], v, jnp.where(nodes[1:] == v, head, heads))
        return heads, _hung(above, crossed, head, nodes == v)

    above = jnp.zeros((batch, count + 1, count + 1), bool).at[:, 0, 0].set(True)
    start = (jnp.zeros((batch, count), int), above)
    return lax.fori_loop(1, count + 1, step, start)[0].astype(jnp.int32)


def _hung(above: jax.Array, crossed: jax.Array, head: jax.Array, is_new: jax.Array) -> jax.Array:
    """Which nodes are above which, or are these, once a new node hangs below `head`, and the paths cut hang below it.

    `crossed` says how many cuts there are between a node and the root.
    """
    over_new = jnp.take_along_axis(above, head[:, :, None], 2) | is_new[:, None]
    uncut = above & (crossed[:, :, None] == crossed[:, None])
    return uncut | (over_new & ((crossed > 0) | is_new)[:, None])

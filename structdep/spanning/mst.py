"""The best of all trees: words are eliminated with maxima, then come back one by one.

A word v comes back to a tree of the words before it. Arcs of that tree whose weight is a detour through v become arcs
from v; v itself hangs where the first of them did, in an order that puts heads before dependents, so that no cycle
arises, whatever the ties and the rounding. If there are none, v hangs below its best head.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from structdep.spanning.elimination import MAXIMUM, Eliminated, eliminate


def best_tree(arcs: jax.Array, lengths: jax.Array, single_root: bool) -> tuple[jax.Array, jax.Array]:
    """The heads of a best tree, int32 `[batch, n]`, and whether there is any, bool `[batch]`.

    `arcs` are masked scores `[batch, n+1, n+1]`. Time O(n^3), space O(n^2).
    """
    found = eliminate(MAXIMUM, arcs[:, :, 1:], lengths, single_root)
    return _restore(found), found.exists()


State = tuple[jax.Array, jax.Array, jax.Array]
"""Of each word, `[batch, n]`: its head, the weight of that arc, and its place in the order."""


def _restore(found: Eliminated) -> jax.Array:
    batch, _, count = found.weights.shape
    words = jnp.arange(1, count + 1)
    leaves = jnp.argmax(found.heads_of_leaves(), 1)

    def step(v: jax.Array, state: State) -> State:
        heads, weights, places = state
        into = lax.dynamic_index_in_dim(found.weights, v - 1, 2, False)
        out = lax.dynamic_index_in_dim(found.weights, v, 1, False)
        share = jnp.take_along_axis(into, heads, 1) - lax.dynamic_index_in_dim(found.pivots, v - 1, 0, False)[:, None]
        through = (share + out >= weights) & (words < v)
        place = jnp.min(jnp.where(through, places, v - 1), 1, keepdims=True)
        is_first = through & (places == place)
        leaf = lax.dynamic_index_in_dim(leaves, v - 1, 1)
        head = jnp.where(is_first.any(1, keepdims=True), jnp.sum(heads, 1, keepdims=True, where=is_first), leaf)
        places = jnp.where(words == v, place, places + ((places >= place) & (words < v)))
        weights = jnp.where(through, out, jnp.where(words == v, jnp.take_along_axis(into, head, 1), weights))
        return jnp.where(through, v, jnp.where(words == v, head, heads)), weights, places

    none = jnp.zeros((batch, count), int)
    start = (none, jnp.zeros(none.shape, found.weights.dtype), none)
    return lax.fori_loop(1, count + 1, step, start)[0].astype(jnp.int32)

"""An upper bound on the second-order scores of all trees, and its slope: the dual problem of `dual_decomposition`.

Two searches that are easy alone share the scores: one for a spanning tree by arcs, one for each word h by chains
g→h→d. The second chooses the head g of h, then each dependent d of h by itself. Multipliers move weight of arcs from
one search to the other. A pair of siblings with the score s is replaced by its arcs x and y: for each r from 0 to |s|,
`s x y <= r x + (s - r) y` if s is positive, and `s x y <= r (1 - x - y)` otherwise. For all multipliers and all r, the
maxima of the searches add up to a bound.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from structdep.greedy.parts import Parts
from structdep.spanning.mst import best_tree
from structdep.trees import heads_to_arcs


class Multipliers(NamedTuple):
    """The point where the bound is taken, or a direction from it.

    Args:
        into: `[batch, n+1, n+1]`, weight of the arc g→h in the search for chains through h.
        out: `[batch, n+1, n+1]`, weight of the arc h→d in the search for chains through h.
        pairs: `[batch, n+1, n+1, n+1]`, r of each pair of siblings.
    """

    into: jax.Array
    out: jax.Array
    pairs: jax.Array


class Bound(NamedTuple):
    """The bound, `[batch]`, its slope, and the tree that was found on the way, `[batch, n]`; -1 if there is none."""

    value: jax.Array
    slope: Multipliers
    heads: jax.Array


class Dual(NamedTuple):
    """The scores of a batch: arcs and chains -inf where impossible, pairs `[h, d, e]` for d < e, 0 elsewhere."""

    arc: jax.Array
    chain: jax.Array
    pair: jax.Array
    lengths: jax.Array

    @classmethod
    def of(cls, parts: Parts, single_root: bool) -> Dual:
        allowed = parts.allowed
        nodes = jnp.arange(allowed.shape[-1])
        both = allowed[:, :, :, None] & allowed[:, :, None, :] & (nodes[:, None] < nodes)
        both &= (nodes[:, None, None] > 0) | (not single_root)
        chained = allowed[:, :, :, None] & allowed[:, None] & (nodes[:, None, None] != nodes)
        return cls(
            jnp.where(allowed, parts.arc, -jnp.inf),
            jnp.where(chained, parts.grandparent, -jnp.inf),
            jnp.where(both, parts.sibling, 0),
            parts.lengths,
        )

    def start(self) -> Multipliers:
        """Arcs belong to the tree; positive pairs are shared equally."""
        none = jnp.zeros_like(self.arc)
        return Multipliers(none, none, jnp.maximum(self.pair, 0) / 2)

    def clipped(self, point: Multipliers) -> Multipliers:
        return point._replace(pairs=jnp.clip(point.pairs, 0, jnp.abs(self.pair)))

    def feasible(self, point: Multipliers, slope: Multipliers) -> Multipliers:
        """The slope without the components along which a step down would leave the range of r.

        They are most of it: a step whose length counts them is far too short.
        """
        r = point.pairs
        is_blocked = ((r <= 0) & (slope.pairs > 0)) | ((r >= jnp.abs(self.pair)) & (slope.pairs < 0))
        return slope._replace(pairs=jnp.where(is_blocked, 0, slope.pairs))

    def bound(self, point: Multipliers, single_root: bool) -> Bound:
        attract, r = self.pair > 0, point.pairs
        first, second = jnp.where(attract, r, -r), jnp.where(attract, self.pair - r, -r)
        weights = self.arc + first.sum(-1) + second.sum(-2) - point.into - point.out
        heads, exists = best_tree(weights, self.lengths, single_root)
        tree = heads_to_arcs(heads, self.lengths)
        chains, into, out = self._chains(point)
        value = jnp.sum(weights, (1, 2), where=tree) + chains + jnp.sum(r, (1, 2, 3), where=~attract)
        uses = tree.astype(r.dtype)
        x, y = uses[:, :, :, None], uses[:, :, None, :]
        pairs = jnp.where(attract, x - y, 1 - x - y) * (self.pair != 0)
        searched = self._is_searched()
        slope = Multipliers(into - uses * searched[:, None], out - uses * searched[..., None], pairs)
        return Bound(jnp.where(exists, value, -jnp.inf), slope, jnp.where(exists[:, None], heads, -1))

    def _chains(self, point: Multipliers) -> tuple[jax.Array, jax.Array, jax.Array]:
        """The maximum of all searches for chains, and the arcs into words and out of words that they choose."""
        gains = jnp.maximum(point.out[:, None] + self.chain, 0)
        by_head = jnp.where(jnp.isneginf(self.arc), -jnp.inf, point.into + gains.sum(-1))
        head = jnp.argmax(by_head, 1, keepdims=True)
        searched = self._is_searched()
        into = (jnp.arange(by_head.shape[1])[:, None] == head) & searched[:, None]
        out = (jnp.take_along_axis(gains, head[..., None], 1)[:, 0] > 0) & searched[..., None]
        value = jnp.sum(by_head.max(1), 1, where=searched)
        return value, into.astype(value.dtype), out.astype(value.dtype)

    def _is_searched(self) -> jax.Array:
        """Which words have scores of chains through them, `[batch, n+1]`: the others need no search."""
        return ((self.chain != 0) & ~jnp.isneginf(self.chain)).any((1, 3))

"""Partial trees of greedy inference, and what it costs to add an arc (Tchernowitz, Yedidsion, Reichart 2016).

An arc's value is the weight of the parts that are lost with it, because they contain an arc with the same dependent or
one that would close a cycle, less the weight of the parts that are gained. A part counts in proportion to the uses of
its other arcs: 1 of those in the tree, 0 of those that are lost, and in between a guess. All sums are kept up to date,
so that a step takes O(n^2) of a tree's O(n^3).
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from structdep.greedy.parts import Parts


class Rule(NamedTuple):
    """The uses of arcs that are still open, `[n+1, n+1]`, and the weight, in what is lost and in what is gained.

    Without uses of their own, `gained` are the same as `lost`.
    """

    lost: jax.Array
    gained: jax.Array | None
    lost_weight: float | jax.Array
    gained_weight: float | jax.Array


def basic(parts: Parts) -> Rule:
    """Parts count in full when they are lost, or complete (algorithm 1)."""
    ones = jnp.ones_like(parts.arc)
    return Rule(ones, jnp.zeros_like(ones), 1.0, 1.0)


def partial_predictions(parts: Parts, beta: jax.Array, gamma: jax.Array) -> Rule:
    """Words choose their heads with p ∝ exp(beta · score), unless they have one (algorithm 2)."""
    choice = jax.nn.softmax(beta * parts.arc, axis=0, where=parts.allowed)
    return Rule(choice, None, gamma, 1 - gamma)


class Uses(NamedTuple):
    """Uses of arcs, `[n+1, n+1]`, and for each arc the parts with another, in proportion to the uses of that.

    `above` are parts with an arc into its head, `others` those with an arc from its dependent, or from its head.
    """

    uses: jax.Array
    above: jax.Array
    others: jax.Array

    @classmethod
    def of(cls, parts: Parts, uses: jax.Array) -> Uses:
        return cls(uses, parts.above(uses), parts.below(uses) + parts.beside(uses))

    def replace(self, parts: Parts, word: jax.Array, into: jax.Array) -> Uses:
        """With other uses of the arcs into a word, `[n+1]`."""
        change = into - self.uses[:, word]
        chains = parts.grandparent[:, word]
        return Uses(
            self.uses.at[:, word].set(into),
            self.above.at[word].add(jnp.sum(chains * change[:, None], 0)),
            self.others + parts.grandparent[:, :, word] * change + parts.sibling[:, :, word] * change[:, None],
        )

    def replace_roots(self, parts: Parts, out: jax.Array) -> Uses:
        """With other uses of the arcs from the root, `[n+1]`."""
        change = out - self.uses[0]
        beside = jnp.sum(parts.sibling[0] * change, 1)
        above = self.above + parts.grandparent[0] * change[:, None]
        return Uses(self.uses.at[0].set(out), above, self.others.at[0].add(beside))

    def weight(self, parts: Parts) -> jax.Array:
        """The weight of the parts that contain an arc."""
        return parts.arc + self.above + self.others


class Partial(NamedTuple):
    """A partial tree of one sentence, all its arrays over the nodes 0..n.

    Args:
        value: the sum of the values of its arcs; inf if there is no such tree.
        heads: -1 where there is none.
        tops: of each node, the root of its subtree.
        open: bool `[n+1, n+1]`, the arcs that may still be added, and those that have been.
        lost, gained: uses of arcs in what is lost, and in what is gained.
        cycles: `[v, r]`, the weight of the chains w→r→v, for w in the subtree of v, with w→r in use.
        closing: `[u, v]`, the weight of the chain u→v→r, r being the top of u.
    """

    value: jax.Array
    heads: jax.Array
    tops: jax.Array
    open: jax.Array
    lost: Uses
    gained: Uses | None
    cycles: jax.Array
    closing: jax.Array


def start(parts: Parts, rule: Rule) -> Partial:
    """No arc at all."""
    nodes = jnp.arange(len(parts.arc))
    none = jnp.zeros_like(parts.arc)
    lost = Uses.of(parts, jnp.where(parts.allowed, rule.lost, 0))
    gained = None if rule.gained is None else Uses.of(parts, jnp.where(parts.allowed, rule.gained, 0))
    return Partial(jnp.zeros((), none.dtype), jnp.full_like(nodes, -1), nodes, parts.allowed, lost, gained, none, none)


def values(parts: Parts, rule: Rule, tree: Partial, single_root: bool = False) -> jax.Array:
    """The value of the tree with each arc added, `[n+1, n+1]`; inf where it cannot be."""
    possible = tree.open & (tree.heads < 0) & ~jnp.isinf(tree.value)
    gain = (tree.lost if tree.gained is None else tree.gained).weight(parts)
    lost = _lost(parts, tree)
    if single_root:
        lost = lost.at[0].add(_lost_with_a_root(parts, tree.lost))
    value = rule.lost_weight * lost - rule.gained_weight * gain
    return jnp.where(possible, tree.value + value, jnp.inf)


def _lost(parts: Parts, tree: Partial) -> jax.Array:
    """The weight of the parts that are lost with each arc u→v: with arcs into v, or from below v into the top of u.

    What contains both would count twice: the chains u'→v→top and w→top→v.
    """
    uses, above, _ = tree.lost
    weight = uses * tree.lost.weight(parts)
    is_top = (tree.tops[:, None] == jnp.arange(len(tree.tops))).astype(weight.dtype)
    from_below = _product(is_top.T, weight) - uses * above - uses.T * tree.cycles
    into_top = _product(is_top, from_below.T)
    own = uses * (_product(is_top, uses.T) * tree.closing + jnp.diag(is_top)[:, None] * tree.cycles.T)
    return weight.sum(0) - weight + into_top + own


def _lost_with_a_root(parts: Parts, lost: Uses) -> jax.Array:
    """The weight of the parts that are also lost with each root arc 0→v, `[n+1]`: with another root arc 0→d.

    Not counted again: pairs of them, and the chains 0→d→v.
    """
    roots = lost.uses[0]
    weight = roots * lost.weight(parts)[0]
    pairs = roots * jnp.sum(parts.sibling[0] * roots, 1)
    chains = jnp.sum(parts.grandparent[0] * roots[:, None] * lost.uses, 0)
    return weight.sum() - weight - (pairs.sum() / 2 - pairs) - chains


def _product(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST)


def add(
    parts: Parts, tree: Partial, value: jax.Array, head: jax.Array, word: jax.Array, single_root: bool = False
) -> Partial:
    """The tree with another arc."""
    nodes = jnp.arange(len(tree.tops))
    top, below = tree.tops[head], tree.tops == word
    tops = jnp.where(below, top, tree.tops)
    chosen = nodes == head
    no_other_root = single_root & (head == 0) & (nodes != word)

    def update(uses: Uses) -> Uses:
        uses = uses.replace(parts, word, chosen.astype(uses.uses.dtype))
        uses = uses.replace(parts, top, jnp.where(below, 0, uses.uses[:, top]))
        return uses.replace_roots(parts, jnp.where(no_other_root, 0, uses.uses[0])) if single_root else uses

    lost, gained = update(tree.lost), tree.gained and update(tree.gained)
    into_top = jnp.where(tops[:, None] == nodes, parts.grandparent[:, top] * lost.uses[:, top, None], 0)
    from_top = jnp.where((tops == top)[:, None], parts.grandparent[:, :, top] * lost.uses, 0)
    is_open = tree.open.at[:, word].set(chosen)
    is_open = is_open.at[:, top].set(is_open[:, top] & ~below)
    return Partial(
        value,
        tree.heads.at[word].set(head),
        tops,
        is_open.at[0].set(is_open[0] & ~no_other_root),
        lost,
        gained,
        tree.cycles.at[:, top].set(into_top.sum(0)).at[top].set(from_top.sum(0)),
        jnp.where(below[:, None], parts.grandparent[:, :, top], tree.closing),
    )

"""All trees by elimination: the word v goes, and arcs that led through it become arcs between the others.

    pivot[v] = Σ_h weight[h, v]        weight[h, d] ← weight[h, d] + weight[h, v] / pivot[v] · weight[v, d]

for v = n..1, where h and d are the nodes that are left, h ≠ d. The sum over all trees of the product of their arcs'
weights is the product of the pivots. It is the elimination of a Laplacian's rows by Grassmann, Taksar and Heyman
(1985), who never subtract: so it is as exact as its numbers, for weights of any size. And it holds wherever one can
add, multiply and divide: with sums it is the Matrix-Tree theorem, with maxima it contracts cycles as Chu, Liu and
Edmonds do. Weights are kept as logarithms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from structdep.semirings import LogSum


class Addition(NamedTuple):
    """What stands for addition, of two logarithms and along an axis."""

    plus: Callable[[jax.Array, jax.Array], jax.Array]
    total: Callable[[jax.Array, int], jax.Array]


def _difference(a: jax.Array, b: jax.Array) -> jax.Array:
    return a - jnp.where(jnp.isneginf(b), 0, b)


def share(part: jax.Array, total: jax.Array) -> jax.Array:
    """What part of a logarithm's weight another one is: 0 of nothing."""
    return jnp.exp(part - jnp.where(jnp.isneginf(total), 0, total))


@jax.custom_jvp
def _log_add(a: jax.Array, b: jax.Array) -> jax.Array:
    """log(e^a + e^b); -inf where both are, with derivatives 0."""
    top = jnp.maximum(a, b)
    return top + jnp.log(1 + jnp.exp(jnp.minimum(a, b) - jnp.where(jnp.isneginf(top), 0, top)))


@_log_add.defjvp
def _(primals: tuple[jax.Array, jax.Array], tangents: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
    value = _log_add(*primals)
    a, b = (share(primal, value) for primal in primals)
    return value, a * tangents[0] + b * tangents[1]


SUM = Addition(_log_add, LogSum().sum)
MAXIMUM = Addition(jnp.maximum, jnp.max)


class Eliminated(NamedTuple):
    """What is left of each word, for all sentences of a batch.

    Args:
        weights: logarithms `[batch, n+1, n]`, each as it was when the later of its nodes went.
        pivots: logarithms `[n, batch]`, 0 in padding.
        rooted: bool `[n, batch]`, whether a word's head may be the root: with a single root, only from the step on
            at which a word has no head left but the root.
        notes: what `note` said of each step, `[n, ..]`.
    """

    weights: jax.Array
    pivots: jax.Array
    rooted: jax.Array
    notes: Any

    def exists(self) -> jax.Array:
        """Whether there is a tree, bool `[batch]`."""
        return self.rooted[0] & (self.pivots != -jnp.inf).all(0)

    def heads_of_leaves(self) -> jax.Array:
        """The weights with which a word without dependents among those before it chooses its head: `[batch, n+1, n]`.

        When the word comes back, the nodes before it are a tree already.
        """
        nodes = jnp.arange(self.weights.shape[1])
        is_before = nodes[:, None] < nodes[1:]
        is_allowed = (nodes[:, None] > 0) | self.rooted.T[:, None]
        return jnp.where(is_before & is_allowed, self.weights, -jnp.inf)


Note = Callable[[jax.Array, jax.Array], Any]


def eliminate(
    addition: Addition, weights: jax.Array, lengths: jax.Array, single_root: bool, note: Note | None = None
) -> Eliminated:
    """Eliminates all words of `weights`, logarithms `[batch, n+1, n]`, -inf where an arc is forbidden or in padding.

    With a `single_root`, root arcs weigh infinitely less than all others: they count in a pivot where nothing else
    does. `note(detour, total)` looks at the weights through a word, and at all weights afterwards.
    """
    heads, dependents = jnp.arange(weights.shape[1]), jnp.arange(1, weights.shape[2] + 1)

    def step(state: tuple[jax.Array, jax.Array], v: jax.Array) -> tuple[tuple[jax.Array, jax.Array], Any]:
        weights, rooted = state
        into = jnp.where(heads < v, lax.dynamic_index_in_dim(weights, v - 1, 2, False), -jnp.inf)
        out = jnp.where(dependents < v, lax.dynamic_index_in_dim(weights, v, 1, False), -jnp.inf)
        is_word = v <= lengths
        from_words = addition.total(into[:, 1:], 1)
        pivot = addition.plus(from_words, into[:, 0])
        if single_root:
            closes = ~rooted & (from_words == -jnp.inf) & is_word
            rooted = rooted | closes
            pivot = jnp.where(rooted, pivot, from_words)
            is_gone = closes[:, None, None] & (heads == 0)[:, None] & (dependents < v)
            weights = jnp.where(is_gone, -jnp.inf, weights)
        detour = _difference(into, pivot[:, None])[:, :, None] + out[:, None]
        weights = addition.plus(weights, detour)
        noted = None if note is None else note(detour, weights)
        return (weights, rooted), (jnp.where(is_word, pivot, 0), rooted, noted)

    state = weights, jnp.full(weights.shape[:1], not single_root)
    (weights, _), (pivots, rooted, notes) = lax.scan(step, state, dependents, reverse=True)
    return Eliminated(weights, pivots, rooted, notes)

"""The log-partition of all trees (the Matrix-Tree theorem: Koo et al. 2007; Smith and Smith 2007).

Numbers are ten times as fast as logarithms, and as exact, unless cycles outweigh the trees by far.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from structdep.spanning.elimination import LOGARITHMS, NUMBERS, eliminate

Way = Callable[[jax.Array, jax.Array, bool], jax.Array]

LEAST_LOG = -27.0
"""Numbers will do if words that choose their heads without regard to each other make a tree with this log-probability,
and if no pivot is further from 1: then no derivative up to the third order is more than float32 can hold.
"""


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def log_partition(arcs: jax.Array, lengths: jax.Array, single_root: bool) -> jax.Array:
    """log Σ exp(score) over all trees, `[batch]`, for masked scores `[batch, n+1, n+1]`; -inf where there is none."""
    value, will_do = _by_numbers(arcs, lengths, single_root)
    return lax.cond(will_do, lambda: value, lambda: _by_logarithms(arcs, lengths, single_root))


@log_partition.defjvp
def _(single_root: bool, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[jax.Array, jax.Array]:
    """By the gradient, which each way finds by itself: only in this way do derivatives of the other one not count."""
    arcs, lengths = primals

    def by(way: Way) -> tuple[jax.Array, jax.Array]:
        value, pull = jax.vjp(lambda a: way(a, lengths, single_root), arcs)
        return value, pull(jnp.ones_like(value))[0]

    will_do = _by_numbers(lax.stop_gradient(arcs), lengths, single_root)[1]
    value, gradient = lax.cond(will_do, lambda: by(lambda *given: _by_numbers(*given)[0]), lambda: by(_by_logarithms))
    return value, (gradient * tangents[0]).sum((1, 2))


def _by_numbers(arcs: jax.Array, lengths: jax.Array, single_root: bool) -> tuple[jax.Array, jax.Array]:
    """The log-partition, and whether it can be trusted, in all sentences."""
    scores, best = without_best(arcs, single_root)
    weights = jnp.exp(_with_likely_root_first(scores) if single_root else scores)
    found = eliminate(NUMBERS, weights, lengths, single_root)
    pivots, choices = (_log(x) for x in (found.pivots, weights[:, int(single_root) :].sum(1)))
    share = pivots.sum(0) - choices.sum(1)
    closes_too_soon = found.rooted[1:].any(0) & single_root
    will_do = found.exists(NUMBERS) & ~closes_too_soon & (share >= LEAST_LOG) & (jnp.abs(pivots) <= -LEAST_LOG).all(0)
    return pivots.sum(0) + best, will_do.all()


def _log(x: jax.Array) -> jax.Array:
    return jnp.log(jnp.where(x > 0, x, 1))


def _by_logarithms(arcs: jax.Array, lengths: jax.Array, single_root: bool) -> jax.Array:
    scores, best = without_best(arcs, single_root)
    found = eliminate(LOGARITHMS, scores, lengths, single_root)
    return jnp.where(found.exists(LOGARITHMS), found.pivots.sum(0) + best, -jnp.inf)


def without_best(arcs: jax.Array, single_root: bool) -> tuple[jax.Array, jax.Array]:
    """Scores `[batch, n+1, n]` of arcs into words, relative to the best of each, and what is missing in a tree's score.

    With a single root, root arcs are relative to the best of them.
    """
    first = int(single_root)
    best = _finite(jnp.max(arcs[:, first:, 1:], 1, keepdims=True, initial=-jnp.inf))
    scores, missing = arcs[:, :, 1:] - best, best.sum((1, 2))
    if not single_root:
        return scores, missing
    root = _finite(jnp.max(scores[:, 0], 1))
    return scores.at[:, 0].add(-root[:, None]), missing + root


def _finite(best: jax.Array) -> jax.Array:
    return lax.stop_gradient(jnp.where(jnp.isneginf(best), 0, best))


def _with_likely_root_first(scores: jax.Array) -> jax.Array:
    """With the word of the best root arc and the first word exchanged: the last pivot is the weight of its trees."""
    word = jnp.argmax(scores[:, 0], 1)[:, None, None]
    return _exchange(_exchange(scores, 1, 1, word + 1), 2, 0, word)


def _exchange(x: jax.Array, axis: int, first: int, other: jax.Array) -> jax.Array:
    """The array with two places along an axis exchanged."""
    places = lax.broadcasted_iota(jnp.int32, x.shape, axis)
    moved = jnp.where(places == first, jnp.take_along_axis(x, other, axis), x)
    return jnp.where(places == other, lax.slice_in_dim(x, first, first + 1, axis=axis), moved)

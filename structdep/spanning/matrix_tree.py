"""The log-partition of all trees (the Matrix-Tree theorem: Koo et al. 2007; Smith and Smith 2007).

It is the logarithm of a determinant, and marginals are read off the inverse. Both lose digits where cycles outweigh
trees; there, words are eliminated with logarithms, which takes several times as long.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from structdep.spanning.elimination import SUM, eliminate

LEAST_LOG = -6.0
"""The least log-probability p of a tree, when words choose their heads without regard to each other, for a determinant.

A pivot, and an entry of the inverse times the weights of a word's arcs, lose at most a factor of exp(-p) in accuracy.
"""
SMALL = 2.0**-40
"""What root arcs of a single root weigh in the matrix, so that other rows come first."""

Factors = tuple[jax.Array, jax.Array]
"""LU and the order of rows, `[batch, n, n]` and `[batch, n]`."""


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def log_partition(arcs: jax.Array, lengths: jax.Array, single_root: bool) -> jax.Array:
    """log Σ exp(score) over all trees, `[batch]`, for masked scores `[batch, n+1, n+1]`; -inf where there is none."""
    value, will_do = _by_determinant(arcs, lengths, single_root, _factors(arcs, lengths, single_root))
    return lax.cond(will_do, lambda: value, lambda: _by_logarithms(arcs, lengths, single_root))


@log_partition.defjvp
def _(single_root: bool, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[jax.Array, jax.Array]:
    """By the gradient, which each way finds by itself: only in this way do derivatives of the other one not count."""
    arcs, lengths = primals

    factors = _factors(lax.stop_gradient(arcs), lengths, single_root)

    def determinant(arcs: jax.Array) -> jax.Array:
        return _by_determinant(arcs, lengths, single_root, factors)[0]

    def logarithms(arcs: jax.Array) -> jax.Array:
        return _by_logarithms(arcs, lengths, single_root)

    def by(way: Callable[[jax.Array], jax.Array]) -> tuple[jax.Array, jax.Array]:
        value, pull = jax.vjp(way, arcs)
        return value, pull(jnp.ones_like(value))[0]

    will_do = _by_determinant(lax.stop_gradient(arcs), lengths, single_root, factors)[1]
    value, gradient = lax.cond(will_do, lambda: by(determinant), lambda: by(logarithms))
    return value, (gradient * tangents[0]).sum((1, 2))


def _factors(arcs: jax.Array, lengths: jax.Array, single_root: bool) -> Factors:
    lu, _, permutation = lax.linalg.lu(_laplacian(without_best(arcs, single_root)[0], lengths, single_root))
    return lu, permutation


def _by_determinant(
    arcs: jax.Array, lengths: jax.Array, single_root: bool, factors: Factors
) -> tuple[jax.Array, jax.Array]:
    """The log-partition, and whether it can be trusted, in all sentences."""
    scores, best = without_best(arcs, single_root)
    matrix = _laplacian(scores, lengths, single_root)
    value = _log_determinant(matrix, factors)
    choices = jnp.diagonal(lax.stop_gradient(matrix), axis1=1, axis2=2)
    is_choice = ~_is_last(lengths, choices.shape[1]) | (not single_root)
    log_probability = jnp.sum(jnp.log(_pivots(factors) / choices), 1, where=is_choice)
    will_do = (log_probability >= LEAST_LOG) & jnp.isfinite(value)
    if single_root:
        value = jnp.where(lengths > 0, value - math.log(SMALL), -jnp.inf)
    return value + best, will_do.all()


def _laplacian(scores: jax.Array, lengths: jax.Array, single_root: bool) -> jax.Array:
    """The matrix whose determinant is the sum over trees, `[batch, n, n]`, of scores `[batch, n+1, n]`.

    With a single root, the word of the best root arc and the last word are exchanged, and the last row is that of the
    root (Koo et al. 2007), times `SMALL`: the last pivot is the weight of its trees.
    """
    count, weights = scores.shape[2], jnp.exp(scores)
    if single_root:
        word, last = jnp.argmax(weights[:, 0], 1), lengths - 1
        weights = _exchange(_exchange(weights, 1, last + 1, word + 1), 2, last, word)
    choices = weights[:, int(single_root) :].sum(1)
    choices = jnp.where(jnp.arange(count) < lengths[:, None], choices, 1)
    matrix = jnp.eye(count, dtype=weights.dtype) * choices[:, None] - weights[:, 1:]
    if not single_root:
        return matrix
    return jnp.where(_is_last(lengths, count)[:, :, None], SMALL * weights[:, :1], matrix)


def _is_last(lengths: jax.Array, count: int) -> jax.Array:
    return jnp.arange(count) == lengths[:, None] - 1


def _pivots(factors: Factors) -> jax.Array:
    return jnp.abs(jnp.diagonal(factors[0], axis1=1, axis2=2))


@jax.custom_jvp
def _log_determinant(matrix: jax.Array, factors: Factors) -> jax.Array:
    return jnp.log(_pivots(factors)).sum(1)


@_log_determinant.defjvp
def _(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[jax.Array, jax.Array]:
    return _log_determinant(*primals), (_inverse(*primals).mT * tangents[0]).sum((1, 2))


@jax.custom_jvp
def _inverse(matrix: jax.Array, factors: Factors) -> jax.Array:
    lu, permutation = factors
    rows = (permutation[:, :, None] == jnp.arange(lu.shape[1])).astype(lu.dtype)
    lower = lax.linalg.triangular_solve(lu, rows, left_side=True, lower=True, unit_diagonal=True)
    return lax.linalg.triangular_solve(lu, lower, left_side=True)


@_inverse.defjvp
def _(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[jax.Array, jax.Array]:
    inverse = _inverse(*primals)
    return inverse, -inverse @ tangents[0] @ inverse


def _by_logarithms(arcs: jax.Array, lengths: jax.Array, single_root: bool) -> jax.Array:
    scores, best = without_best(arcs, single_root)
    found = eliminate(SUM, scores, lengths, single_root)
    return jnp.where(found.exists(), found.pivots.sum(0) + best, -jnp.inf)


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


def _exchange(x: jax.Array, axis: int, first: jax.Array, second: jax.Array) -> jax.Array:
    """The array with two places along an axis exchanged, others for each row of the batch."""
    places = lax.broadcasted_iota(jnp.int32, x.shape, axis)
    is_first, is_second = (places == place[:, None, None] for place in (first, second))
    at_first, at_second = (jnp.sum(x, axis, keepdims=True, where=here) for here in (is_first, is_second))
    return jnp.where(is_first, at_second, jnp.where(is_second, at_first, x))

"""The log of the sum over derivations, and its gradient: marginals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import jax
import jax.numpy as jnp

from structdep.semirings.base import Product, Reader, Semiring, semiring
from structdep.semirings.numerics import Stage, at_once, exp, unstack, window_sums
from structdep.semirings.max_plus import MaxPlus


@semiring
class LogSum(Semiring):
    """Log-sum-exp: log Σ exp(score) over derivations; its gradient gives the marginals.

    Example:
        >>> LogSum().sum(jnp.array([0.0, 0.0]), 0)
        Array(0.6931472, dtype=float32)
    """

    def sum(self, a: jax.Array, axis: int | tuple[int, ...]) -> jax.Array:
        top = _finite(jnp.max(a, axis, keepdims=True))
        return _log(jnp.squeeze(top, axis), jnp.sum(exp(a - top), axis))

    def fold(self, read: Reader, stage: Stage = at_once) -> jax.Array:
        """All terms relative to the greatest: one exponential a term, one logarithm a value."""
        top = _finite(MaxPlus().fold(read, stage))
        parts = stage(lambda: [self._windows(*product, top) for product in read()])
        total = stage(lambda: reduce(jnp.add, [row for rows in parts for row in unstack(rows)]))
        return _log(top, total)

    def _windows(self, factors: Sequence[jax.Array], summed: int, top: jax.Array) -> list[jax.Array]:
        """Sums over windows of a product's summed axes, relative to `top`."""
        terms = exp(reduce(self.times, factors) - top)
        terms = terms.reshape(-1, *terms.shape[summed:])
        return window_sums(terms, 0) if summed else [terms]

    def pullback(self, products: Sequence[Product], value: jax.Array, cotangent: jax.Array) -> list[list[jax.Array]]:
        """Cotangents of the factors of `fold(products) == value`: a product has the weight exp(product - value)."""
        value = _finite(value)
        result = []
        for factors, _ in products:
            weight = exp(reduce(self.times, factors) - value) * cotangent
            result.append([_sum_to(weight, factor.shape) for factor in factors])
        return result


def _finite(top: jax.Array) -> jax.Array:
    """0 in place of -inf: so that nothing is ever subtracted from -inf but something finite."""
    return jax.lax.stop_gradient(jnp.where(jnp.isneginf(top), 0, top))


def _log(top: jax.Array, total: jax.Array) -> jax.Array:
    positive = total > 0
    return jnp.where(positive, jnp.log(jnp.where(positive, total, 1)) + top, -jnp.inf)


def _sum_to(weight: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    axes = tuple(axis for axis, size in enumerate(shape) if size == 1 and weight.shape[axis] > 1)
    return jnp.sum(weight, axes).reshape(shape) if axes else weight

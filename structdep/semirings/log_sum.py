"""The log of the sum over derivations, and its gradient: marginals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import jax
import jax.numpy as jnp

from structdep.semirings.base import Product, Semiring, semiring
from structdep.semirings.numerics import exp, reduce_max, reduce_sum


@semiring
class LogSum(Semiring):
    """Log-sum-exp: log Σ exp(score) over derivations; its gradient gives the marginals.

    Example:
        >>> LogSum().sum(jnp.array([0.0, 0.0]), 0)
        Array(0.6931472, dtype=float32)
    """

    def sum(self, a: jax.Array, axis: int | tuple[int, ...]) -> jax.Array:
        axes = axis if isinstance(axis, tuple) else (axis,)
        return _log(*_scaled_sum(a, axes))

    def fold(self, products: Sequence[Product]) -> jax.Array:
        """Each sum is kept as a greatest term and a sum relative to it, so that one logarithm is taken at the end."""
        if len(products) == 1 and not products[0][1]:
            return reduce(self.times, products[0][0])
        pairs = zip(*(self._scaled(factors, summed) for factors, summed in products), strict=True)
        tops, totals = (jnp.stack(jnp.broadcast_arrays(*arrays)) for arrays in pairs)
        top = reduce_max(tops, (0,))
        return _log(top, reduce_sum(totals * exp(tops - _finite(top)), (0,)))

    def _scaled(self, factors: Sequence[jax.Array], summed: int) -> tuple[jax.Array, jax.Array]:
        axes = tuple(range(summed))
        inner, outer = self._split(factors, summed)
        scale = reduce(self.times, outer) if outer else jnp.zeros((), factors[0].dtype)
        if not inner:
            return jax.lax.stop_gradient(scale), exp(scale - _finite(scale))
        top, total = _scaled_sum(reduce(self.times, inner), axes)
        return top + scale, total

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


def _scaled_sum(a: jax.Array, axes: tuple[int, ...]) -> tuple[jax.Array, jax.Array]:
    top = jax.lax.stop_gradient(reduce_max(a, axes))
    return top, reduce_sum(exp(a - jnp.expand_dims(_finite(top), axes)), axes)


def _log(top: jax.Array, total: jax.Array) -> jax.Array:
    positive = total > 0
    return jnp.where(positive, jnp.log(jnp.where(positive, total, 1)) + _finite(top), -jnp.inf)


def _sum_to(weight: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    axes = tuple(axis for axis, size in enumerate(shape) if size == 1 and weight.shape[axis] > 1)
    return reduce_sum(weight, axes).reshape(shape) if axes else weight

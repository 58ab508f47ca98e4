"""The log of the sum over derivations, and its gradient: marginals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import jax
import jax.numpy as jnp

from structdep.semirings.base import Product, Semiring, semiring


@semiring
class LogSum(Semiring):
    """Log-sum-exp: log Σ exp(score) over derivations; its gradient gives the marginals.

    Example:
        >>> LogSum().sum(jnp.array([0.0, 0.0]), 0)
        Array(0.6931472, dtype=float32)
    """

    def sum(self, a: jax.Array, axis: int | tuple[int, ...]) -> jax.Array:
        top = jax.lax.stop_gradient(jnp.max(a, axis, keepdims=True))
        top = jnp.where(jnp.isneginf(top), 0, top)
        total = jnp.sum(jnp.exp(a - top), axis)
        positive = total > 0
        return jnp.where(positive, jnp.log(jnp.where(positive, total, 1)) + jnp.squeeze(top, axis), -jnp.inf)

    def pullback(self, products: Sequence[Product], value: jax.Array, cotangent: jax.Array) -> list[list[jax.Array]]:
        """Cotangents of the factors of `fold(products) == value`: a product has the weight exp(product - value)."""
        value = jnp.where(jnp.isneginf(value), 0, value)
        result = []
        for factors, summed in products:
            weight = jnp.exp(reduce(self.times, factors) - value) * cotangent
            result.append([_sum_to(weight, factor.shape) for factor in factors])
        return result


def _sum_to(weight: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    axes = tuple(axis for axis, size in enumerate(shape) if size == 1 and weight.shape[axis] > 1)
    return jnp.sum(weight, axes, keepdims=True)

"""The log of the sum over derivations, and its gradient: marginals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import ClassVar, final

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient

from structdep.semirings.base import Product, Reader, Semiring, semiring
from structdep.semirings.max_plus import MaxPlus
from structdep.semirings.numerics import Stage, at_once, combine, exp, window_sums


@final
@semiring
class LogSum(Semiring):
    """Log-sum-exp: log Σ exp(score) over derivations; its gradient gives the marginals.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.LogSum().sum(jnp.array([0.0, 0.0]), 0)
        Array(0.6931472, dtype=float32)
    """

    separable: ClassVar[bool] = True

    def sum(self, a: jax.Array, axis: int | tuple[int, ...]) -> jax.Array:
        top = stop_gradient(_finite(jnp.max(a, axis, keepdims=True)))
        return _log(jnp.squeeze(top, axis), jnp.sum(exp(a - top), axis))

    def fold(self, read: Reader, stage: Stage = at_once) -> jax.Array:
        """All terms relative to the greatest: one exponential a term, one logarithm a value."""
        top = stop_gradient(_finite(MaxPlus().fold(read, stage)))
        sums = stage(lambda: [self._sums(*product, top) for product in read()])
        return stage(lambda: _log(top, reduce(jnp.add, map(partial(self._total, top), sums, read()))))

    def _sums(self, factors: Sequence[jax.Array], summed: int, top: jax.Array) -> list[jax.Array]:
        """A product's sums over windows of the last summed axis, relative to `top`."""
        sums = window_sums(exp(reduce(self.times, factors) - top), summed - 1) if summed else []
        return [rows.reshape(-1, *rows.shape[summed:]) for rows in sums]

    def _total(self, top: jax.Array, sums: list[jax.Array], product: Product) -> jax.Array:
        factors, summed = product
        return combine(jnp.add, sums)[0] if summed else exp(reduce(self.times, factors) - top)

    def weights(self, products: Sequence[jax.Array], summed: Sequence[int], value: jax.Array) -> list[jax.Array]:
        return [exp(product - _finite(value)) for product in products]


def _finite(top: jax.Array) -> jax.Array:
    """0 in place of -inf: so that nothing is ever subtracted from -inf but something finite."""
    return jnp.where(jnp.isneginf(top), 0, top)


def _log(top: jax.Array, total: jax.Array) -> jax.Array:
    positive = total > 0
    return jnp.where(positive, jnp.log(jnp.where(positive, total, 1)) + top, -jnp.inf)

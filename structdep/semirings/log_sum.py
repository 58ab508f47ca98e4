"""The log-partition; its gradient is the marginals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import final

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient

from structdep.semirings.base import Product, Semiring, semiring
from structdep.semirings.max_plus import MaxPlus
from structdep.semirings.reductions import total


@final
@semiring
class LogSum(Semiring):
    """The log-partition: log Σ exp(score) over derivations. Its gradient is the marginals.

    Example:
        >>> import jax, jax.numpy as jnp, structdep as sd
        >>> sd.LogSum().sum(jnp.array([0.0, 0.0]), 0)
        Array(0.6931472, dtype=float32)
        >>> jax.grad(lambda scores: sd.eisner(scores, semiring=sd.LogSum))(jnp.zeros((3, 3)))[0].round(4)
        Array([0.    , 0.6667, 0.6667], dtype=float32)
    """

    def sum(self, a: jax.Array, axis: int | tuple[int, ...]) -> jax.Array:
        top = stop_gradient(_finite(jnp.max(a, axis, keepdims=True)))
        return _log(jnp.squeeze(top, axis), jnp.sum(jnp.exp(a - top), axis))

    def fold(self, products: Sequence[Product]) -> jax.Array:
        """All terms relative to the greatest: one exponential a term, one logarithm a value."""
        top = stop_gradient(_finite(MaxPlus().fold(products)))
        terms = [(reduce(self.times, factors), summed) for factors, summed in products]
        sums = [total(jnp.exp(term - top), tuple(range(summed))) for term, summed in terms]
        return _log(top, reduce(jnp.add, sums))

    def weights(self, products: Sequence[jax.Array], summed: Sequence[int], value: jax.Array) -> list[jax.Array]:
        return [jnp.exp(product - _finite(value)) for product in products]


def _finite(top: jax.Array) -> jax.Array:
    """0 in place of -inf: so that nothing is ever subtracted from -inf but something finite."""
    return jnp.where(jnp.isneginf(top), 0, top)


def _log(top: jax.Array, terms: jax.Array) -> jax.Array:
    positive = terms > 0
    return jnp.where(positive, jnp.log(jnp.where(positive, terms, 1)) + top, -jnp.inf)

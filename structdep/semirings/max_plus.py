"""The best derivation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import ClassVar, final

import jax
import jax.numpy as jnp

from structdep.semirings.base import Product, Reader, Semiring, semiring
from structdep.semirings.numerics import Stage, at_once, combine, larger, window_maxima


@final
@semiring
class MaxPlus(Semiring):
    """Max-plus: the score of the best tree; its gradient is exactly one best tree, the first found among ties.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.MaxPlus().sum(jnp.array([1.0, 3.0]), 0)
        Array(3., dtype=float32)
    """

    idempotent: ClassVar[bool] = True

    def sum(self, a: jax.Array, axis: int | tuple[int, ...]) -> jax.Array:
        """The greatest element; its derivative is that of the first among equals."""
        axes = (axis,) if isinstance(axis, int) else axis
        rows = jnp.moveaxis(a, axes, range(len(axes)))
        rows = rows.reshape(prod(rows.shape[: len(axes)]), *rows.shape[len(axes) :])
        return jnp.take_along_axis(rows, jnp.argmax(rows, axis=0, keepdims=True), axis=0)[0]

    def fold(self, read: Reader, stage: Stage = at_once) -> jax.Array:
        """First the maxima over windows of summed axes, then all else."""
        maxima = stage(lambda: [self._maxima(*product) for product in read()])
        return stage(lambda: reduce(larger, map(self._joined, maxima, read())))

    def _maxima(self, factors: Sequence[jax.Array], summed: int) -> list[jax.Array]:
        """A product's maxima over windows of the last summed axis, but for factors that the summed axes leave out."""
        inner, _ = self._split(factors, summed)
        maxima = window_maxima(reduce(self.times, inner), summed - 1) if inner else []
        return [rows.reshape(-1, *rows.shape[summed:]) for rows in maxima]

    def _joined(self, maxima: list[jax.Array], product: Product) -> jax.Array:
        _, outer = self._split(*product)
        return reduce(self.times, [*([combine(larger, maxima)[0]] if maxima else []), *outer])

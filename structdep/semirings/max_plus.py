"""The best derivation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import ClassVar, final

import jax
import jax.numpy as jnp

from structdep.semirings.base import Semiring, semiring


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
        """The greatest element, NaN if there is one; its derivative is that of the first among equals."""
        axes = (axis,) if isinstance(axis, int) else axis
        rows = jnp.moveaxis(a, axes, range(len(axes)))
        rows = rows.reshape(-1, *rows.shape[len(axes) :])
        return jnp.take_along_axis(rows, jnp.argmax(rows, axis=0, keepdims=True), axis=0)[0]

    def plus(self, values: Sequence[jax.Array]) -> jax.Array:
        return reduce(lambda a, b: jnp.where(a >= b, a, b), values)

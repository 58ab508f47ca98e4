"""The best derivation."""

from __future__ import annotations

from typing import ClassVar

import jax

from structdep.semirings.base import Semiring, semiring
from structdep.semirings.numerics import reduce_max


@semiring
class MaxPlus(Semiring):
    """Max-plus: the score of the best tree; its gradient is exactly one best tree, the first found among ties.

    Example:
        >>> MaxPlus().sum(jnp.array([1.0, 3.0]), 0)
        Array(3., dtype=float32)
    """

    idempotent: ClassVar[bool] = True

    def sum(self, a: jax.Array, axis: int | tuple[int, ...]) -> jax.Array:
        return reduce_max(a, axis if isinstance(axis, tuple) else (axis,))

"""The number of derivations."""

from __future__ import annotations

from typing import final

import jax
import jax.numpy as jnp

from structdep.semirings.base import Semiring, semiring
from structdep.semirings.log_sum import LogSum


@final
@semiring
class Counting(Semiring):
    """The logarithm of the number of derivations without forbidden (-inf) scores; other scores do not matter.

    In an unambiguous system, this is the number of trees.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> jnp.exp(sd.mhk(jnp.zeros((5, 5)), k=4, semiring=sd.Counting)).round()
        Array(2907., dtype=float32)
    """

    def lift(self, name: str, table: jax.Array) -> jax.Array:
        return jnp.where(jnp.isneginf(table), table, 0)

    def chart(self) -> Semiring:
        return LogSum()

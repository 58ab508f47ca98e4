"""Two semirings at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import jax

from structdep.semirings.base import Semiring, Value, semiring


@semiring
class Pair(Semiring):
    """The values in two semirings, from one chart.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.eisner(jnp.zeros((3, 3)), semiring=sd.Pair(sd.MaxPlus(), sd.LogSum()))
        (Array(0., dtype=float32), Array(1.0986123, dtype=float32))
    """

    first: Semiring
    second: Semiring
    additive: ClassVar[bool] = False

    @property
    def zero(self) -> Any:
        return (self.first.zero, self.second.zero)

    def zero_of(self, value: Value) -> Any:
        return self.first.zero_of(value[0]), self.second.zero_of(value[1])

    def zeros(self, shape: Sequence[int], dtype: Any) -> Value:
        return self.first.zeros(shape, dtype), self.second.zeros(shape, dtype)

    def ones(self, shape: Sequence[int], dtype: Any) -> Value:
        return self.first.ones(shape, dtype), self.second.ones(shape, dtype)

    def lift(self, name: str, table: jax.Array) -> Value:
        return self.first.lift(name, table), self.second.lift(name, table)

    def chart(self) -> Semiring:
        return Pair(self.first.chart(), self.second.chart())

    def lower(self, value: Value) -> Any:
        return self.first.lower(value[0]), self.second.lower(value[1])

    def times(self, a: Value, b: Value) -> Value:
        return self.first.times(a[0], b[0]), self.second.times(a[1], b[1])

    def sum(self, a: Value, axis: int | tuple[int, ...]) -> Value:
        return self.first.sum(a[0], axis), self.second.sum(a[1], axis)

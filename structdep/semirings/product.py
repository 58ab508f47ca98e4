"""Two semirings at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import jax

from structdep.semirings.base import Semiring, Value, instance, semiring


@final
@semiring
class Pair(Semiring):
    """Two semirings at once: the result is the tuple of both results.

    Args:
        first: a semiring, a class or an instance.
        second: another semiring.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.eisner(jnp.zeros((3, 3)), semiring=sd.Pair(sd.MaxPlus, sd.LogSum))
        (Array(0., dtype=float32), Array(1.0986123, dtype=float32))
    """

    first: Semiring | type[Semiring]
    second: Semiring | type[Semiring]

    def __post_init__(self) -> None:
        object.__setattr__(self, "first", instance(self.first))
        object.__setattr__(self, "second", instance(self.second))

    @property
    def both(self) -> tuple[Semiring, Semiring]:
        """The two semirings."""
        return instance(self.first), instance(self.second)

    @property
    def names(self) -> frozenset[str]:
        """See `Semiring.names`."""
        return self.both[0].names | self.both[1].names

    @property
    def zero(self) -> Any:
        """The zeros of both."""
        return (self.both[0].zero, self.both[1].zero)

    def zero_of(self, value: Value) -> Any:
        return self.both[0].zero_of(value[0]), self.both[1].zero_of(value[1])

    def zeros(self, shape: Sequence[int], dtype: Any) -> Value:
        return self.both[0].zeros(shape, dtype), self.both[1].zeros(shape, dtype)

    def ones(self, shape: Sequence[int], dtype: Any) -> Value:
        return self.both[0].ones(shape, dtype), self.both[1].ones(shape, dtype)

    def lift(self, name: str, table: jax.Array) -> Value:
        return self.both[0].lift(name, table), self.both[1].lift(name, table)

    def chart(self) -> Semiring:
        return Pair(self.both[0].chart(), self.both[1].chart())

    def randomness(self) -> Any:
        keys = tuple(part.randomness() for part in self.both)
        return None if keys == (None, None) else keys

    def lower(self, value: Value) -> Any:
        return self.both[0].lower(value[0]), self.both[1].lower(value[1])

    def times(self, a: Value, b: Value) -> Value:
        return self.both[0].times(a[0], b[0]), self.both[1].times(a[1], b[1])

    def sum(self, a: Value, axis: int | tuple[int, ...]) -> Value:
        return self.both[0].sum(a[0], axis), self.both[1].sum(a[1], axis)

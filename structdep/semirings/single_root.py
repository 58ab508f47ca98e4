"""Derivations with exactly one root arc, in any semiring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import jax
import jax.numpy as jnp

from structdep.semirings.base import Semiring, Value, instance, semiring

Graded = tuple[Value, Value]
"""The sums of the derivations without, and with one, arc from the root; those with more are dropped."""


@final
@semiring
class SingleRoot(Semiring):
    """Another semiring, over the derivations in which exactly one word depends on the root.

    Values are pairs of values of `base`: of the derivations without an arc from the root, and of those with one.

    Args:
        base: the semiring, a class or an instance.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> jnp.exp(sd.eisner(jnp.zeros((4, 4)), semiring=sd.SingleRoot(sd.Counting))).round()
        Array(7., dtype=float32)
    """

    base: Semiring | type[Semiring]

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", instance(self.base))

    @property
    def _base(self) -> Semiring:
        return instance(self.base)

    @property
    def names(self) -> frozenset[str]:
        """See `Semiring.names`."""
        return self._base.names

    @property
    def zero(self) -> Any:
        """The zero of `base`, twice."""
        return (self._base.zero, self._base.zero)

    def zero_of(self, value: Graded) -> Any:
        return tuple(map(self._base.zero_of, value))

    def zeros(self, shape: Sequence[int], dtype: Any) -> Graded:
        return self._base.zeros(shape, dtype), self._base.zeros(shape, dtype)

    def ones(self, shape: Sequence[int], dtype: Any) -> Graded:
        return self._base.ones(shape, dtype), self._base.zeros(shape, dtype)

    def lift(self, name: str, table: jax.Array) -> Graded:
        without, with_one = (self._base.lift(name, part) for part in self.grade(name, table, -jnp.inf))
        return without, with_one

    def grade(self, name: str, table: jax.Array, zero: float) -> tuple[jax.Array, jax.Array]:
        """Numbers of no root arc, and of one: arrays like `table`, `zero` where a score is not of this kind."""
        is_root = (jnp.arange(table.shape[-2]) == 0)[:, None] if name == "arc" else jnp.zeros((), bool)
        return jnp.where(is_root, zero, table), jnp.where(is_root, table, zero)

    def randomness(self) -> Any:
        return self._base.randomness()

    def join(self, a: Graded) -> Value:
        """The base's value of a score: of its two grades, one is zero."""

        def of_leaf(without: jax.Array, with_one: jax.Array, zero: float) -> jax.Array:
            return jnp.where(with_one == zero, without, with_one)

        return jax.tree.map(of_leaf, *a, self._base.zero_of(a[0]))

    def chart(self) -> Semiring:
        return SingleRoot(self._base.chart())

    def lower(self, value: Graded) -> Any:
        return self._base.lower(value[1])

    def times(self, a: Graded, b: Graded) -> Graded:
        base = self._base
        return base.times(a[0], b[0]), base.plus([base.times(a[0], b[1]), base.times(a[1], b[0])])

    def sum(self, a: Graded, axis: int | tuple[int, ...]) -> Graded:
        return self._base.sum(a[0], axis), self._base.sum(a[1], axis)

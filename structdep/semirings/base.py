"""What a semiring is: four operations on arrays of values, and the laws that tests check."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import reduce
from typing import Any, ClassVar, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp

from structdep.semirings.reductions import total

Value = Any
"""An array, or a pytree of arrays, of semiring values: chart axes first, the semiring's own axes last."""

Product = tuple[Sequence[Value], int]
"""Factors over one grid (an axis of size 1 where a factor is constant), and how many leading axes are summed."""

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def semiring(cls: type[T]) -> type[T]:
    """Class decorator: a frozen dataclass that is a pytree, so that semirings with data pass through jit and grad."""
    return jax.tree_util.register_dataclass(dataclasses.dataclass(frozen=True)(cls))


class Semiring:
    """The interface, and what semirings over log-weights share: `times` adds, `zero` is -inf, `one` is 0.

    A semiring of your own is a subclass, decorated by `structdep.semiring`. It must define `sum`, or a
    `chart` that does. It must also define each of these that differs:

    * `times(a, b)`, the product of two values.
    * `zero`, with the structure of a value and one number for each array of it, and `ones(shape, dtype)`.
    * `lift(name, table)`, from scores to values: -inf must become `zero`. `lower(value)`, from the goal's value to the
      result.
    * `chart()`, where a semiring has arrays or only lifts scores: the semiring without arrays that fills the chart.
    * `names`, the scores for which the semiring has arrays of its own.
    * `idempotent = True`, where a value is one number, and a sum is always one of its terms: `argmax` then works.

    The laws: `sum` is associative and commutative with identity `zero`; `times` is associative with identity `one` and
    annihilator `zero`, and distributes over `sum`. Values are arrays or pytrees of arrays: chart axes first, then the
    semiring's own axes. `fold`, `pullback` and `weights` are for speed alone: results must be those of `sum` and
    `times`.

    A semiring without a `times` of its own is `additive`: values are numbers, and the derivative of a value counts uses
    of scores. In others derivatives are those of the operations. For second derivatives those of `sum` must be finite,
    also where all terms are `zero`.

    Concrete semirings of this library are final, as engines fill their charts without their methods.

    Raises:
        TypeError: by a class that derives from a final one, or says that its own `times` adds.

    Example:
        >>> import jax, jax.numpy as jnp, structdep as sd
        >>> @sd.semiring
        ... class BestCount(sd.Semiring):
        ...     '''The score of the best derivations, and how many they are.'''
        ...
        ...     zero = (-jnp.inf, 0.0)
        ...
        ...     def ones(self, shape, dtype):
        ...         return jnp.zeros(shape, dtype), jnp.ones(shape, dtype)
        ...
        ...     def lift(self, name, table):
        ...         return table, jnp.where(jnp.isneginf(table), 0.0, 1.0)
        ...
        ...     def times(self, a, b):
        ...         return a[0] + b[0], a[1] * b[1]
        ...
        ...     def sum(self, a, axis):
        ...         best = jnp.max(a[0], axis)
        ...         return best, jnp.sum(a[1], axis, where=a[0] == jnp.expand_dims(best, axis))
        >>> sd.inside(sd.charts.eisner(), jnp.zeros((4, 4)).at[1, 2].set(1.0), semiring=BestCount)
        (Array(1., dtype=float32), Array(4., dtype=float32))
    """

    idempotent: ClassVar[bool] = False
    additive: ClassVar[bool] = True
    zero: ClassVar[Any] = -jnp.inf

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name, own_times = cls.__name__, cls.times is not Semiring.times
        for base in cls.__mro__[1:]:
            if vars(base).get("__final__"):  # what typing.final sets
                raise TypeError(
                    f"{name} derives from {base.__name__}, which is final: its charts are filled without its methods. "
                    f"Write class {name}(structdep.Semiring) with a sum of its own; where only scores differ, define "
                    f"lift, and chart, which returns a {base.__name__}"
                )
        if own_times and vars(cls).get("additive"):
            raise TypeError(f"{name} has a times of its own, so that it is not additive: leave out additive = True")
        if own_times:
            cls.additive = False

    @property
    def names(self) -> frozenset[str]:
        """The scores for which the semiring has numbers of its own."""
        return frozenset()

    def zeros(self, shape: Sequence[int], dtype: Any) -> Value:
        return jax.tree.map(lambda zero: jnp.full(shape, zero, dtype), self.zero)

    def zero_of(self, value: Value) -> Any:
        """Zero with the structure of this value."""
        return self.zero

    def ones(self, shape: Sequence[int], dtype: Any) -> Value:
        return jnp.zeros(shape, dtype)

    def lift(self, name: str, table: jax.Array) -> Value:
        """Values of the score table `name`, `[*batch, positions...]`."""
        return table

    def chart(self) -> Semiring:
        """The semiring that fills the chart with lifted values: one without arrays of its own."""
        return self

    def randomness(self) -> jax.Array | None:
        """The key by which a derivation is drawn when derivatives are asked for, if one is."""
        return None

    def lower(self, value: Value) -> Any:
        """What the user gets for the goal's value."""
        return value

    def times(self, a: Value, b: Value) -> Value:
        return a + b

    def sum(self, a: Value, axis: int | tuple[int, ...]) -> Value:
        raise NotImplementedError(f"{type(self).__name__} must define sum(values, axis)")

    def plus(self, values: Sequence[Value]) -> Value:
        """The semiring sum of some arrays."""
        stacked = jax.tree.map(lambda *leaves: jnp.stack(jnp.broadcast_arrays(*leaves)), *values)
        return values[0] if len(values) == 1 else self.sum(stacked, 0)

    def fold(self, products: Sequence[Product]) -> Value:
        """The sum of products: in each, factors that are constant along the summed axes are multiplied last."""
        return self.plus([self._product(factors, summed) for factors, summed in products])

    def pullback(self, products: Sequence[Product], value: Value, cotangent: Value) -> list[list[Value]]:
        """Cotangents of the factors of a fold with this `value`; additive products share theirs among the factors."""
        if not self.additive:
            return self._pullback(products, cotangent)
        terms = [(reduce(self.times, factors), summed) for factors, summed in products]
        full = [jnp.broadcast_to(term, (*term.shape[:summed], *value.shape)) for term, summed in terms]
        of_terms = [weight * cotangent for weight in self.weights(full, [summed for _, summed in terms], value)]
        return [
            [_sum_to(own, factor.shape) for factor in factors]
            for own, (factors, _) in zip(of_terms, products, strict=True)
        ]

    def _pullback(self, products: Sequence[Product], cotangent: Value) -> list[list[Value]]:
        def again(factors: Sequence[Sequence[Value]]) -> Value:
            value = Semiring.fold(self, [(own, summed) for own, (_, summed) in zip(factors, products, strict=True)])
            return jax.tree.map(lambda leaf, like: jnp.broadcast_to(leaf, like.shape), value, cotangent)

        (pulled,) = jax.vjp(again, [list(factors) for factors, _ in products])[1](cotangent)
        return pulled

    def weights(self, products: Sequence[jax.Array], summed: Sequence[int], value: jax.Array) -> list[jax.Array]:
        """The derivative of a fold's `value` by each term of its products; 0 where a term is -inf."""

        def again(products: Sequence[jax.Array]) -> jax.Array:
            sums = [self.sum(p, tuple(range(axes))) if axes else p for p, axes in zip(products, summed, strict=True)]
            return self.plus(sums)

        (weights,) = jax.vjp(again, list(products))[1](jnp.ones_like(value))
        return [jnp.where(jnp.isneginf(p), 0, weight) for p, weight in zip(products, weights, strict=True)]

    def _product(self, factors: Sequence[Value], summed: int) -> Value:
        inner, outer = self._split(factors, summed)
        values = [self.sum(reduce(self.times, inner), tuple(range(summed)))] if inner else []
        return reduce(self.times, [*values, *outer])

    def _split(self, factors: Sequence[Value], summed: int) -> tuple[list[Value], list[Value]]:
        """The factors that vary along the summed axes, and the others, without these axes."""
        varies = [any(size > 1 for size in jax.tree.leaves(f)[0].shape[:summed]) for f in factors]
        inner = [f for f, does in zip(factors, varies, strict=True) if does]
        outer = [
            jax.tree.map(lambda leaf: leaf.reshape(leaf.shape[summed:]), f)
            for f, does in zip(factors, varies, strict=True)
            if not does
        ]
        return inner, outer


def _sum_to(array: jax.Array, shape: Sequence[int]) -> jax.Array:
    """The array summed along the axes where its shape is to be 1."""
    axes = tuple(axis for axis, size in enumerate(shape) if size < array.shape[axis])
    return total(array, axes).reshape(shape)


def instance(semiring: Semiring | type[Semiring]) -> Semiring:
    """The semiring, where a class without parameters may be named instead.

    Raises:
        TypeError: it is none.
    """
    if isinstance(semiring, type) and issubclass(semiring, Semiring):
        semiring = semiring()
    if not isinstance(semiring, Semiring):
        raise TypeError(f"{semiring!r} is no semiring: write structdep.MaxPlus, structdep.LogSum, or one of your own")
    if "__dataclass_fields__" not in vars(type(semiring)):
        name = type(semiring).__name__
        raise TypeError(f"{name} is not decorated: write @structdep.semiring above class {name}(structdep.Semiring)")
    return semiring


def chart_of(semiring: Semiring) -> Semiring:
    """The semiring that fills the chart.

    Raises:
        TypeError: it has arrays.
    """
    chart = semiring.chart()
    if jax.tree.leaves(chart):
        raise TypeError(
            f"{type(semiring).__name__}.chart() returns a semiring with arrays, for which no chart can be compiled: "
            "use arrays in lift and lower alone, and return a semiring without them"
        )
    return chart

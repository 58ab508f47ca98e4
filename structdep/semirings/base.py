"""The interface of semirings: operations on arrays of values, and the laws that tests check."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
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
    """Class decorator for semirings of your own: makes a frozen dataclass that is a pytree.

    `jax.jit` and `jax.grad` then take semirings with arrays as arguments.

    Args:
        cls: a subclass of `Semiring`. Its annotated names are the arguments of its constructor.

    Returns:
        The class, as a dataclass that is registered with JAX.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> @sd.semiring
        ... class Scaled(sd.Semiring):
        ...     '''The best score, with all scores multiplied by a factor.'''
        ...
        ...     factor: float
        ...
        ...     def lift(self, name, table):
        ...         return self.factor * table
        ...
        ...     def chart(self):
        ...         return sd.MaxPlus()
        >>> sd.inside(sd.charts.eisner(), jnp.ones((4, 4)), semiring=Scaled(2.0))
        Array(6., dtype=float32)
    """
    return jax.tree_util.register_dataclass(dataclasses.dataclass(frozen=True)(cls))


class Semiring:
    """The interface of semirings, with defaults for logarithms of weights: `times` adds, `zero` is -inf, `one` is 0.

    A semiring of your own is a subclass, decorated by `structdep.semiring`. It must define `sum`, or a `chart` that
    does. It must also define each of these that differs from the default:

    * `times(a, b)`: the product of two values.
    * `zero`: the zero, with the structure of a value and one number for each of its arrays; `ones(shape, dtype)`:
      arrays of the one.
    * `lift(name, table)`: from scores to values; -inf must become `zero`. `lower(value)`: from the goal's value to the
      result of the query.
    * `chart()`: the semiring that fills the chart, for a semiring that has arrays of its own or that only lifts scores.
      It must not have arrays.
    * `names`: the names of the scores for which the semiring has arrays of its own.
    * `idempotent = True`: a value is one number, and a sum is always one of its terms. `argmax` then works.

    The laws: `sum` is associative and commutative with identity `zero`; `times` is associative with identity `one` and
    annihilator `zero`, and distributes over `sum`. Values are arrays or pytrees of arrays: chart axes first, then the
    semiring's own axes. `fold`, `pullback` and `weights` only affect speed: results must equal those of `sum` and
    `times`.

    A semiring without a `times` of its own is `additive`: values are numbers, and the derivative of a value by a score
    is the expected count of the score. Derivatives in other semirings are those of the operations. For second
    derivatives, derivatives of `sum` must be finite, also if all terms are `zero`.

    The semirings of this library are final, because engines fill their charts without calling their methods.

    Raises:
        TypeError: when a class is defined that derives from a final semiring, or that has `additive = True` and a
            `times`.

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
        """The names of the scores for which the semiring has arrays of its own."""
        return frozenset()

    def zeros(self, shape: Sequence[int], dtype: Any) -> Value:
        """Arrays of `zero`, of a shape and dtype, with the structure of a value."""
        return jax.tree.map(lambda zero: jnp.full(shape, zero, dtype), self.zero)

    def zero_of(self, value: Value) -> Any:
        """The zero with the structure of `value`, which may have fewer arrays than `zero`: lists of the k best have."""
        return self.zero

    def ones(self, shape: Sequence[int], dtype: Any) -> Value:
        """Arrays of the one, of a shape and dtype, with the structure of a value."""
        return jnp.zeros(shape, dtype)

    def lift(self, name: str, table: jax.Array) -> Value:
        """Values of scores.

        Args:
            name: the name of the score, such as "arc".
            table: its scores, float `[*batch, positions..]`; -inf is forbidden.

        Returns:
            Values whose first axes are those of `table`. By default the scores, but `zero` for -inf.
        """
        is_other = jax.tree_util.all_leaves([self.zero]) and self.zero != -jnp.inf
        return jnp.where(jnp.isneginf(table), self.zero, table) if is_other else table

    def chart(self) -> Semiring:
        """The semiring that fills the chart with lifted values: one without arrays of its own."""
        return self

    def randomness(self) -> jax.Array | None:
        """The key by which a derivation is drawn when derivatives are computed; None for expected counts."""
        return None

    def lower(self, value: Value) -> Any:
        """The result of a query, from the value of the goal, `[*batch]` and the semiring's own axes."""
        return value

    def times(self, a: Value, b: Value) -> Value:
        """The semiring product of two values, broadcast against each other."""
        return a + b

    def sum(self, a: Value, axis: int | tuple[int, ...]) -> Value:
        """The semiring sum along axes.

        Args:
            a: a value.
            axis: one axis or several, from the chart's axes, at the front.

        Returns:
            The value without these axes.

        Raises:
            NotImplementedError: the semiring does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} must define sum(values, axis)")

    def plus(self, values: Sequence[Value]) -> Value:
        """The semiring sum of several values, broadcast against each other."""
        stacked = jax.tree.map(lambda *leaves: jnp.stack(jnp.broadcast_arrays(*leaves)), *values)
        return values[0] if len(values) == 1 else self.sum(stacked, 0)

    def fold(self, products: Sequence[Product]) -> Value:
        """The semiring sum of products: factors that are constant along the summed axes are multiplied last.

        Args:
            products: for each product, its factors, and the number of leading axes that are summed; an axis along which
                a factor is constant has size 1.

        Returns:
            The value, without the summed axes.
        """
        return self.plus([self._product(factors, summed) for factors, summed in products])

    def pullback(self, products: Sequence[Product], value: Value, cotangent: Value) -> list[list[Value]]:
        """Cotangents of the factors of a fold.

        Args:
            products: as for `fold`.
            value: the result of the fold.
            cotangent: the cotangent of this result.

        Returns:
            For each product, the cotangent of each of its factors.
        """
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
        """The derivatives of a fold by the terms of its products, in an additive semiring.

        Args:
            products: the product of the factors of each.
            summed: the number of leading axes that are summed, for each product.
            value: the result of the fold.

        Returns:
            For each product, the derivative of `value` by its terms: 0 where a term is -inf.
        """

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


def check_values(semiring: Semiring, values: Mapping[str, Value], axis: int) -> None:
    """Raise ValueError if values of a semiring of one's own do not fit its zero, or its sum along one of their axes.

    Args:
        semiring: any semiring; those of the library are not checked.
        values: lifted scores, by name.
        axis: an axis of all values that stands for a position.
    """
    chart, name = semiring.chart(), type(semiring).__name__
    if is_final(chart):
        return
    for value in values.values():
        found = jax.eval_shape(lambda value: chart.sum(value, axis), value)
        for what, other in (("sum", found), ("zero", chart.zero_of(value))):
            structure, expected = (str(jax.tree.structure(tree)) for tree in (other, value))
            if structure != expected:
                raise ValueError(f"{name}: {what} has the structure {structure}, expected that of values, {expected}")
        for own, leaf in zip(jax.tree.leaves(found), jax.tree.leaves(value), strict=True):
            if own.shape != (shape := (*leaf.shape[:axis], *leaf.shape[axis + 1 :])):
                raise ValueError(f"{name}: sum({leaf.shape}, axis={axis}) has the shape {own.shape}, expected {shape}")


def is_final(semiring: Semiring) -> bool:
    """Whether it is one of the library's, by `typing.final`, and so are those that it is made of."""
    parts = [*getattr(semiring, "both", ()), *([semiring.base] if hasattr(semiring, "base") else [])]
    return bool(vars(type(semiring)).get("__final__")) and all(is_final(instance(part)) for part in parts)


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

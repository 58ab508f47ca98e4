"""The k best derivations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import reduce
from itertools import product
from operator import index
from typing import Any, final

import jax
import jax.numpy as jnp
from jax import lax

from structdep.semirings.base import Product, Semiring, semiring
from structdep.semirings.reductions import stored

Ranked = tuple[jax.Array, ...]
"""The best value, the second best, ..; no more than there can be."""

WINDOW = 4
"""Rows that are reduced together: XLA makes vector code of such short loops."""


@final
@semiring
class KBest(Semiring):
    """The scores of the k best derivations, best first.

    The value of a query is float `[*batch, k]`, -inf where a sentence has fewer derivations. The gradient of each score
    is 1 at the scores that its derivation uses, else 0. In an ambiguous system, a tree appears once for each of its
    derivations.

    Args:
        k: the number of derivations, 1 or more.

    Raises:
        TypeError: k is not a whole number.
        ValueError: k is below 1.

    References:
        Huang and Chiang 2005, Better k-best parsing.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.eisner(jnp.arange(9.0).reshape(3, 3), semiring=sd.KBest(4))
        Array([  9.,   6.,   3., -inf], dtype=float32)
    """

    k: int = field(metadata={"static": True})

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "k", index(self.k))
        except TypeError:
            raise TypeError(f"the k best derivations are a whole number, not {self.k!r}") from None
        if self.k < 1:
            raise ValueError(f"the k best derivations are one or more, not {self.k}")

    @property
    def zero(self) -> Any:
        """-inf at each of k ranks."""
        return (-jnp.inf,) * self.k

    def zero_of(self, value: Ranked) -> Any:
        return (-jnp.inf,) * len(value)

    def ones(self, shape: Sequence[int], dtype: Any) -> Ranked:
        return (jnp.zeros(shape, dtype), *self.zeros(shape, dtype)[1:])

    def lift(self, name: str, table: jax.Array) -> Ranked:
        return (table,)

    def lower(self, value: Ranked) -> jax.Array:
        best = jnp.stack(value, axis=-1)
        return jnp.where(jnp.isneginf(best), -jnp.inf, best)  # no derivation, and no derivative

    def times(self, a: Ranked, b: Ranked) -> Ranked:
        """The best sums of one of each; the i-th of one and the j-th of the other have i·j - 1 better ones."""
        sums = [x + y for (i, x), (j, y) in product(enumerate(a), enumerate(b)) if (i + 1) * (j + 1) <= self.k]
        return tuple(sums) if 1 in (len(a), len(b)) else self._best(jnp.stack(sums, axis=-1))

    def sum(self, a: Ranked, axis: int | tuple[int, ...]) -> Ranked:
        axes = (axis,) if isinstance(axis, int) else axis
        rows = [jnp.moveaxis(leaf, axes, range(-len(axes), 0)) for leaf in a]
        return self._best(jnp.concatenate([x.reshape(*x.shape[: x.ndim - len(axes)], -1) for x in rows], axis=-1))

    def plus(self, values: Sequence[Ranked]) -> Ranked:
        leaves = jnp.broadcast_arrays(*(leaf for value in values for leaf in value))
        return self._best(jnp.stack(leaves, axis=-1))

    def _best(self, values: jax.Array) -> Ranked:
        """The k best along the last axis."""
        best = jax.lax.top_k(values, min(self.k, values.shape[-1]))[0]
        return self._filled(tuple(jnp.moveaxis(best, -1, 0)))

    def _filled(self, value: Ranked) -> Ranked:
        return (*value, *(jnp.full_like(value[0], -jnp.inf) for _ in range(self.k - len(value))))

    def fold(self, products: Sequence[Product]) -> Ranked:
        """By networks that order lists: fast, but derivatives of them take long to compile."""
        return self._filled(reduce(self._merge, [self._total(*one) for one in products]))

    def _total(self, factors: Sequence[Ranked], summed: int) -> Ranked:
        """The sum of a product over its leading axes: the best of each window of rows, then of all windows."""
        inner, outer = self._split(factors, summed)
        if not inner:
            return reduce(self._sums, outer)
        rows = tuple(x.reshape(-1, *x.shape[summed:]) for x in self._filled(reduce(self._sums, inner)))
        windows = self._reduced(tuple(map(_windows, stored(rows))), 1)
        return reduce(self._sums, [self._reduced(stored(windows), 0), *outer])

    def _reduced(self, rows: Ranked, axis: int) -> Ranked:
        """The best along an axis."""
        zeros = [jnp.array(-jnp.inf, x.dtype) for x in rows]
        return tuple(lax.reduce(rows, tuple(zeros), lambda a, b: self._merge(tuple(a), tuple(b)), (axis,)))

    def _sums(self, a: Ranked, b: Ranked) -> Ranked:
        """What `times` gives."""
        rows = [tuple(x + y for y in b[: self.k // i]) for i, x in enumerate(a, start=1)]
        return sum(rows, ()) if len(b) == 1 else reduce(self._merge, rows)

    def _merge(self, a: Ranked, b: Ranked) -> Ranked:
        """The best of two lists in order, by a bitonic network (Batcher 1968); None is in place of what is least."""
        size = 1 << (min(self.k, len(a) + len(b)) - 1).bit_length()
        first, second = ([*own, *[None] * (size - len(own))] for own in (a, b))
        best = [_in_order(x, y)[0] for x, y in zip(first, second[::-1], strict=True)]
        step = size // 2
        while step:
            for low in (i for i in range(size) if not i & step):
                best[low], best[low + step] = _in_order(best[low], best[low + step])
            step //= 2
        return tuple(x for x in best[: self.k] if x is not None)


def _in_order(a: jax.Array | None, b: jax.Array | None) -> tuple[jax.Array | None, jax.Array | None]:
    """The greater first."""
    if a is None or b is None:
        return (b, a) if a is None else (a, b)
    return jnp.where(a > b, a, b), jnp.where(a > b, b, a)


def _windows(rows: jax.Array) -> jax.Array:
    """`[windows, WINDOW, ..]`, filled up with -inf."""
    count = -(-len(rows) // WINDOW)
    padded = jnp.pad(rows, [(0, count * WINDOW - len(rows)), *[(0, 0)] * (rows.ndim - 1)], constant_values=-jnp.inf)
    return padded.reshape(count, WINDOW, *rows.shape[1:])

"""A group of items at one width: their values, and the pullback to what these are made from.

All members of a group are computed side by side; but on CPUs, where they take much room, one after the other: so what
is computed in between stays in the cache, and rows need not be brought together first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from structdep.semirings import Semiring
from structdep.semirings.base import Reader
from structdep.semirings.numerics import apart
from structdep.views import View, unions

Result = TypeVar("Result")
Arrays = dict[Any, Any]
"""Score tables by name, or charts and skewed tables by `Key`."""

SMALL = 1 << 14
"""Folds whose factors have fewer cells are computed in one stage."""
IN_TURN = {"cpu": 1 << 10}
"""Members of a group that have a factor of more cells than this are computed one after the other."""


class Stages:
    """Stages one after the other, at one width, each computed `apart`.

    Each hands `width` on, so what is written at this `width` is written after all that was read: else XLA copies whole
    charts, as a read may still come.
    """

    def __init__(self, width: jax.Array) -> None:
        self.width = width

    def __call__(self, compute: Callable[[], Result]) -> Result:
        result, self.width = apart(lambda: (compute(), self.width + 0))
        return result

    def loop(self, compute: Callable[[Stages, Arrays, jax.Array], Arrays], arrays: Arrays, count: int) -> Arrays:
        """The arrays that `compute(stages, arrays, number)` makes of each other, for the numbers 0..count-1."""

        def one(number: jax.Array, state: tuple[jax.Array, Arrays]) -> tuple[jax.Array, Arrays]:
            stages = Stages(state[0])
            arrays = compute(stages, state[1], number)
            return stages.width, arrays

        self.width, arrays = lax.fori_loop(0, count, one, (self.width, arrays))
        return arrays


@dataclass(frozen=True)
class Step:
    """A group at the widths of one block: where its factors are read, and where its values are written."""

    products: tuple[tuple[tuple[View, ...], int], ...]
    targets: tuple[View, ...]
    shape: tuple[int, ...]

    @property
    def members(self) -> int:
        return len(self.targets[0].rows)

    @property
    def views(self) -> list[View]:
        return [view for views, _ in self.products for view in views]

    def advance(self, tables: Arrays, charts: Arrays, semiring: Semiring, stages: Stages) -> Arrays:
        """The charts with the values of the group's items."""

        def of(stages: Stages, charts: Arrays, member: jax.Array | None = None) -> Arrays:
            read = self._reader({**tables, **charts}, stages, member)
            value = semiring.fold(read, stages) if _is_large(read) else stages(partial(semiring.fold, read))
            shape = self.shape if member is None else (1, *self.shape[1:])
            value = jax.tree.map(partial(_broadcast, shape=shape), value)
            written = {v.key: v.write(charts[v.key], value, stages.width, member) for v in self.targets}
            return {**charts, **written}

        return stages.loop(of, charts, self.members) if self._in_turn({**tables, **charts}) else of(stages, charts)

    def pull_back(
        self, arrays: Arrays, cotangents: Arrays, semiring: Semiring, stages: Stages
    ) -> tuple[Arrays, list[tuple[View, Any]]]:
        """The cotangents of all arrays, with what the members have added; else what has yet to be added, as boxes."""

        def of(stages: Stages, cotangents: Arrays, member: jax.Array | None = None) -> list[Any]:
            given = partial(self._given, arrays, cotangents, stages.width, member)
            read = self._reader(arrays, stages, member)
            if _is_large(read):
                pulled = semiring.pullback(read, *stages(given), stages)
            else:
                pulled = stages(lambda: semiring.pullback(read, *given()))
            return [factor for factors in pulled for factor in factors]

        def add(stages: Stages, cotangents: Arrays, member: jax.Array) -> Arrays:
            for view, factor in zip(self.views, of(stages, cotangents, member), strict=True):
                box = view.alone.flatten(factor)
                cotangents = cotangents | {view.key: view.add(cotangents[view.key], box, stages.width, member)}
            return cotangents

        if self._in_turn(arrays):
            return stages.loop(add, cotangents, self.members), []
        return cotangents, [(v, v.flatten(f)) for v, f in zip(self.views, of(stages, cotangents), strict=True)]

    def _given(self, arrays: Arrays, cotangents: Arrays, width: jax.Array, member: jax.Array | None) -> tuple[Any, Any]:
        """The values, and their cotangents."""
        value = self.targets[0].read(arrays[self.targets[0].key], width, member)
        return value, total(view.read(cotangents[view.key], width, member) for view in self.targets)

    def _reader(self, arrays: Arrays, stages: Stages, member: jax.Array | None) -> Reader:
        """What reads the factors. Rows that are picked here and there are stored side by side first."""
        width = stages.width
        picking = unions(view for view in self.views if view.picks) if member is None else []
        picked = stages(lambda: [one.view.pick(arrays[one.view.key], width) for one in picking]) if picking else []
        boxes = {view: (one, rows) for one, rows in zip(picking, picked, strict=True) for view in one.members}

        def factor(view: View) -> Any:
            if view not in boxes:
                return view.read(arrays[view.key], width, member)
            one, rows = boxes[view]
            return view.arrange(one.rows_of(view, rows))

        return lambda: [([factor(view) for view in views], summed) for views, summed in self.products]

    def _in_turn(self, arrays: Arrays) -> bool:
        """Whether members are computed one after the other."""
        least = IN_TURN.get(jax.default_backend())
        if least is None or self.members == 1:
            return False
        return max(view.alone.cells(arrays[view.key]) for view in self.views) > least


def _is_large(read: Reader) -> bool:
    """Whether a fold, or its derivative, sums over many cells."""
    arrays = jax.tree.leaves([factors for factors, _ in jax.eval_shape(read)])
    return len({array.shape for array in arrays}) > 1 and max(array.size for array in arrays) > SMALL


def _broadcast(leaf: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    return jnp.broadcast_to(leaf, (*shape, *leaf.shape[len(shape) :]))


def total(values: Iterable[Any]) -> Any:
    """The sum of some arrays, or pytrees."""
    return jax.tree.map(lambda *leaves: sum(leaves), *values)

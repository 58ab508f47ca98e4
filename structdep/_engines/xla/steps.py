"""A group of items at one width: their values, and the pullback to what these are made from.

All members of a group are computed side by side; but on CPUs, where they take much room, one after the other: so what
is computed in between stays in the cache, and rows need not be brought together first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from structdep._lowering.views import View, unions
from structdep.semirings import Semiring
from structdep.semirings.base import Reader
from structdep.semirings.numerics import apart

Result = TypeVar("Result")
Arrays = dict[Any, Any]
"""Score tables by name, or charts and skewed tables by `Key`."""

SMALL = 1 << 12
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
    """A group at the widths of one block: where its factors are read, and where its values are written.

    `having` says for each product which members have it: that of others is of nothing.
    """

    products: tuple[tuple[tuple[View, ...], int], ...]
    targets: tuple[View, ...]
    shape: tuple[int, ...]
    having: tuple[tuple[int, ...], ...]

    @property
    def members(self) -> int:
        return len(self.targets[0].rows)

    @property
    def views(self) -> list[View]:
        return [view for views, _ in self.products for view in views]

    @property
    def by_form(self) -> list[Step]:
        """Products that differ in rows alone together: a step of one product, whose members have one each."""
        places: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
        for number, ((views, summed), members) in enumerate(zip(self.products, self.having, strict=True)):
            form = (tuple(view.place for view in views), summed)
            places.setdefault(form, []).extend((number, member) for member in members)
        return [self._only(own) for own in places.values()]

    def _only(self, places: Sequence[tuple[int, int]]) -> Step:
        """Some products of some members, all of one form."""
        views, summed = self.products[places[0][0]]
        factors = [
            view.each([self.products[number][0][place].rows[member] for number, member in places])
            for place, view in enumerate(views)
        ]
        targets = tuple(view.each([view.rows[member] for _, member in places]) for view in self.targets)
        return replace(self, products=((tuple(factors), summed),), targets=targets, having=(tuple(range(len(places))),))

    def advance(self, tables: Arrays, charts: Arrays, semiring: Semiring, stages: Stages) -> Arrays:
        """The charts with the values of the group's items."""

        def of(stages: Stages, charts: Arrays, member: jax.Array | None = None) -> Arrays:
            read = self._reader({**tables, **charts}, stages, member)
            large = self._is_large({**tables, **charts}, member)
            value = semiring.fold(read, stages) if large else stages(partial(semiring.fold, read))
            shape = self.shape if member is None else (1, *self.shape[1:])
            value = jax.tree.map(partial(_broadcast, shape=shape), value)
            written = {v.key: v.write(charts[v.key], value, stages.width, member) for v in self.targets}
            return {**charts, **written}

        return stages.loop(of, charts, self.members) if self._in_turn({**tables, **charts}) else of(stages, charts)

    def pull_back(
        self, arrays: Arrays, cotangents: Arrays, semiring: Semiring, stages: Stages
    ) -> tuple[Arrays, list[tuple[View, Any]]]:
        """The cotangents, to which members in turn have added theirs, and what has yet to be added, as boxes."""
        in_turn = self._in_turn(arrays)
        boxes = []
        for step in self.by_form if in_turn and semiring.separable else [self]:
            pull = partial(step._pull, arrays, semiring)
            if in_turn and step.members > 1:
                cotangents = stages.loop(partial(step._add, pull), cotangents, step.members)
            else:
                boxes += pull(stages, cotangents)
        return cotangents, boxes

    def _add(self, pull: Callable[..., Any], stages: Stages, cotangents: Arrays, member: jax.Array) -> Arrays:
        for view, box in pull(stages, cotangents, member):
            cotangents = cotangents | {view.key: view.add(cotangents[view.key], box, stages.width, member)}
        return cotangents

    def _pull(
        self, arrays: Arrays, semiring: Semiring, stages: Stages, cotangents: Arrays, member: jax.Array | None = None
    ) -> list[tuple[View, Any]]:
        """The cotangents of the factors, as boxes: those of all members, or of one."""
        given = partial(self._given, arrays, cotangents, stages.width, member)
        read = self._reader(arrays, stages, member)
        if self._is_large(arrays, member):
            pulled = semiring.pullback(read, *stages(given), stages)
        else:
            pulled = stages(lambda: semiring.pullback(read, *given()))
        factors = [factor for factors in pulled for factor in factors]
        return [
            (view, (view if member is None else view.alone).flatten(factor))
            for view, factor in zip(self.views, factors, strict=True)
        ]

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

    def _is_large(self, arrays: Arrays, member: jax.Array | None) -> bool:
        """Whether the fold, or its derivative, sums over many cells."""
        views = self.views if member is None else [view.alone for view in self.views]
        shapes = set[tuple[int, ...]]().union(*(view.shapes(arrays[view.key]) for view in views))
        return len(shapes) > 1 and max(map(prod, shapes)) > SMALL

    def _in_turn(self, arrays: Arrays) -> bool:
        """Whether members are computed one after the other."""
        least = IN_TURN.get(jax.default_backend())
        if least is None or self.members == 1:
            return False
        return max(view.alone.cells(arrays[view.key]) for view in self.views) > least


def _broadcast(leaf: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    return jnp.broadcast_to(leaf, (*shape, *leaf.shape[len(shape) :]))


def total(values: Iterable[Any]) -> Any:
    """The sum of some arrays, or pytrees."""
    return jax.tree.map(lambda *leaves: sum(leaves), *values)

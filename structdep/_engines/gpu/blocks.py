"""Blocks of lanes: what the threads of a sentence work on at once, and the loops by which they come to all else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

Ref = Any
"""A vector in memory."""
Number = Any
"""A whole number, or an array of them: one for each lane."""


class Lanes(NamedTuple):
    """Rows and columns of lanes: those of one column work on one cell."""

    rows: int
    columns: int


class Place(NamedTuple):
    """Where in a packed chart something lies: steps along the axes that lanes share, and those that each loops over."""

    start: Number
    lanes: list[Number]
    loops: list[Number]

    def of(self, cell: Sequence[Number]) -> Place:
        """That of a lane."""
        return self._replace(start=_linear(self.start, self.lanes, cell))

    def at(self, split: Sequence[Number]) -> Number:
        return _linear(self.start, self.loops, split)


def _linear(start: Number, steps: Sequence[Number], places: Sequence[Number]) -> Number:
    return sum((step * place for step, place in zip(steps, places, strict=True)), start=start)


class Reader:
    """Reads a record of a program: sizes and places are those of one width."""

    def __init__(self, code: Ref, at: Number, width: Number) -> None:
        self.code, self.at, self.width = code, at, width

    def take(self) -> Number:
        number = self.code[self.at]
        self.at = self.at + 1
        return number

    def sizes(self, axes: int) -> list[Number]:
        return [self.take() + self.take() * self.width for _ in range(axes)]

    def place(self, lanes: int, loops: int) -> Place:
        (start,) = self.sizes(1)
        return Place(start, [self.take() for _ in range(lanes)], [self.take() for _ in range(loops)])


def loop(start: Number, stop: Number, body: Callable[[Number, Any], Any], state: Any = None) -> Any:
    """As `lax.fori_loop`, over numbers of 32 bits whatever JAX's default."""
    return lax.fori_loop(jnp.int32(start), jnp.int32(stop), body, state)


def each(first: Number, size: int, count: Number, body: Callable[[Number, Any], Any], state: Any = None) -> Any:
    """The state after `body(place, state)` for each of so many records of a size, that lie one after the other."""
    return loop(0, count, lambda number, state: body(first + number * size, state), state)


def over_cells(
    lanes: Lanes, sizes: Sequence[Number], there: Number, body: Callable[[list[Number], jax.Array], None]
) -> None:
    """Calls `body(cell, mask)` for all places on axes of these sizes, as many at a time as there are columns.

    Not at all unless they are `there`: 1, not 0.
    """
    count = there * prod(sizes)

    def some(turn: jax.Array, _: None) -> None:
        number = turn * lanes.columns + lax.broadcasted_iota(jnp.int32, (1, lanes.columns), 1)
        body(_coordinates(number, sizes), number < count)

    loop(0, _over(count, lanes.columns), some, None)


def _coordinates(number: Number, sizes: Sequence[Number]) -> list[Number]:
    """Where on axes of these sizes the cells of these numbers are: the last changes first."""
    places = []
    for size in reversed(sizes[1:]):
        above = lax.div(number, jnp.broadcast_to(size, number.shape))
        places.append(number - above * size)
        number = above
    return [number, *reversed(places)]


def over_splits(
    lanes: Lanes, sizes: Sequence[Number], at_once: int, body: Callable[[list[Any], Any], Any], state: Any
) -> Any:
    """The state after `body(splits, state)` for all places on axes of these sizes, some of the last axis at once.

    Rows share the last axis. A split is a place on each axis, and which lanes have it.
    """
    if len(sizes) > 1:

        def along(number: jax.Array, state: Any) -> Any:
            def inner(splits: list[Any], state: Any) -> Any:
                return body([([number, *places], mask) for places, mask in splits], state)

            return over_splits(lanes, sizes[1:], at_once, inner, state)

        return loop(0, sizes[0], along, state)
    row = lax.broadcasted_iota(jnp.int32, (lanes.rows, 1), 0)

    def some(turn: jax.Array, state: Any) -> Any:
        numbers = [(turn * at_once + one) * lanes.rows + row for one in range(at_once)]
        return body([([number], number < sizes[0]) for number in numbers], state)

    return loop(0, _over(sizes[0], at_once * lanes.rows), some, state)


def _over(count: Number, size: int) -> Number:
    """How many parts of a size there are, the last of which may be smaller."""
    return lax.div(count + (size - 1), jnp.int32(size))

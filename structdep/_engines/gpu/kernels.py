"""The chart of a sentence filled by one block of threads, width after width, and gone through back for marginals.

A lane has one cell of an item at one width, or of what it is made from, and adds up all terms of it, by itself or with
other lanes. Steps follow each other as in `structdep._engines.xla`, but sizes are those of the width, so no work is
padded. What is written in one step, or phase, is read behind a barrier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental.pallas import triton

from structdep._engines.gpu.blocks import Lanes, Number, Place, Reader, Ref, each, loop, over_cells, over_splits
from structdep._engines.gpu.folds import Fold
from structdep._engines.gpu.program import STEP_SIZE, Kind, Program


@dataclass(frozen=True)
class Kernel:
    """A program at work on the packed charts of sentences, whose items have widths from `least` to `widest`.

    An item with one row of cells at each width is worked on by a `narrow` block of lanes, others by a `wide` one. Lanes
    read so many terms `at_once` before they add them up, as memory answers late.
    """

    program: Program
    least: int
    widest: int
    narrow: Lanes
    wide: Lanes
    at_once: int
    interpreted: bool

    def wait(self) -> None:
        """Until all lanes have written."""
        if not self.interpreted:
            triton.debug_barrier()

    def fill(self, fold: Fold, code: Ref, _: Ref, chart: Ref) -> None:
        """The packed chart, which holds score tables and axioms, in its place."""

        def at_width(width: jax.Array, _: None) -> None:
            each(0, STEP_SIZE, self.program.steps, partial(step, width))

        def step(width: jax.Array, at: Number, _: None) -> None:
            each(code[at], self.program.item_size, code[at + 1], partial(item, width))
            self.wait()

        def item(width: jax.Array, at: Number, _: None) -> None:
            there, is_narrow, sizes, targets, phase = self.item(Reader(code, at, width))
            for lanes, own in ((self.narrow, is_narrow), (self.wide, 1 - is_narrow)):
                over_cells(lanes, sizes, there * own, partial(cells, width, phase, targets, lanes))

        def cells(
            width: jax.Array, phase: Number, targets: list[Place], lanes: Lanes, cell: list[Number], mask: jax.Array
        ) -> None:
            def term(kind: Kind, at: Number, state: Any) -> Any:
                _lanes, loops, (_made, _target, *factors) = self.term(Reader(code, at, width), kind)
                own = [factor.of(cell) for factor in factors]

                def add(splits: list[Any], state: Any) -> Any:
                    read = [[load(chart, one.at(split), mask & there) for one in own] for split, there in splits]
                    return fold.add(state, [reduce(jnp.add, factors) for factors in read])

                return self.over(kind, lanes, loops, add, state)

            state = self.terms(code, phase, term, fold.start(lanes, chart.dtype))
            for target in targets:
                store(chart, target.of(cell).start, fold.value(state), mask)

        loop(self.least, self.widest + 1, at_width)

    def go_back(self, code: Ref, chart: Ref, _: Ref, derivatives: Ref) -> None:
        """The derivatives of the packed chart in their place, where seeds are.

        Before an item gives shares, the logarithm of its derivative, less its value, takes the place of the derivative:
        with what a term is besides, that is the logarithm of its weight.
        """

        def at_width(turn: jax.Array, _: None) -> None:
            each(0, STEP_SIZE, self.program.steps, partial(step, jnp.int32(self.widest) - turn))

        def step(width: jax.Array, at: Number, _: None) -> None:
            each(code[at], self.program.item_size, code[at + 1], partial(item, width))
            each(code[at + 2], self.program.phase_size, code[at + 3], partial(phase, width))
            self.wait()

        def item(width: jax.Array, at: Number, _: None) -> None:
            there, _narrow, sizes, targets, _phase = self.item(Reader(code, at, width))
            over_cells(self.wide, sizes, there, partial(ratio, targets))

        def ratio(targets: list[Place], cell: list[Number], mask: jax.Array) -> None:
            first, second = (target.of(cell).start for target in targets)
            value, derivative = load(chart, first, mask), load(derivatives, first, mask, 0)
            derivative += load(derivatives, second, mask & (first != second), 0)
            there = (derivative > 0) & (value > -jnp.inf)
            log = jnp.where(there, jnp.log2(jnp.where(there, derivative, 1)) - value, -jnp.inf)
            store(derivatives, first, log, mask)

        def phase(width: jax.Array, at: Number, _: None) -> None:
            self.wait()
            self.terms(code, at, partial(share, width), None)

        def share(width: jax.Array, kind: Kind, at: Number, _: None) -> None:
            lanes, loops, places = self.term(Reader(code, at, width), kind)
            over_cells(self.wide, lanes, 1, partial(add_up, kind, loops, places))

        def add_up(kind: Kind, loops: list[Number], places: list[Place], cell: list[Number], mask: jax.Array) -> None:
            made, target, *factors = (place.of(cell) for place in places)
            before = load(derivatives, made.start, mask, 0)

            def add(splits: list[Any], sums: jax.Array) -> jax.Array:
                read = [
                    [load(ref, place.at(split), mask & there) for ref, place in (*terms, (derivatives, target))]
                    for split, there in splits
                ]
                return reduce(jnp.add, [jnp.exp2(reduce(jnp.add, logs)) for logs in read], sums)

            terms = [(chart, factor) for factor in factors]
            sums = self.over(kind, self.wide, loops, add, jnp.zeros(self.wide, chart.dtype))
            store(derivatives, made.start, before + sums, mask & (sums > 0))

        loop(0, self.widest + 1 - self.least, at_width)

    def item(self, read: Reader) -> tuple[Number, Number, list[Number], list[Place], Number]:
        """Whether it has values at this width, whether it is narrow, its sizes, its two places and its terms'."""
        there = lax.clamp(jnp.int32(0), read.width - read.take() + 1, jnp.int32(1))
        is_narrow = read.take()
        sizes = read.sizes(self.program.lanes)
        targets = [read.place(self.program.lanes, self.program.loops) for _ in range(2)]
        return there, is_narrow, sizes, targets, read.take()

    def term(self, read: Reader, kind: Kind) -> tuple[list[Number], list[Number], list[Place]]:
        """The sizes of the axes that lanes share, and of those they loop over; what is made, target and factors."""
        lanes, loops = read.sizes(self.program.lanes), read.sizes(self.program.loops)
        return lanes, loops, [read.place(self.program.lanes, self.program.loops) for _ in range(2 + kind.factors)]

    def terms(self, code: Ref, phase: Number, body: Callable[[Kind, Number, Any], Any], state: Any) -> Any:
        """The state after `body(kind, place, state)` for all terms of a phase."""
        for number, kind in enumerate(self.program.kinds):
            first, count = code[phase + 2 * number], code[phase + 2 * number + 1]
            state = each(first, self.program.term_size(kind), count, partial(body, kind), state)
        return state

    def over(self, kind: Kind, lanes: Lanes, loops: list[Number], add: Callable[..., Any], state: Any) -> Any:
        """The state after all splits, or the one where a term has no loops."""
        if kind.loops:
            return over_splits(lanes, loops, self.at_once, add, state)
        first = lax.broadcasted_iota(jnp.int32, (lanes.rows, 1), 0) == 0
        return add([([0] * len(loops), first)], state)


def load(ref: Ref, place: Number, mask: jax.Array, other: float = -jnp.inf) -> jax.Array:
    place, mask = jnp.broadcast_arrays(place, mask)
    return triton.load(ref.at[place], mask=mask, other=other)


def store(ref: Ref, place: Number, value: jax.Array, mask: jax.Array) -> None:
    """Lanes that are masked out get no place: interpreted, they would put back what was in theirs."""
    triton.store(ref.at[jnp.where(mask, place, ref.shape[0])], value, mask=mask)

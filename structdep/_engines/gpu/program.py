"""Rules as data: what the kernels read, so that one of each fills the charts of any system.

A program is a vector of whole numbers. It has the steps of a width one after the other; a step has items, which have
terms: products that are summed, or, to go back, products whose terms give shares to one of their factors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structdep._engines.gpu.packing import Address


class Kind(NamedTuple):
    """Of a term: how many factors it has, and whether lanes loop. Terms of one kind have records of one length."""

    factors: int
    loops: bool


Size = tuple[int, int]
"""Of an axis: this much, and so much more with each width."""

STEP_SIZE = 4


@dataclass(frozen=True)
class Term:
    """A product over a grid, whose axes are shared by lanes, or each loops over them: it adds to `made`.

    That is the `target` of which the product is a term, or one of its factors, which gets a share of its derivative.
    """

    made: Address
    target: Address
    factors: tuple[Address, ...]
    lanes: tuple[int, ...]
    loops: tuple[int, ...]
    sizes: Mapping[int, Size]

    @property
    def kind(self) -> Kind:
        return Kind(len(self.factors), bool(self.loops))


@dataclass(frozen=True)
class Item:
    """An item at one width: from which width on it has values, where it is stored, and its products."""

    least: int
    targets: tuple[Address, ...]
    lanes: tuple[int, ...]
    sizes: Mapping[int, Size]
    terms: tuple[Term, ...] = ()


@dataclass(frozen=True)
class Step:
    """Items that do not wait for each other, and phases of terms: those of one do not, either."""

    items: tuple[Item, ...]
    phases: tuple[tuple[Term, ...], ...] = ()


class Program:
    """The numbers, and what a kernel has to know beforehand: how many axes there are, at most, and which kinds."""

    def __init__(self, steps: Sequence[Step]) -> None:
        items = [item for step in steps for item in step.items]
        phases = [item.terms for item in items] + [phase for step in steps for phase in step.phases]
        terms = [term for phase in phases for term in phase]
        self.steps = len(steps)
        self.kinds = sorted({term.kind for term in terms})
        self.lanes = max(len(axes) for axes in [term.lanes for term in terms] + [item.lanes for item in items])
        self.loops = max((len(term.loops) for term in terms), default=0)
        self.code = self._encode(steps, items, phases)

    def _encode(
        self, steps: Sequence[Step], items: Sequence[Item], phases: Sequence[Sequence[Term]]
    ) -> NDArray[np.int32]:
        """Steps, items, phases and terms: each refers to its part of the next."""
        items_at = STEP_SIZE * len(steps)
        phases_at = items_at + self.item_size * len(items)
        terms_at = phases_at + self.phase_size * len(phases)
        code, records = list[int](), list[int]()
        later = phases_at + self.phase_size * len(items)
        for step in steps:
            code += [items_at, len(step.items), later, len(step.phases)]
            items_at += self.item_size * len(step.items)
            later += self.phase_size * len(step.phases)
        for number, item in enumerate(items):
            code += self._item(item, phases_at + self.phase_size * number)
        for phase in phases:
            for kind in self.kinds:
                own = [term for term in phase if term.kind == kind]
                code += [terms_at + len(records), len(own)]
                records += [number for term in own for number in self._term(term)]
        return np.array([*code, *records], np.int32)

    @property
    def item_size(self) -> int:
        return 3 + 2 * self.lanes + 2 * self.form_size

    @property
    def phase_size(self) -> int:
        return 2 * len(self.kinds)

    @property
    def form_size(self) -> int:
        return 2 + self.lanes + self.loops

    def term_size(self, kind: Kind) -> int:
        return 2 * (self.lanes + self.loops) + self.form_size * (2 + kind.factors)

    def _item(self, item: Item, phase_at: int) -> list[int]:
        numbers = [item.least, len(item.lanes) == 1, *_sizes(item.lanes, self.lanes, item.sizes)]
        addresses = [self._address(address, item.lanes, ()) for address in (item.targets * 2)[:2]]
        return [*numbers, *chain(*addresses), phase_at]

    def _term(self, term: Term) -> list[int]:
        sizes = [*_sizes(term.lanes, self.lanes, term.sizes), *_sizes(term.loops, self.loops, term.sizes)]
        addresses = [
            self._address(address, term.lanes, term.loops) for address in (term.made, term.target, *term.factors)
        ]
        return [*sizes, *chain(*addresses)]

    def _address(self, address: Address, lanes: Sequence[int], loops: Sequence[int]) -> list[int]:
        return [address.start, address.slope, *_steps(lanes, self.lanes, address), *_steps(loops, self.loops, address)]


def _sizes(axes: Sequence[int], places: int, sizes: Mapping[int, Size]) -> list[int]:
    """Those of some axes in so many places, the first of which are of size 1 if there are more."""
    return [*chain(*[(1, 0)] * (places - len(axes)), *(sizes[axis] for axis in axes))]


def _steps(axes: Sequence[int], places: int, address: Address) -> list[int]:
    return [0] * (places - len(axes)) + [address.steps.get(axis, 0) for axis in axes]

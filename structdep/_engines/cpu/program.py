"""A plan of a chart as numbers, for the program in `chart.cc` that fills it.

Nodes are in slots: the root, the last node, the start, end and third position of a conclusion, and what is summed. The
numbers are read in the order in which they are written here; lists come behind their lengths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, starmap

import numpy as np

from structdep._engines.cpu.ranges import (
    INNER,
    LAST,
    ROOT,
    Distances,
    ItemDistances,
    Nest,
    Placed,
    between,
    choices_of_sides,
    ends_of,
    find_known,
    nest,
    sides,
    third_of,
)
from structdep._engines.cpu.weighted import without_weighted
from structdep._lowering.groups import is_nothing
from structdep._lowering.plan import Plan, plan
from structdep._lowering.unfolding import Fold, Term, at_variables, summed_variables
from structdep._once import once
from structdep.deduction import Atom, DeductionSystem, Item, Position, Score

VERSION = 3
"""Of what the numbers mean: that of `program_reader.h`."""

MOST_POSITIONS, MOST_FACTORS, MOST_SUMMED = 3, 8, 7
"""Of items and scores, of products, and of the variables that a product sums: `validation.h` refuses others."""

MOST_WIDTH = 2**30
"""Of spans: greater than any."""

Numbers = list[int]


@dataclass(frozen=True)
class Encoder:
    """What the numbers of items, scores and tables are, for `names` of scores in order."""

    plan: Plan
    names: tuple[str, ...]

    @cached_property
    def _folds_and_sides(self) -> tuple[tuple[Fold, ...], dict[Item | Score, str]]:
        return without_weighted(self.plan)

    @property
    def folds(self) -> tuple[Fold, ...]:
        return self._folds_and_sides[0]

    @property
    def stored(self) -> dict[Item | Score, str]:
        """At which sides of its span each item is read, "=" if only at its own."""
        return self._folds_and_sides[1]

    @cached_property
    def known(self) -> ItemDistances:
        return find_known(self.folds, self.plan.system.axioms)

    @cached_property
    def items(self) -> dict[Item | Score, int]:
        """The items in the order in which those of one span are computed: axioms that no rule concludes first."""
        derived = [fold.conclusion.symbol for fold in self.folds]
        axioms = [axiom.symbol for axiom in self.plan.system.axioms if axiom.symbol not in derived]
        return {symbol: number for number, symbol in enumerate(dict.fromkeys([*axioms, *derived]))}

    @cached_property
    def atoms(self) -> dict[Item | Score, Atom]:
        """Each item at its positions, named c0, c1, .."""
        some = [*self.plan.system.axioms, *(fold.conclusion for fold in self.folds)]
        return {atom.symbol: at_variables(atom) for atom in some}

    @cached_property
    def tables(self) -> dict[str, int]:
        """The tables that products read: sums of those of the scores that their names tell."""
        terms = [term for fold in (*self.folds, *self.plan.items, self.plan.goal) for term in fold.terms]
        read = {atom.symbol.name for term in terms for atom in term if not atom.is_item}
        return {name: number for number, name in enumerate(sorted(read | set(self.names)))}

    @cached_property
    def disordered(self) -> set[str]:
        """Those whose positions do not always stand in order."""
        products = [variant for fold in (*self.folds, *self.plan.items) for variant in self.variants(fold)]
        return {
            atom.symbol.name
            for _, term, _, _, found in (*products, *self.goal())
            for atom in term
            if not atom.is_item and not all(starmap(found.are_in_order, pairwise(atom.positions)))
        }

    def program(self) -> Numbers:
        """All numbers, behind their version, length and check sum."""
        numbers = self.numbers()
        return [VERSION, 3 + len(numbers), check_sum(numbers), *numbers]

    def numbers(self) -> Numbers:
        declared = self.plan.system.tables
        tables = [
            [
                declared[name.split()[0]][1],
                int(name not in self.disordered),
                *listed([self.names.index(part)] for part in name.split()),
            ]
            for name in self.tables
        ]
        scores = [(name, *declared[name]) for name in self.names]
        return [
            self.plan.system.last,
            int(self.plan.system.derives_each_tree_once),
            *listed([arity, int(score.sentinel), int(name == "arc")] for name, score, arity in scores),
            *listed(tables),
            *listed(self.item(symbol) for symbol in self.items),
            *listed(self.product(self.plan.goal.conclusion, *variant) for variant in self.goal()),
        ]

    def item(self, symbol: Item | Score) -> Numbers:
        """Its shape, where it exists, its axioms, what makes it, and what does so as the rules say, for tracebacks."""
        atom = self.atoms[symbol]
        folds = {fold.conclusion.symbol: fold for fold in self.folds}
        rules = {fold.conclusion.symbol: fold for fold in self.plan.items}
        made, ruled = folds.get(symbol), rules.get(symbol)
        cells = [(side, self.cells(atom, side)) for side in sides(atom) if (symbol, side) in self.known]
        axioms = [axiom for axiom in self.plan.system.axioms if axiom.symbol == symbol]
        narrowest, steps = self.steps(ruled)
        return [
            len(atom.positions),
            int(atom.is_exterior),
            narrowest,
            max(map(self.width, axioms), default=-1),
            *listed([side, *self.nest(own, atom)] for side, own in cells),
            *listed([side, *self.nest(own, atom)] for axiom in axioms for side, own in self.axiom(axiom)),
            int(made is not None and self.is_assigned(made)),
            *listed(self.products(made)),
            *listed(steps),
        ]

    def products(self, fold: Fold | None) -> Iterator[Numbers]:
        if fold:
            yield from (self.product(fold.conclusion, *variant) for variant in self.variants(fold))

    def steps(self, fold: Fold | None) -> tuple[int, list[Numbers]]:
        """The least width of what it concludes, and its products, for conclusions that are there and so wide."""
        if not fold:
            return MOST_WIDTH, []
        variants = list(self.variants(fold))
        start, end = fold.conclusion.span
        apart = (int(found.path(start.name, end.name)) for *_, found in variants)
        least = min(apart, default=MOST_WIDTH) + end.shift - start.shift
        return least, [
            self.product(fold.conclusion, *variant, self.held(fold.conclusion, variant[2], least))
            for variant in variants
        ]

    def held(self, conclusion: Atom, side: int, least: int) -> Distances:
        """What is known of a conclusion on its side that is at least so wide."""
        result = Distances()
        for (a, b), apart in self.known[conclusion.symbol, side].items():
            result.demand(conclusion.positions[a], conclusion.positions[b], apart)
        result.demand(*conclusion.span, least)
        return result

    @staticmethod
    def width(axiom: Atom) -> int:
        """That of its span, the most if it varies."""
        start, end = axiom.span
        return end.shift - start.shift if start.name == end.name else MOST_WIDTH

    def cells(self, atom: Atom, side: int) -> Nest:
        """Where the item exists."""
        found = between((atom, side), (), [(atom, side)], self.known)
        found.close()
        return nest(found, ends_of(atom), third_of(atom))

    def axiom(self, axiom: Atom) -> Iterator[tuple[int, Nest]]:
        """Where the axiom holds."""
        atom = self.atoms[axiom.symbol]
        for side in sides(axiom):
            found = between((axiom, side), (), (), {})
            for own, given in zip(atom.positions, axiom.positions, strict=True):
                found.demand(own, given, 0)
                found.demand(given, own, 0)
            if found.close():
                yield side, nest(found, ends_of(atom), third_of(atom))

    @staticmethod
    def is_assigned(fold: Fold) -> bool:
        """Whether it is one product without a sum."""
        (first, *others) = fold.terms
        return not others and not summed_variables(fold.conclusion, first)

    def variants(self, fold: Fold) -> Iterator[tuple[int, Term, int, list[Placed], Distances]]:
        """Its products, by number, in each combination of sides in which they can be derived."""
        for number, term in enumerate(fold.terms):
            if any(map(is_nothing, term)):
                continue
            for side in sides(fold.conclusion):
                for chosen in choices_of_sides(term, self.known):
                    found = between((fold.conclusion, side), term, chosen, self.known)
                    if found.close():
                        yield number, term, side, chosen, found

    def goal(self) -> Iterator[tuple[int, Term, int, list[Placed], Distances]]:
        """The products of the goal, with its positions counted from the first and the last node."""
        for number, term in enumerate(self.plan.goal.terms):
            placed = tuple(Atom(a.symbol, tuple(self.from_last(p) for p in a.positions)) for a in term)
            for chosen in choices_of_sides(placed, self.known):
                found = between(None, placed, chosen, self.known)
                if found.close():
                    yield number, placed, 0, chosen, found

    def from_last(self, position: Position) -> Position:
        return Position(LAST, position.shift - self.plan.system.last) if position.name == "n" else position

    def product(
        self,
        conclusion: Atom,
        number: int,
        term: Term,
        side: int,
        chosen: Sequence[Placed],
        found: Distances,
        held: Distances | None = None,
    ) -> Numbers:
        """A product of a conclusion on its side, of which so much may be held: its loops, and where its factors are."""
        summed = [name for name in summed_variables(conclusion, term) if name not in (ROOT, LAST)]
        third = third_of(conclusion)
        is_even, names, given = False, summed, [*ends_of(conclusion), *third]
        if conclusion.positions and held is None:
            is_even, names, given = *_order(term, third, summed), ends_of(conclusion)
        slots = _slots(conclusion, summed)
        at = dict(chosen)
        return [
            number,
            side,
            int(is_even),
            *_nest(nest(found, given, names, held), slots),
            *listed(self.factor(atom, at.get(atom, INNER), slots) for atom in term),
        ]

    def factor(self, atom: Atom, side: int, slots: dict[str, int]) -> Numbers:
        """Whether it is an item, its number, its side, and the nodes at which it is: start and end of an item first."""
        positions = atom.positions
        if atom.is_item:
            ends = atom.ends
            positions = (*atom.span, *(p for m, p in enumerate(positions) if m not in ends))
        number = self.items[atom.symbol] if atom.is_item else self.tables[atom.symbol.name]
        return [int(atom.is_item), number, side, *listed([slots[p.name], p.shift] for p in positions)]

    def nest(self, own: Nest, atom: Atom) -> Numbers:
        return _nest(own, _slots(atom, []))


def listed(numbers: Iterable[Sequence[int]]) -> Numbers:
    """Their number, and all of them."""
    rows = list(numbers)
    return [len(rows), *(number for row in rows for number in row)]


def check_sum(numbers: Numbers) -> int:
    """The sum of all numbers times 1, 3, 5, .., modulo 2^32, as an int32."""
    array = np.array(numbers, np.int32).view(np.uint32)
    weights = np.arange(1, 2 * len(array), 2, dtype=np.uint32)
    return int((array * weights).sum(dtype=np.uint32).view(np.int32))


def _nest(own: Nest, slots: dict[str, int]) -> Numbers:
    loops = (
        [
            slots[loop.name],
            *listed([slots[name], add] for name, add in loop.least),
            *listed([slots[name], add] for name, add in loop.most),
        ]
        for loop in own.loops
    )
    return [*listed([slots[a], slots[b], least] for a, b, least in own.conditions), *listed(loops)]


def _slots(conclusion: Atom, summed: Iterable[str]) -> dict[str, int]:
    names = [ROOT, LAST, *ends_of(conclusion), *third_of(conclusion)]
    slots = {name: slot for slot, name in enumerate(names)}
    return slots | {name: 5 + number for number, name in enumerate(summed)}


def _order(term: Term, third: list[str], summed: list[str]) -> tuple[bool, list[str]]:
    """Whether factors lie at equal distances in the innermost loop, and all variables in the order of the loops.

    They do in a sum, or along a row of conclusions, over what ends no item of three positions.
    """
    ends = {p.name for atom in term if len(atom.positions) > 2 and atom.is_item for p in atom.span}
    for names in (summed, third):
        if free := [name for name in names if name not in ends]:
            return True, [*(name for name in (*third, *summed) if name != free[-1]), free[-1]]
    return False, [*third, *summed]


@once(maxsize=64)
def is_possible(system: DeductionSystem, present: frozenset[str]) -> bool:
    """Whether `chart.cc` has room for all positions of items and scores, factors of products, and summed variables."""
    arities = [system.tables[name][1] for name in present]
    made = plan(system, present)
    folds = [*made.items, made.goal, *without_weighted(made)[0]]
    positions = [len(atom.positions) for atom in (*(fold.conclusion for fold in folds), *system.axioms)]
    products = [(fold.conclusion, term) for fold in folds for term in fold.terms]
    return (
        max(arities + positions) <= MOST_POSITIONS
        and 1 <= min(arities)
        and max(len(term) for _, term in products) <= MOST_FACTORS
        and max(len(summed_variables(*product)) for product in products) <= MOST_SUMMED
    )


@once(maxsize=64)
def program(system: DeductionSystem, names: tuple[str, ...]) -> np.ndarray:
    """The numbers for a system whose scores of these names are given, in this order."""
    return np.array(Encoder(plan(system, frozenset(names)), names).program(), np.int32)

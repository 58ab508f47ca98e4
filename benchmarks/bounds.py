"""The operations and bytes that filling a chart takes at least, counted from the rules, and the seconds that follow.

The products are those of the rules after rewriting, where sums are shared. A product is counted at all nodes of its
loops in the CPU engine: where its premises can be derived and, in narrow spans of some systems, at a few more nodes. A
factor that stays the same over a sum is counted once for the sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from structdep import DeductionSystem
from structdep._engines.cpu.program import Encoder
from structdep._engines.cpu.ranges import LAST, ROOT, Bound, Distances, between, nest
from structdep._engines.xla.filling import make_steps
from structdep._lowering.plan import plan
from structdep._lowering.unfolding import Fold, summed_variables
from structdep.deduction import Item, Score

MAXIMA, REALS, EXPONENTIALS, LOGARITHMS = (
    "additions and maxima",
    "multiplications and additions",
    "exponentials",
    "logs",
)
"""The names of peak rates of arithmetic, in operations a second."""


@dataclass(frozen=True)
class Work:
    """What the chart of one sentence takes at least.

    Args:
        multiplications: products of two values.
        additions: sums of two values.
        terms: products of rules, each at its nodes.
        exponentials: those that are added to others, in log space.
        logarithms: items that are sums, in log space.
        scores: bytes of the scores, which are read once.
        chart: bytes of the items that wider spans read; each is written once and read once.
    """

    multiplications: int
    additions: int
    terms: int
    exponentials: int
    logarithms: int
    scores: int
    chart: int

    @property
    def bytes(self) -> int:
        return self.scores + 2 * self.chart

    def arithmetic(self, rates: Mapping[str, float], semiring: str) -> float:
        """Seconds of the operations, at peak rates, where values are "scores", "logs" or "reals"."""
        if semiring == "logs":
            powers = self.exponentials / rates[EXPONENTIALS] + self.logarithms / rates[LOGARITHMS]
            return self.multiplications / rates[MAXIMA] + powers
        return (self.multiplications + self.additions) / rates[MAXIMA if semiring == "scores" else REALS]

    def memory(self, bandwidths: Mapping[int, float]) -> float:
        """Seconds of the bytes, by the bandwidths of arrays of some sizes: that of the least that holds the chart."""
        sizes = [size for size in sorted(bandwidths) if size >= self.chart]
        return self.bytes / bandwidths[sizes[0] if sizes else max(bandwidths)]


@dataclass(frozen=True)
class Counter:
    """Counts the work of a system, all of whose scores are given, for sentences of some length."""

    system: DeductionSystem
    words: int

    @property
    def nodes(self) -> int:
        return self.words + 1 + self.system.last

    @cached_property
    def encoder(self) -> Encoder:
        names = tuple(sorted(self.system.declared))
        return Encoder(plan(self.system, frozenset(names)), names)

    @cached_property
    def _counts(self) -> dict[frozenset[tuple[tuple[str, str], int]], int]:
        return {}

    def work(self) -> Work:
        folds = [self._of_fold(fold) for fold in self.encoder.folds]
        multiplications, additions, terms, exponentials, logarithms = map(sum, zip(*folds, strict=True))
        scores = sum(self.nodes**arity for _, arity in self.system.declared.values())
        chart = sum(map(self._stored, self.encoder.items))
        return Work(multiplications, additions, terms, exponentials, logarithms, 4 * scores, 4 * chart)

    def _of_fold(self, fold: Fold) -> tuple[int, int, int, int, int]:
        """The multiplications, additions, terms, exponentials and logarithms of an item."""
        multiplications = terms = 0
        concluded: dict[int, int] = {}
        for number, term, _, _, found in self.encoder.variants(fold):
            summed = summed_variables(fold.conclusion, term)
            varying = sum(not atom.variables.isdisjoint(summed) for atom in term)
            fixed = len(term) - varying
            of_terms = self.count(found)
            of_conclusions = self.count(_restricted(found, fold.conclusion.variables))
            multiplications += of_terms * max(varying - 1, 0) + of_conclusions * (fixed if varying else fixed - 1)
            terms += of_terms
            concluded[number] = concluded.get(number, 0) + of_conclusions
        if self.encoder.is_assigned(fold):
            return multiplications, 0, terms, 0, 0
        cells = max(concluded.values(), default=0)
        return multiplications, terms - cells, terms, terms, cells

    def _stored(self, symbol: Item | Score) -> int:
        """The cells of an item that are read by wider spans."""
        encoder = self.encoder
        atom = encoder.atoms[symbol]
        if encoder.stored.get(atom.symbol) == "=":
            return 0
        total = 0
        for side in (side for own, side in encoder.known if own == symbol):
            found = between((atom, side), (), [(atom, side)], encoder.known)
            total += self.count(found) if found.close() else 0
        return total

    def count(self, found: Distances) -> int:
        """The number of ways to choose nodes for all variables, at these least distances."""
        key = frozenset(found.items())
        if key not in self._counts:
            self._counts[key] = _count(found, self.nodes)
        return self._counts[key]


def _restricted(found: Distances, names: frozenset[str]) -> Distances:
    kept = {*names, ROOT, LAST}
    return Distances({pair: least for pair, least in found.items() if kept.issuperset(pair)})


def _count(found: Distances, nodes: int) -> int:
    """By a nest of loops, all but the innermost of which are unrolled into arrays of nodes."""
    names = sorted({name for pair in found for name in pair} - {ROOT, LAST})
    loops = nest(found, [], names)
    at = {ROOT: np.zeros(1, int), LAST: np.full(1, nodes - 1)}
    if any(nodes - 1 < least for start, end, least in loops.conditions if (start, end) == (ROOT, LAST)):
        return 0
    for loop in loops.loops:
        first = np.max(_nodes(loop.least, at), axis=0)
        sizes = np.maximum(np.min(_nodes(loop.most, at), axis=0) - first + 1, 0)
        if loop is loops.loops[-1]:
            return int(sizes.sum())
        rows = np.repeat(np.arange(len(sizes)), sizes)
        at = {name: array[rows] for name, array in at.items()}
        at[loop.name] = first[rows] + np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return 1


def _nodes(bounds: Sequence[Bound], at: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    return [at[name] + shift for name, shift in bounds]


def work(system: DeductionSystem, words: int) -> Work:
    """What the chart of one sentence takes at least, where the scores of all declared names are given."""
    return Counter(system, words).work()


def computed(system: DeductionSystem, words: int) -> int:
    """The products that XLA's program computes, at all positions of its boxes."""
    made = plan(system, frozenset(system.declared))
    nodes = words + 1 + system.last
    layout = made.layout(nodes - 1)
    total = 0
    for block in made.blocks(nodes - 1):
        for step in make_steps(made, layout, block):
            for views, summed in step.products:
                sizes = {d.axis - summed: d.size for view in views for d in view.dims if d.axis is not None}
                cells = prod(step.shape) * prod(size for axis, size in sizes.items() if axis < 0)
                total += (block.hi - block.lo + 1) * cells
    return total

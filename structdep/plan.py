"""The plan of a chart: its items as sums of products, in the order in which they can be computed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

from structdep import rewriting, scheduling
from structdep.deduction import Atom, DeductionSystem, Item, Score
from structdep.layout import Grid, Layout
from structdep.rewriting import Fold

MAX_BLOCKS, MAX_STEPS = 4, 200
"""Blocks of widths, and folds in all of them: more would make little faster, and take longer to compile."""


@dataclass(frozen=True)
class Block:
    """Widths `lo`..`hi`, computed by one loop, and the items that can have them."""

    lo: int
    hi: int
    folds: tuple[Fold, ...]


@dataclass(frozen=True)
class Plan:
    """What the engine runs: `folds` in order, then `goal`.

    `items` are the stored items before rewriting, for the traceback; `least` is the least width of each fold's values.
    """

    system: DeductionSystem
    present: frozenset[str]
    items: tuple[Fold, ...]
    folds: tuple[Fold, ...]
    goal: Fold
    least: dict[Item | Score, int]

    def charts(self) -> dict[tuple[str, str], Atom]:
        """The charts to keep: each item at the sides where a premise, the goal or a traceback wants it."""
        kept = {("L", fold.conclusion.symbol.name): fold.conclusion for fold in (*self.items, *self.system_axioms())}
        atoms = {atom.symbol: atom for atom in [*kept.values(), *(fold.conclusion for fold in self.folds)]}
        for fold in self.folds:
            grid = Grid(Layout(0, 0), fold.conclusion, (), 0, 0)
            for atom in (atom for term in fold.terms for atom in term if atom.is_item):
                kept[grid.side(atom), atom.symbol.name] = atoms[atom.symbol]
        return kept

    def system_axioms(self) -> list[Fold]:
        return [Fold(axiom, ()) for axiom in self.system.axioms]

    def layout(self, widest: int) -> Layout:
        return Layout(widest, max((block.hi - block.lo for block in self.blocks(widest)), default=0))

    def blocks(self, widest: int) -> list[Block]:
        """The widths 0..widest in few blocks, so that little is computed beyond a block's own widths.

        Compile time grows with the number of blocks, which does not depend on the sentence's length.
        """
        given = {scheduling.width_of_axiom(axiom) + 1 for axiom in self.system.axioms}
        starts = sorted(w for w in given | {min(self.least.values())} if w <= widest)
        early, last = starts[:-1], starts[-1] if starts else widest + 1
        bounds = [(lo, hi - 1) for lo, hi in zip(early, starts[1:], strict=True)]
        most = min(MAX_BLOCKS, max(1, MAX_STEPS // len(self.folds)))
        bounds += split(last, widest, max(len(fold.variables) for fold in self.folds) - 2, most)
        return [Block(lo, hi, self._made_until(hi)) for lo, hi in bounds]

    def _made_until(self, width: int) -> tuple[Fold, ...]:
        """The folds with values up to this width. At lesser widths their sums are empty, and write zeros."""
        return tuple(fold for fold in self.folds if self.least[fold.conclusion.symbol] <= width)


@lru_cache(maxsize=64)
def split(lo: int, hi: int, axes: int, most: int) -> tuple[tuple[int, int], ...]:
    """At most `most` blocks of the widths lo..hi, such that padded work is least, of sizes that divide into windows."""
    ends = [end for end in range(lo, hi + 1) if end == hi or any((end + 1) % length == 0 for length in (5, 6, 7, 8))]
    best: dict[int, tuple[float, tuple[tuple[int, int], ...]]] = {lo: (0.0, ())}
    for _ in range(most):
        found = dict(best)
        for start, (cost, blocks) in best.items():
            for end in (end for end in ends if end >= start):
                total = cost + (end - start + 1) * (hi + 1 - start) * (end + 1) ** axes
                if end + 1 not in found or total < found[end + 1][0]:
                    found[end + 1] = (total, (*blocks, (start, end)))
        best = found
    return best[hi + 1][1] if hi + 1 in best else ()


@lru_cache(maxsize=256)
def plan(system: DeductionSystem, present: frozenset[str] | Collection[str]) -> Plan:
    """The plan of a system when the scores `present` are given."""
    items = rewriting.unfold(system, present)
    goals = [fold for fold in items if not fold.conclusion.span[0].is_variable]
    stored = tuple(fold for fold in items if fold not in goals)
    folds = rewriting.share(rewriting.absorb(stored))
    steps = [step for fold in folds for step in fold.steps]
    at = {fold.conclusion.symbol: fold for fold in folds}
    ordered = tuple(at[symbol] for symbol in scheduling.order(system.axioms, steps) if symbol in at)
    widths = scheduling.least_widths(system.axioms, steps)
    least = {symbol: min(scheduling.least_width(*step, widths) for step in fold.steps) for symbol, fold in at.items()}
    goal = goals[0].terms if goals else ((system.goal,),)
    return Plan(system, frozenset(present), stored, ordered, Fold(Atom(Item("goal"), ()), goal), least)

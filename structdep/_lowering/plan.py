"""The plan of a chart: its items as sums of products, in the order in which they can be computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from structdep._lowering import guards
from structdep._lowering.boxes import are_boxed
from structdep._lowering.groups import Group, Stores, find_groups, find_stores, is_nothing, state_class
from structdep._lowering.layout import Layout, exposed, sides
from structdep._lowering.rewriting import absorb, share
from structdep._lowering.unfolding import Fold, join, unfold
from structdep._once import once
from structdep.deduction import NODE, Atom, DeductionSystem, Item, Score, widths

MAX_BLOCKS, MAX_STEPS, PRICE = 8, 200, 1000
"""Blocks of widths (in quartic time half as many), groups of folds in all of them, and the work that a block has to
save, in cells of a product: more would make little faster, and take longer to compile."""


@dataclass(frozen=True)
class Block:
    """Widths `lo`..`hi`, computed by one loop, and the groups of items that can have them."""

    lo: int
    hi: int
    groups: tuple[Group, ...]


@dataclass(frozen=True)
class Plan:
    """What the engine runs: `groups` in order, then `goal`.

    `items` are the stored items before rewriting, for the traceback; `least` says from which width on each item has
    values, `stored` at which sides of its span it is stored ("=" if only items of its own span read it), `stores` and
    `rows` in which array, and in which row.
    """

    system: DeductionSystem
    present: frozenset[str]
    items: tuple[Fold, ...]
    groups: tuple[Group, ...]
    goal: Fold
    stored: dict[Item | Score, str]
    stores: dict[Item | Score, str]
    rows: dict[Item | Score, int]
    least: dict[Item | Score, int]

    @cached_property
    def charts(self) -> dict[tuple[str, str], Atom]:
        """The charts to keep, with one of their items."""
        atoms = [group.conclusion for group in self.groups] + [*self.system.axioms]
        return {(side, self.stores[atom.symbol]): atom for atom in atoms for side in self.stored[atom.symbol]}

    @cached_property
    def across(self) -> frozenset[str]:
        """The stores of items that have a position outside of them which is not outside of what is made from them."""
        slots = [(group.conclusion, slot) for group in self.groups for term in group.terms for slot in term]
        return frozenset(
            self.places(slot)[0]
            for conclusion, slot in slots
            if slot[0].is_exterior and slot[0].positions[-1].name not in exposed(conclusion)
        )

    def shape(self, key: tuple[str, str], layout: Layout) -> tuple[int, ...]:
        """The shape of a chart, without rows, and without the batch if that is an axis of its own."""
        side, store = key
        return layout.shape(side, self.charts[key], store in self.across)

    @cached_property
    def is_guarded(self) -> bool:
        """Whether it reads the score `NODE`."""
        folds = [*self.items, self.goal]
        return any(atom.symbol.name == NODE.name for fold in folds for term in fold.terms for atom in term)

    @cached_property
    def arity(self) -> int:
        """The most positions that a stored item has."""
        return max(len(atom.positions) for atom in self.charts.values())

    @cached_property
    def sizes(self) -> Counter[str]:
        """How many rows each store has: the last is of nothing, where a product needs it."""
        slots = [slot for group in self.groups for term in group.terms for slot in term]
        padded = {self.places(slot)[0] for slot in slots if any(map(is_nothing, slot))}
        return self.nothing + Counter(padded)

    def places(self, slot: Sequence[Atom]) -> tuple[str, list[int]]:
        """The store of some items, and their rows."""
        store = next(self.stores[atom.symbol] for atom in slot if not is_nothing(atom))
        return store, [self.nothing[store] if is_nothing(atom) else self.rows[atom.symbol] for atom in slot]

    @cached_property
    def nothing(self) -> Counter[str]:
        """The row of nothing in each store."""
        return Counter(self.stores[symbol] for symbol in self.rows)

    def layout(self, widest: int) -> Layout:
        return Layout(widest, max((block.hi - block.lo for block in self.blocks(widest)), default=0))

    @cached_property
    def is_boxed(self) -> bool:
        """Whether the engine can read every premise as a box of a stored array."""
        folds = (fold for group in self.groups for fold in group.folds)
        return are_boxed(folds, self.system.axioms, min(self.starts))

    @cached_property
    def starts(self) -> set[int]:
        """Where blocks of widths begin: at the first that a rule concludes, and behind each axiom."""
        return {widths.width_of_axiom(axiom) + 1 for axiom in self.system.axioms} | {
            min(self.least.values(), default=0)
        }

    def blocks(self, widest: int) -> list[Block]:
        """The widths 0..widest in few blocks, so that little is computed beyond a block's own widths.

        Compile time grows with the number of blocks, which does not depend on the sentence's length.
        """
        if not self.groups:  # the goal is an axiom
            return []
        starts = sorted(w for w in self.starts if w <= widest)
        early, last = starts[:-1], starts[-1] if starts else widest + 1
        bounds = [(lo, hi - 1) for lo, hi in zip(early, starts[1:], strict=True)]
        axes = max(len(fold.variables) for group in self.groups for fold in group.folds) - 2
        most = min(MAX_BLOCKS if axes == 1 else MAX_BLOCKS // 2, max(1, MAX_STEPS // len(self.groups)))
        bounds += split(last, widest, axes, most)
        return [Block(lo, hi, self._made_until(hi)) for lo, hi in bounds]

    def _made_until(self, width: int) -> tuple[Group, ...]:
        """The groups with values up to this width. At lesser widths their sums are empty, and write zeros."""
        return tuple(g for g in self.groups if min(self.least[f.conclusion.symbol] for f in g.folds) <= width)


@lru_cache(maxsize=64)
def split(lo: int, hi: int, axes: int, most: int) -> tuple[tuple[int, int], ...]:
    """At most `most` blocks of the widths lo..hi, such that padded work is least, of sizes that divide into windows."""
    ends = [end for end in range(lo, hi + 1) if end == hi or any((end + 1) % length == 0 for length in (5, 6, 7, 8))]
    best: dict[int, tuple[float, tuple[tuple[int, int], ...]]] = {lo: (-PRICE, ())}
    for _ in range(most):
        found = dict(best)
        for start, (cost, blocks) in best.items():
            for end in (end for end in ends if end >= start):
                total = cost + PRICE + (end - start + 1) * (hi + 1 - start) * (end + 1) ** axes
                if end + 1 not in found or total < found[end + 1][0]:
                    found[end + 1] = (total, (*blocks, (start, end)))
        best = found
    return best[hi + 1][1] if hi + 1 in best else ()


@once(maxsize=256)
def plan(system: DeductionSystem, present: frozenset[str] | Collection[str]) -> Plan:
    """The plan of a system when the scores `present` are given."""
    items = unfold(system, present)
    goals = [fold for fold in items if not fold.conclusion.span[0].is_variable]
    last = Fold(Atom(Item("goal"), ()), goals[0].terms if goals else ((system.goal,),))
    *stored, goal = guards.guard([*(fold for fold in items if fold not in goals), last], system.axioms)
    folds = share(absorb(join(stored)))
    steps = [step for fold in folds for step in fold.steps]
    of_items = widths.least_widths(system.axioms, steps)
    least = {fold.conclusion.symbol: min(widths.least_width(*step, of_items) for step in fold.steps) for fold in folds}
    at = find_sides(folds, [*system.axioms, *(atom for term in goal.terms for atom in term if atom.is_item)])
    stores = find_stores(folds, system.axioms, widths.before(system.axioms, steps), at)
    groups = find_groups(folds, stores)
    rows = find_rows([fold.conclusion.symbol for g in groups for fold in g.folds], stores)
    return Plan(system, frozenset(present), tuple(stored), groups, goal, at, stores, rows, least)


def find_sides(folds: Iterable[Fold], lasting: Collection[Atom]) -> dict[Item | Score, str]:
    """At which sides each item is stored: where wider ones read any that has its store's name.

    Items that nothing wider reads are stored at no side, unless they are `lasting`: then at the left.
    """
    symbols = [atom.symbol for atom in lasting] + [fold.conclusion.symbol for fold in folds]
    read: dict[str, set[str]] = {state_class(symbol): set() for symbol in symbols}
    lasts = {state_class(atom.symbol) for atom in lasting}
    for fold in folds:
        for atom in (atom for term in fold.terms for atom in term if atom.is_item):
            meets = sides(atom, fold.conclusion)
            read[state_class(atom.symbol)].update(meets if len(meets) == 1 else "")
            lasts.update([state_class(atom.symbol)] if any(p.shift for p in atom.positions) else [])
    return {s: "".join(sorted(read[state_class(s)])) or ("L" if state_class(s) in lasts else "=") for s in symbols}


def find_rows(made: Iterable[Item | Score], stores: Stores) -> dict[Item | Score, int]:
    """In each store the items stand in the order in which they are made."""
    rows: dict[Item | Score, int] = {}
    sizes: Counter[str] = Counter()
    for symbol in dict.fromkeys((*made, *stores)):
        rows[symbol] = sizes[stores[symbol]]
        sizes[stores[symbol]] += 1
    return rows

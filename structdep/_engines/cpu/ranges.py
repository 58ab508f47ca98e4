"""Bounds of the loops over the nodes of items and products, from the least distances between positions.

A `Distances` says how far each position lies behind another at least. What a rule allows follows from what its premises
allow by longest paths, so that loops visit no item that cannot be derived. An item whose last position lies outside of
its span is looked at in two `sides`: there it comes before the span, or behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import inf

from structdep._lowering.unfolding import Fold
from structdep.deduction import Atom, Item, Position, Score

ROOT, LAST = "", "last"
"""The first and the last node, beside the names of variables."""

INNER, BEFORE, BEHIND = 0, 1, 2
"""Where an item's last position is: inside of its span, or its right end; before the span; behind it."""

Placed = tuple[Atom, int]
"""An item and its side."""
Ordered = Mapping[tuple[int, int], int]
"""For two of an item's positions that stand in this order, by number, their least distance."""
ItemDistances = dict[tuple[Item | Score, int], Ordered]
"""That of each item on each side, as far as it can be derived."""
Pair = tuple[str, str]
"""Two variables, or `ROOT` or `LAST`."""


class Distances(dict[Pair, int]):
    """The least distance from one variable to another, closed under paths; absent where nothing is known."""

    def demand(self, start: Position, end: Position, least: int) -> None:
        pair = start.name, end.name
        distance = least + start.shift - end.shift
        self[pair] = max(distance, self.get(pair, distance))

    def are_in_order(self, start: Position, end: Position) -> bool:
        """Whether one position never lies behind the other."""
        apart = 0 if start.name == end.name else self.get((start.name, end.name))
        return apart is not None and apart + end.shift >= start.shift

    def path(self, start: str, end: str) -> float:
        """The least distance, -inf where nothing is known."""
        return 0 if start == end else self.get((start, end), -inf)

    def close(self) -> bool:
        """Adds what follows. Returns whether it can be met."""
        names = sorted({name for pair in self for name in pair})
        for via in names:
            ways = [(name, self[name, via]) for name in names if (name, via) in self]
            onward = [(name, self[via, name]) for name in names if (via, name) in self]
            for start, first in ways:
                for end, second in onward:
                    pair = start, end
                    if pair not in self or self[pair] < first + second:
                        self[pair] = first + second
        return all(self.get((name, name), 0) <= 0 for name in names)


def ends_of(atom: Atom) -> list[str]:
    """The variables at the ends of an item's span."""
    return [p.name for p in atom.span] if atom.positions else []


def third_of(atom: Atom) -> list[str]:
    """That of the position that is no end, if there is one."""
    return [p.name for m, p in enumerate(atom.positions) if m not in atom.ends]


def sides(atom: Atom) -> tuple[int, ...]:
    return (BEFORE, BEHIND) if atom.is_exterior else (INNER,)


def order(atom: Atom, side: int) -> list[int]:
    """The numbers of an item's positions as they stand in the sentence."""
    numbers = list(range(len(atom.positions)))
    return [numbers[-1], *numbers[:-1]] if side == BEFORE else numbers


def pairs(atom: Atom, side: int) -> list[tuple[int, int]]:
    places = order(atom, side)
    return [(a, b) for number, a in enumerate(places) for b in places[number + 1 :]]


def between(
    conclusion: Placed | None, factors: Iterable[Atom], chosen: Iterable[Placed], known: ItemDistances
) -> Distances:
    """What holds of the positions of a conclusion, its factors, and the premises among them on their sides."""
    found = Distances({(ROOT, LAST): 0})
    atoms = [*factors, *([conclusion[0]] if conclusion else [])]
    for position in (position for atom in atoms for position in atom.positions):
        found.demand(Position(ROOT), position, 0)
        found.demand(position, Position(LAST), 0)
    for atom, side in chosen:
        for (a, b), least in known[atom.symbol, side].items():
            found.demand(atom.positions[a], atom.positions[b], least)
    if conclusion:
        atom, side = conclusion
        for a, b in pairs(atom, side):
            found.demand(atom.positions[a], atom.positions[b], 0)
        if side == BEHIND:  # what is at both ends of an empty span is before it
            found.demand(atom.positions[0], atom.positions[-1], 1)
    return found


def choices_of_sides(factors: Iterable[Atom], known: ItemDistances) -> Iterator[list[Placed]]:
    """The premises of a product on sides on which they can be derived, in each combination."""
    options = [[(a, side) for side in sides(a) if (a.symbol, side) in known] for a in factors if a.is_item]
    return (list(chosen) for chosen in product(*options))


def find_known(folds: Sequence[Fold], axioms: Sequence[Atom]) -> ItemDistances:
    """The least distances in all items that can be derived."""
    known: ItemDistances = {}
    sources = [(axiom, ()) for axiom in axioms] + [(f.conclusion, term) for f in folds for term in f.terms]
    before = None
    while before != known:
        before = dict(known)
        for conclusion, term in sources:
            for side, chosen in product(sides(conclusion), list(choices_of_sides(term, known))):
                found = between((conclusion, side), term, chosen, known)
                if found.close():
                    _allow(known, conclusion, side, found)
    return known


def _allow(known: ItemDistances, conclusion: Atom, side: int, found: Distances) -> None:
    own = {}
    for a, b in pairs(conclusion, side):
        start, end = conclusion.positions[a], conclusion.positions[b]
        apart = 0 if start.name == end.name else found[start.name, end.name]
        own[a, b] = apart + end.shift - start.shift
    earlier = known.get((conclusion.symbol, side), own)
    known[conclusion.symbol, side] = {pair: min(least, earlier[pair]) for pair, least in own.items()}


Bound = tuple[str, int]
"""A variable, or `ROOT` or `LAST`, and what to add to it."""


@dataclass(frozen=True)
class Loop:
    """A variable that runs from the greatest of some bounds to the least of others, both included."""

    name: str
    least: tuple[Bound, ...]
    most: tuple[Bound, ...]


@dataclass(frozen=True)
class Nest:
    """Loops, one within the other, where the `conditions` (start, end, least distance) on what is given are met."""

    conditions: tuple[tuple[str, str, int], ...]
    loops: tuple[Loop, ...]


def nest(found: Distances, given: Sequence[str], names: Sequence[str], held: Distances | None = None) -> Nest:
    """The loops over some variables, from the outermost on, within what is `given` beside `ROOT` and `LAST`.

    What is `held` already is no condition on what is given.
    """
    bound = [ROOT, LAST, *given]
    held = Distances(_obvious(given) | (held or {}))
    held.close()
    told = {(a, b): found[a, b] for a, b in product(bound, bound) if a != b and (a, b) in found}
    loops = []
    for name in names:
        least = _strict(found, [u for u in bound if (u, name) in found], lambda u, v: (u, v), name)
        most = _strict(found, [u for u in bound if (name, u) in found], lambda u, v: (v, u), name)
        loops.append(Loop(name, tuple((u, found[u, name]) for u in least), tuple((u, -found[name, u]) for u in most)))
        bound.append(name)
    return Nest(tuple((a, b, least) for (a, b), least in _independent(told, held).items()), tuple(loops))


def _independent(told: dict[Pair, int], held: Distances) -> dict[Pair, int]:
    """Those of some least distances that follow neither from what is held, nor from another one with that."""
    kept = dict(told)
    for (a, b), least in told.items():
        del kept[a, b]
        ways = [held.path(a, b), *(held.path(a, c) + own + held.path(d, b) for (c, d), own in kept.items())]
        if max(ways) < least:
            kept[a, b] = least
    return kept


def _obvious(given: Sequence[str]) -> dict[Pair, int]:
    """The ends of a span, which come first among what is given, are nodes in order."""
    return dict.fromkeys(combinations([ROOT, *given[:2], LAST], 2), 0)


def _strict(
    found: Distances, candidates: list[str], pair: Callable[[str, str], tuple[str, str]], name: str
) -> list[str]:
    """Those of some bounds on a variable that do not follow from others; `pair` puts a bound and it in order."""
    kept = list(candidates)
    for u in candidates:
        for other in (o for o in kept if o != u):
            first, second = pair(u, other), pair(other, name)
            if first in found and found[first] + found[second] >= found[pair(u, name)]:
                kept.remove(u)
                break
    return kept

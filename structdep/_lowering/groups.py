"""Which items lie in one array, and which are computed by one fold with an axis of items.

Items of one shape that can be computed at the same time have one store: an array with a row for each. Folds of a store
whose products differ in rows alone are a group: one fold, whose factors pick a row for each of its members.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from math import factorial

from structdep._lowering.unfolding import Fold, Term
from structdep.deduction import Atom, Item, Score

Stores = Mapping[Item | Score, str]
"""The store of each item."""

Pattern = tuple[tuple[str, str], ...]
"""What products have in common that differ in rows alone: for each factor its store, or the score, and positions."""

SENTENCE, PADDING = 24, 0.02
"""Groups may have so much work, as a part of all, in products of nothing, for sentences of this length."""


@dataclass(frozen=True)
class Group:
    """Folds of one store. The k-th products of all have one pattern: a fold without it has a product of `nothing`."""

    folds: tuple[Fold, ...]

    @property
    def conclusion(self) -> Atom:
        return self.folds[0].conclusion

    @property
    def terms(self) -> Iterator[tuple[tuple[Atom, ...], ...]]:
        """For each product its factors, and of each factor what it is in every fold."""
        for terms in zip(*(fold.terms for fold in self.folds), strict=True):
            yield tuple(zip(*terms, strict=True))


@dataclass(frozen=True)
class Member:
    """A fold, and the patterns of its products."""

    fold: Fold
    patterns: tuple[Pattern, ...]

    @classmethod
    def of(cls, fold: Fold, stores: Stores) -> Member:
        placed = [sorted((_pattern(atom, stores), number, atom) for number, atom in enumerate(t)) for t in fold.terms]
        terms = tuple(tuple(atom for *_, atom in factors) for factors in placed)
        return cls(replace(fold, terms=terms), tuple(tuple(pattern for pattern, *_ in factors) for factors in placed))

    @property
    def work(self) -> dict[Pattern, float]:
        """Of a product of each pattern: how many cells its grid has, over all widths, for sentences of length 1."""
        outside = 1 + self.fold.conclusion.is_exterior
        work = {}
        for pattern, term in zip(self.patterns, self.fold.terms, strict=True):
            axes = len(self.fold.conclusion.variables.union(*(a.variables for a in term))) - 1
            inside = axes - outside
            work[pattern] = SENTENCE ** (axes + 1) * factorial(outside) * factorial(inside) / factorial(axes + 1)
        return work


def _pattern(atom: Atom, stores: Stores) -> tuple[str, str]:
    """Arcs between two nodes are alike, whichever is the head: these are rows, too."""
    if atom.is_item:
        return stores[atom.symbol], repr(atom.positions)
    return atom.symbol.name, repr(sorted(atom.positions))


def find_stores(
    folds: Iterable[Fold],
    axioms: Iterable[Atom],
    before: Mapping[Item | Score, Iterable[Item | Score]],
    stored: Mapping[Item | Score, str],
) -> dict[Item | Score, str]:
    """The stores, named by when they are computed, by shape, and by the sides at which they are stored.

    `before` names what precedes each item.
    """
    conclusions = {fold.conclusion.symbol: fold.conclusion for fold in folds}
    classes, order = _ordered({symbol: state_class(symbol) for symbol in (*conclusions, *before)}, before)
    stores = {
        symbol: f"{order[own]:02} {_shape(atom)} {stored[symbol]}"
        if has_states(symbol) and (own := classes[symbol]) == state_class(symbol)
        else f"{order[classes[symbol]]:02} {symbol.name}"
        for symbol, atom in conclusions.items()
    }
    return {axiom.symbol: axiom.symbol.name for axiom in axioms} | stores


def _ordered(
    classes: Mapping[Item | Score, str], before: Mapping[Item | Score, Iterable[Item | Score]]
) -> tuple[Mapping[Item | Score, str], dict[str, int]]:
    """The state classes, and the order in which they are computed.

    Items that need others of their state class first become a class of their own.
    """
    earlier: dict[str, set[str]] = {}
    for symbol, others in before.items():
        earlier.setdefault(classes[symbol], set()).update(classes[other] for other in others if other in classes)
    order: dict[str, int] = {}
    try:
        for name in TopologicalSorter(earlier).static_order():
            order[name] = 1 + max((order[other] for other in earlier.get(name, ())), default=-1)
    except CycleError as error:
        circle = {symbol for symbol, own in classes.items() if own in error.args[1]}
        later = {symbol: symbol.name for symbol in circle if circle.intersection(before.get(symbol, ()))}
        return _ordered({**classes, **later}, before)
    return classes, order


def has_states(symbol: Item | Score) -> bool:
    return bool(getattr(symbol, "state_class", ""))


def state_class(symbol: Item | Score) -> str:
    """What items have in common that differ in their state, or the name of an item without states."""
    return getattr(symbol, "state_class", "") or symbol.name


def _shape(atom: Atom) -> str:
    return f"{len(atom.positions)}{'x' if atom.is_exterior else ''}"


def find_groups(folds: Iterable[Fold], stores: Stores) -> tuple[Group, ...]:
    """All folds in few groups, in an order in which they can be computed."""
    by_store: dict[str, list[Member]] = {}
    for fold in folds:
        by_store.setdefault(stores[fold.conclusion.symbol], []).append(Member.of(fold, stores))
    price = PADDING * sum(cost([member]) for members in by_store.values() for member in members)
    return tuple(align(joined) for name in sorted(by_store) for joined in _joined(by_store[name], price))


def _joined(members: Iterable[Member], price: float) -> list[list[Member]]:
    """Folds of equal patterns together, and others where it costs little."""
    by_patterns: dict[tuple[tuple[Pattern, int], ...], list[Member]] = {}
    for member in members:
        by_patterns.setdefault(tuple(sorted(Counter(member.patterns).items())), []).append(member)
    groups: list[list[Member]] = []
    for alike in by_patterns.values():
        fitting = (group for group in groups if cost([*group, *alike]) <= cost(group) + cost(alike) + price)
        if (group := next(fitting, None)) is not None:
            group += alike
        else:
            groups.append(alike)
    return groups


def cost(members: Sequence[Member]) -> float:
    """The work of a group: products of all patterns, for each of its folds."""
    work = {pattern: amount for member in members for pattern, amount in member.work.items()}
    return len(members) * sum(times * work[pattern] for pattern, times in union(members).items())


def union(members: Iterable[Member]) -> Counter[Pattern]:
    """How often a fold has a product of each pattern, at most."""
    patterns: Counter[Pattern] = Counter()
    for member in members:
        patterns |= Counter(member.patterns)
    return patterns


def align(members: Sequence[Member]) -> Group:
    """The folds with their products in one order, and with products of nothing where they lack one."""
    if len(members) == 1:
        return Group((members[0].fold,))
    patterns = list(union(members).elements())
    some = {
        pattern: term for member in members for pattern, term in zip(member.patterns, member.fold.terms, strict=True)
    }
    return Group(tuple(replace(m.fold, terms=tuple(_in_order(m, patterns, some))) for m in members))


def _in_order(member: Member, patterns: Iterable[Pattern], some: Mapping[Pattern, Term]) -> Iterator[Term]:
    left = list(zip(member.patterns, member.fold.terms, strict=True))
    for pattern in patterns:
        found = next((pair for pair in left if pair[0] == pattern), None)
        if found:
            left.remove(found)
        yield found[1] if found else tuple(map(nothing, some[pattern]))


def nothing(factor: Atom) -> Atom:
    """In place of an item, one that nothing derives."""
    return replace(factor, symbol=replace(factor.symbol, name="")) if factor.is_item else factor


def is_nothing(atom: Atom) -> bool:
    return not atom.symbol.name

"""Which items lie in one array, and which are computed by one fold with an axis of items.

Items of one shape that can be computed at the same time are a family, and share an array: a row for each. Folds of a
family whose products differ in rows alone are a group: one fold, whose factors pick a row for each of its members.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from math import factorial

from structdep._lowering.rewriting import Fold, Term
from structdep.deduction import Atom, Item, Score

Families = Mapping[Item | Score, str]
"""The family of each item."""

Form = tuple[tuple[str, str], ...]
"""What products have in common that differ in rows alone: for each factor its family, or the score, and positions."""

SENTENCE, PADDING = 24, 0.02
"""Groups may have so much work, as a part of all, in products of nothing, for sentences of this length."""


@dataclass(frozen=True)
class Group:
    """Folds of one family. The k-th products of all have one form: a fold that lacks it has a product of `nothing`."""

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
    """A fold, and the forms of its products."""

    fold: Fold
    forms: tuple[Form, ...]

    @classmethod
    def of(cls, fold: Fold, families: Families) -> Member:
        placed = [sorted((_form(atom, families), number, atom) for number, atom in enumerate(t)) for t in fold.terms]
        terms = tuple(tuple(atom for *_, atom in factors) for factors in placed)
        return cls(replace(fold, terms=terms), tuple(tuple(form for form, *_ in factors) for factors in placed))

    @property
    def work(self) -> dict[Form, float]:
        """Of a product of each form: how many cells its grid has, over all widths, for sentences of length 1."""
        outside = 1 + self.fold.conclusion.is_exterior
        work = {}
        for form, term in zip(self.forms, self.fold.terms, strict=True):
            axes = len(self.fold.conclusion.variables.union(*(a.variables for a in term))) - 1
            inside = axes - outside
            work[form] = SENTENCE ** (axes + 1) * factorial(outside) * factorial(inside) / factorial(axes + 1)
        return work


def _form(atom: Atom, families: Families) -> tuple[str, str]:
    """Arcs between two nodes are alike, whichever is the head: these are rows, too."""
    if atom.is_item:
        return families[atom.symbol], repr(atom.positions)
    return atom.symbol.name, repr(sorted(atom.positions))


def find_families(
    folds: Iterable[Fold],
    axioms: Iterable[Atom],
    before: Mapping[Item | Score, Iterable[Item | Score]],
    stored: Mapping[Item | Score, str],
) -> dict[Item | Score, str]:
    """The families, named by when they are computed, by shape, and by the sides at which they are stored.

    `before` names what precedes each item.
    """
    conclusions = {fold.conclusion.symbol: fold.conclusion for fold in folds}
    classes, order = _ordered({symbol: state_class(symbol) for symbol in (*conclusions, *before)}, before)
    families = {
        symbol: f"{order[own]:02} {_shape(atom)} {stored[symbol]}"
        if has_states(symbol) and (own := classes[symbol]) == state_class(symbol)
        else f"{order[classes[symbol]]:02} {symbol.name}"
        for symbol, atom in conclusions.items()
    }
    return {axiom.symbol: axiom.symbol.name for axiom in axioms} | families


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
    return bool(getattr(symbol, "family", ""))


def state_class(symbol: Item | Score) -> str:
    """What items have in common that differ in their state, or the name of an item without states."""
    return getattr(symbol, "family", "") or symbol.name


def _shape(atom: Atom) -> str:
    return f"{len(atom.positions)}{'x' if atom.is_exterior else ''}"


def find_groups(folds: Iterable[Fold], families: Families) -> tuple[Group, ...]:
    """All folds in few groups, in an order in which they can be computed."""
    by_family: dict[str, list[Member]] = {}
    for fold in folds:
        by_family.setdefault(families[fold.conclusion.symbol], []).append(Member.of(fold, families))
    price = PADDING * sum(cost([member]) for members in by_family.values() for member in members)
    return tuple(align(joined) for name in sorted(by_family) for joined in _joined(by_family[name], price))


def _joined(members: Iterable[Member], price: float) -> list[list[Member]]:
    """Folds of equal forms together, and others where it costs little."""
    by_forms: dict[tuple[tuple[Form, int], ...], list[Member]] = {}
    for member in members:
        by_forms.setdefault(tuple(sorted(Counter(member.forms).items())), []).append(member)
    groups: list[list[Member]] = []
    for alike in by_forms.values():
        fitting = (group for group in groups if cost([*group, *alike]) <= cost(group) + cost(alike) + price)
        if (group := next(fitting, None)) is not None:
            group += alike
        else:
            groups.append(alike)
    return groups


def cost(members: Sequence[Member]) -> float:
    """The work of a group: products of all forms, for each of its folds."""
    work = {form: amount for member in members for form, amount in member.work.items()}
    return len(members) * sum(times * work[form] for form, times in union(members).items())


def union(members: Iterable[Member]) -> Counter[Form]:
    """How often a fold has a product of each form, at most."""
    forms: Counter[Form] = Counter()
    for member in members:
        forms |= Counter(member.forms)
    return forms


def align(members: Sequence[Member]) -> Group:
    """The folds with their products in one order, and with products of nothing where they lack one."""
    if len(members) == 1:
        return Group((members[0].fold,))
    forms = list(union(members).elements())
    some = {form: term for member in members for form, term in zip(member.forms, member.fold.terms, strict=True)}
    return Group(tuple(replace(m.fold, terms=tuple(_in_order(m, forms, some))) for m in members))


def _in_order(member: Member, forms: Iterable[Form], some: Mapping[Form, Term]) -> Iterator[Term]:
    left = list(zip(member.forms, member.fold.terms, strict=True))
    for form in forms:
        found = next((pair for pair in left if pair[0] == form), None)
        if found:
            left.remove(found)
        yield found[1] if found else tuple(map(nothing, some[form]))


def nothing(factor: Atom) -> Atom:
    """In place of an item, one that nothing derives."""
    return replace(factor, symbol=replace(factor.symbol, name="")) if factor.is_item else factor


def is_nothing(atom: Atom) -> bool:
    return not atom.symbol.name

"""From declared rules to sums of products: each stored item, and the products of items and scores that derive it.

1. `unfold`: an item that lives at its own width alone (MH_4's four heads) is replaced by what derives it; alternatives
   are multiplied out. The result is a list of products for each stored item.
2. `join`: scores at the same positions become one table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count

from structdep.deduction import Atom, DeductionSystem, Item, Position, Score, widths

Term = tuple[Atom, ...]
"""A product of items and scores; positions that the conclusion lacks are summed."""


@dataclass(frozen=True)
class Fold:
    """An item as a sum of products."""

    conclusion: Atom
    terms: tuple[Term, ...]

    def __repr__(self) -> str:
        return f"{self.conclusion!r} = " + "  ⊕  ".join(" ".join(map(repr, term)) for term in self.terms)

    @property
    def variables(self) -> frozenset[str]:
        return self.conclusion.variables.union(*(atom.variables for term in self.terms for atom in term))

    @property
    def is_flat(self) -> bool:
        """Whether it sums over no positions."""
        return self.variables == self.conclusion.variables

    @property
    def steps(self) -> list[tuple[tuple[Atom, ...], Atom]]:
        return [(tuple(a for a in term if a.is_item), self.conclusion) for term in self.terms]


def summed_variables(conclusion: Atom, term: Term) -> tuple[str, ...]:
    """The positions of a product that its conclusion lacks."""
    names = (p.name for atom in term for p in atom.positions if p.is_variable)
    return tuple(dict.fromkeys(name for name in names if name not in conclusion.variables))


def rename(atom: Atom, names: Mapping[str, Position]) -> Atom:
    """The atom with its position variables replaced."""
    positions = (names[p.name] + p.shift if p.name in names else p for p in atom.positions)
    return replace(atom, positions=tuple(positions))


def unfold(system: DeductionSystem, present: Collection[str]) -> tuple[Fold, ...]:
    """Each stored item, and the goal, as a sum of products of stored items and the scores `present` (and `arc`)."""
    transient = widths.transient(system) - {system.goal.symbol}
    products = [(rule.conclusion, product) for rule in system.rules for product in rule.expand()]
    while any(atom.symbol in transient for _, product in products for atom in product):
        products = [new for pair in products for new in _substitute(*pair, transient, products)]
    folds: dict[Item | Score, list[Term]] = {}
    for conclusion, product in products:
        if conclusion.symbol not in transient:
            kept = tuple(a for a in product if a.is_item or a.symbol.name in present or a.symbol.name == "arc")
            folds.setdefault(conclusion.symbol, []).append(canonical(conclusion, kept))
    heads = {conclusion.symbol: conclusion for conclusion, _ in products}
    return tuple(Fold(at_variables(heads[symbol]), tuple(terms)) for symbol, terms in folds.items())


def _substitute(
    conclusion: Atom, product: Term, transient: Collection[Item | Score], products: list[tuple[Atom, Term]]
) -> Iterator[tuple[Atom, Term]]:
    """The product with its transient premise replaced by each product that derives it."""
    premise = next((a for a in product if a.symbol in transient), None)
    if premise is None:
        yield conclusion, product
        return
    rest = tuple(a for a in product if a is not premise)
    for derived, parts in products:
        if derived.symbol == premise.symbol:
            fresh = (Position(f"_{number}") for number in count())
            names = {v: next(fresh) for a in parts for v in sorted(a.variables)}
            names |= {p.name: q for p, q in zip(derived.positions, premise.positions, strict=True)}
            yield conclusion, (*(rename(a, names) for a in parts), *rest)


def at_variables(conclusion: Atom) -> Atom:
    """The item at position variables named c0, c1, ..; positions such as 0 and n stay."""
    variables = (Position(f"c{m}") for m in count())
    return replace(conclusion, positions=tuple(next(variables) if p.is_variable else p for p in conclusion.positions))


def canonical(conclusion: Atom, product: Term) -> Term:
    """The product with the conclusion's positions named c0, c1, .. and those it sums named s0, s1, ..

    Those it sums are the least positions that it reads, so that they take all nodes: k for k + 1 if k is not read.
    """
    renamed = zip(conclusion.positions, at_variables(conclusion).positions, strict=True)
    names = {p.name: q for p, q in renamed if p.is_variable}
    least: dict[str, int] = {}
    for position in (p for atom in product for p in atom.positions if p.is_variable and p.name not in names):
        least[position.name] = min(position.shift, least.get(position.name, position.shift))
    names |= {name: Position(f"s{m}", -shift) for m, (name, shift) in enumerate(least.items())}
    return tuple(rename(atom, names) for atom in product)


def join(folds: Iterable[Fold]) -> tuple[Fold, ...]:
    """Scores at the same positions become one, under all their names."""
    return tuple(replace(fold, terms=tuple(map(_joined, fold.terms))) for fold in folds)


def _joined(term: Term) -> Term:
    names: dict[tuple[Position, ...], list[str]] = {}
    for score in (atom for atom in term if not atom.is_item):
        names.setdefault(score.positions, []).append(score.symbol.name)
    scores = (Atom(Score(" ".join(sorted(those))), positions) for positions, those in names.items())
    return (*(atom for atom in term if atom.is_item), *scores)

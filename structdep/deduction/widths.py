"""What can be computed when: every item is built from narrower ones, or at its own width from earlier ones.

The width of an item is the distance between the ends of its span. The premises of a rule lie side by side in the span
of the conclusion, so a premise can be as wide as the conclusion only if nothing beside it takes room: then it must come
first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structdep.deduction import Atom, DeductionSystem, Item, Rule, Score

    Step = tuple[tuple[Atom, ...], Atom]
    """The item premises of a rule, and its conclusion."""


class WidthError(ValueError):
    """A step, by its number, with a premise that can be wider than the conclusion."""

    def __init__(self, number: int, premise: Atom) -> None:
        super().__init__(f"step {number}: {premise!r}")
        self.number, self.premise = number, premise


def steps(system: DeductionSystem) -> list[Step]:
    return [(rule.premises, rule.conclusion) for rule in system.rules]


def transient(system: DeductionSystem) -> frozenset[Item | Score]:
    """Items that are used at their own width alone, and cost no sum: what derives them can stand in their place."""
    derived = {rule.conclusion.symbol for rule in system.rules} - {axiom.symbol for axiom in system.axioms}
    used_beside = {atom.symbol for rule in system.rules if len(rule.premises) > 1 for atom in rule.premises}
    reshaped = {rule.premises[0].symbol for rule in system.rules if rule.premises[0].span != rule.conclusion.span}
    summed = {rule.conclusion.symbol for rule in system.rules if len(rule.premises) > 1 and _sums(rule)}
    in_words = {rule.conclusion.symbol for rule in system.rules if not rule.conclusion.is_absolute}
    most = max(len(rule.variables) for rule in system.rules)
    small = {rule.conclusion.symbol for rule in system.rules if 0 < len(rule.conclusion.variables) < most}
    placed = {symbol for rule in system.rules for symbol in _placed(rule)}
    return frozenset(derived - used_beside - reshaped - summed - small - placed - ({system.goal.symbol} & in_words))


def _placed(rule: Rule) -> Iterator[Item | Score]:
    """The items that say where a position is: outside of a premise's span, or inside of the conclusion's."""
    conclusion = rule.conclusion
    exterior = conclusion.positions[-1:] if conclusion.is_exterior else ()
    yield from (p.symbol for p in rule.premises if p.is_exterior and p.positions[-1] not in exterior)
    inside = frozenset().union(*({p.name for p in premise.inside} for premise in rule.premises))
    if not {p.name for p in conclusion.inside if p.is_variable} <= inside:
        yield conclusion.symbol


def _sums(rule: Rule) -> bool:
    return rule.variables != rule.conclusion.variables and not rule.conclusion.is_absolute


def least_widths(axioms: Iterable[Atom], rules: Sequence[Step]) -> dict[Item | Score, int]:
    """The least width of each item that can be derived. Raises WidthError where a premise can exceed its conclusion."""
    least: dict[Item | Score, int] = {}
    for axiom in sorted(axioms, key=width_of_axiom):
        least.setdefault(axiom.symbol, width_of_axiom(axiom))
    for _ in range(len(rules) + 1):
        before = dict(least)
        for number, (premises, conclusion) in enumerate(rules):
            if all(p.symbol in least for p in premises):
                if wide := [p for p in premises if room(p, premises, conclusion, least) < 0]:
                    raise WidthError(number, wide[0])
                width = least_width(premises, conclusion, least)
                least[conclusion.symbol] = min(width, least.get(conclusion.symbol, width))
        if least == before:
            break
    return least


def width_of_axiom(axiom: Atom) -> int:
    return axiom.span[1].shift - axiom.span[0].shift


def least_width(premises: Sequence[Atom], conclusion: Atom, least: dict[Item | Score, int]) -> int:
    """The least width of a conclusion from these premises."""
    return sum(least[p.symbol] for p in premises) + _gaps(premises, conclusion)


def before(axioms: Iterable[Atom], rules: Sequence[Step]) -> dict[Item | Score, list[Item | Score]]:
    """What must be computed before each item, of the items of one width. Raises CycleError where there is a circle."""
    least = least_widths(axioms, rules)
    graph: dict[Item | Score, list[Item | Score]] = {}
    for premises, conclusion in rules:
        earlier = graph.setdefault(conclusion.symbol, [])
        earlier += [p.symbol for p in premises if room(p, premises, conclusion, least) == 0]
    TopologicalSorter(graph).prepare()
    return graph


def _gaps(premises: Sequence[Atom], conclusion: Atom) -> int:
    """The part of the conclusion's width that no premise covers."""
    ends = [conclusion.span[0], *(end for p in premises for end in p.span), conclusion.span[1]]
    return sum(right.shift - left.shift for left, right in zip(ends[::2], ends[1::2], strict=True))


def room(premise: Atom, premises: Sequence[Atom], conclusion: Atom, least: dict[Item | Score, int]) -> int:
    """How much narrower than the conclusion the premise is at least."""
    return sum(least[p.symbol] for p in premises) - least[premise.symbol] + _gaps(premises, conclusion)

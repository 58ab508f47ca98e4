"""What can be computed when: every item is built from narrower ones, or at its own width from earlier ones.

The width of an item is the distance between the ends of its span. The premises of a rule lie side by side in the span of
the conclusion, so a premise can be as wide as the conclusion only if nothing beside it takes room: then it must come first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from structdep.deduction import Atom, DeductionSystem, Item, Rule, Score

    Step = tuple[tuple[Atom, ...], Atom]
    """The item premises of a rule, and its conclusion."""


def steps(system: DeductionSystem) -> list[Step]:
    return [(rule.premises, rule.conclusion) for rule in system.rules]


def transient(system: DeductionSystem) -> frozenset[Item | Score]:
    """Items that are used at their own width alone: no other item ever stands beside them, so nobody need store them."""
    derived = {rule.conclusion.symbol for rule in system.rules} - {axiom.symbol for axiom in system.axioms}
    used_beside = {atom.symbol for rule in system.rules if len(rule.premises) > 1 for atom in rule.premises}
    reshaped = {rule.premises[0].symbol for rule in system.rules if rule.premises[0].span != rule.conclusion.span}
    is_goal_of_words = {system.goal.symbol} - {r.conclusion.symbol for r in system.rules if not _absolute(r.conclusion)}
    only_unary = derived - used_beside - reshaped
    return frozenset(only_unary - {system.goal.symbol} | is_goal_of_words & only_unary)


def least_widths(axioms: Iterable[Atom], rules: Sequence[Step]) -> dict[Item | Score, int]:
    """The least width of each item that can be derived."""
    least = {axiom.symbol: axiom.span[1].shift - axiom.span[0].shift for axiom in axioms}
    for _ in range(len(rules) + 1):
        for premises, conclusion in rules:
            if all(p.symbol in least for p in premises):
                width = least_width(premises, conclusion, least)
                least[conclusion.symbol] = min(width, least.get(conclusion.symbol, width))
    return least


def least_width(premises: Sequence[Atom], conclusion: Atom, least: dict[Item | Score, int]) -> int:
    """The least width of a conclusion from these premises."""
    return sum(least[p.symbol] for p in premises) + _gaps(premises, conclusion)


def order(axioms: Iterable[Atom], rules: Sequence[Step]) -> list[Item | Score]:
    """The order in which the items of one width are computed. Raises CycleError where there is none."""
    least = least_widths(axioms, rules)
    graph: dict[Item | Score, list[Item | Score]] = {}
    for premises, conclusion in rules:
        before = graph.setdefault(conclusion.symbol, [])
        before += [p.symbol for p in premises if room(p, premises, conclusion, least) == 0]
    return list(TopologicalSorter(graph).static_order())


def _gaps(premises: Sequence[Atom], conclusion: Atom) -> int:
    """The part of the conclusion's width that no premise covers."""
    ends = [conclusion.span[0], *(end for p in premises for end in p.span), conclusion.span[1]]
    return sum(right.shift - left.shift for left, right in zip(ends[::2], ends[1::2], strict=True))


def room(premise: Atom, premises: Sequence[Atom], conclusion: Atom, least: dict[Item | Score, int]) -> int:
    """How much narrower than the conclusion the premise is at least."""
    others = sum(least.get(p.symbol, 0) for p in premises) - least.get(premise.symbol, 0)
    return others + _gaps(premises, conclusion)


def _absolute(atom: Atom) -> bool:
    return any(not p.is_variable for p in atom.positions)


def check(system: DeductionSystem) -> None:
    """Raise ValueError, quoting the rule, unless the system can be run."""
    items = {atom.symbol for atom in system.axioms} | {rule.conclusion.symbol for rule in system.rules}
    if system.goal.symbol not in items:
        raise ValueError(f"{system.name}: nothing derives the goal {system.goal!r}: give a rule or an axiom for it")
    if [repr(p) for p in system.goal.span] not in (["0", "n"], ["0", "n+1"]):
        raise ValueError(f"{system.name}: the goal {system.goal!r} must span the sentence: 0 to n, or 0 to the sentinel n+1")
    for axiom in system.axioms:
        if len(axiom.variables) != 1 or _absolute(axiom) or axiom.span[0].shift:
            raise ValueError(f"{system.name}: write the axiom {axiom!r} from its left end on, as in I[i, i + 1]")
    _check_arities(system)
    _check_scores(system)
    for rule in system.rules:
        _check_rule(system, rule, items)
    least = least_widths(system.axioms, steps(system))
    for rule in system.rules:
        _check_widths(system, rule, least)
    for axiom in system.axioms:
        rules = [r for r in system.rules if r.conclusion.symbol == axiom.symbol and least_width(r.premises, r.conclusion, least) <= axiom.span[1].shift]
        if rules:
            raise ValueError(f"{system.name}: the rule  {rules[0]!r}  also derives the axiom {axiom!r}: give the axiom an item of its own")
    try:
        order(system.axioms, steps(system))
    except CycleError as error:
        loop = {symbol.name for symbol in error.args[1]}
        quoted = "; ".join(repr(r) for r in system.rules if r.conclusion.symbol.name in loop)
        raise ValueError(f"{system.name}: these rules derive items of one width from each other in a circle: {quoted}") from None


def _check_arities(system: DeductionSystem) -> None:
    atoms = [*system.axioms, system.goal, *(a for r in system.rules for a in (*r.premises, *r.scores, r.conclusion))]
    arities: dict[str, int] = {}
    for atom in atoms:
        if arities.setdefault(atom.symbol.name, len(atom.positions)) != len(atom.positions):
            raise ValueError(f"{system.name}: {atom!r} has {len(atom.positions)} positions, elsewhere {atom.symbol.name} has {arities[atom.symbol.name]}")


def _check_scores(system: DeductionSystem) -> None:
    mentioned = {score.symbol for rule in system.rules for score in rule.scores}
    for score in system.scores:
        if score not in mentioned:
            raise ValueError(f"{system.name}: no rule mentions the declared score {score.name!r}")
        if score.sentinel and not system.last:
            raise ValueError(f"{system.name}: score {score.name!r} looks at the sentinel n+1, but the goal {system.goal!r} ends at n")


def _check_rule(system: DeductionSystem, rule: Rule, items: set[Item | Score]) -> None:
    premises, conclusion = rule.premises, rule.conclusion

    def fail(why: str) -> None:
        raise ValueError(f"{system.name}: {why}, in the rule  {rule!r}")

    if not conclusion.is_item or not 1 <= len(premises) <= 2:
        fail("a rule concludes an item from one or two items (for more, name an item that joins two of them)")
    for atom in premises:
        if atom.symbol not in items:
            fail(f"no rule or axiom derives {atom!r}")
    for score in rule.scores:
        if score.symbol not in system.scores:
            fail(f"unknown score {score!r} (the system declares {', '.join(s.name for s in system.scores)})")
    bound = frozenset().union(*(p.variables for p in premises))
    loose = [p.name for p in conclusion.positions[: -1 if getattr(conclusion.symbol, "exterior", "") else None] if p.is_variable and p.name not in bound]
    loose += [v for s in rule.scores for v in sorted(s.variables - bound - conclusion.variables)]
    if loose:
        fail(f"position {loose[0]} is bound by no premise")
    ends = [conclusion.span[0].name, *(e.name for p in premises for e in p.span), conclusion.span[1].name]
    if any(left != right for left, right in zip(ends[::2], ends[1::2], strict=True)):
        fail("the premises must lie side by side, from the left end of the conclusion to its right end")
    if any(_absolute(a) for a in (*premises, *rule.scores)) and not _absolute(conclusion):
        fail("positions 0 and n stand in rules for the goal alone")
    if _absolute(conclusion) and conclusion != system.goal:
        fail(f"positions 0 and n stand in a conclusion only if it is the goal {system.goal!r}")
    for atom in premises:
        repeated = [v for v, times in Counter(p.name for p in atom.positions if p.is_variable).items() if times > 1]
        if repeated:
            fail(f"{atom!r} names the position {repeated[0]} twice")


def _check_widths(system: DeductionSystem, rule: Rule, least: dict[Item | Score, int]) -> None:
    for premise in rule.premises:
        if room(premise, rule.premises, rule.conclusion, least) < 0:
            raise ValueError(f"{system.name}: the premise {premise!r} can be wider than the conclusion, in the rule  {rule!r}")

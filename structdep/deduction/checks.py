"""What makes a deduction system one that can be run: checked when it is built, with the wrong rule quoted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from graphlib import CycleError
from typing import TYPE_CHECKING

from structdep.deduction.widths import WidthError, before, least_width, least_widths, steps, width_of_axiom

if TYPE_CHECKING:
    from structdep.deduction import Atom, DeductionSystem, Item, Position, Rule, Score


def check(system: DeductionSystem) -> None:
    """Raise ValueError, quoting the rule, unless the system can be run."""
    try:
        _check_symbols(system)
        _check_goal(system)
        _check_axioms(system)
        _check_scores(system)
        for rule in system.rules:
            if why := _problem(system, rule):
                raise ValueError(f"{why}, in the rule  {rule!r}")
        _check_schedule(system)
        _check_for_best(system)
    except ValueError as error:
        raise ValueError(f"{system.name}: {error}") from None


def _check_symbols(system: DeductionSystem) -> None:
    atoms = [*_items_at(system), system.goal, *(score for rule in system.rules for score in rule.scores)]
    first: dict[str, Atom] = {}
    for atom in atoms:
        known = first.setdefault(atom.symbol.name, atom)
        arity, expected = len(atom.positions), len(known.positions)
        if arity != expected:
            raise ValueError(f"{atom!r} has {arity} positions, elsewhere {atom.symbol.name} has {expected}")
        if atom.symbol != known.symbol:
            raise ValueError(f"{atom!r} and {known!r} are different things of one name: {atom.symbol}, {known.symbol}")


def _items_at(system: DeductionSystem) -> list[Atom]:
    """All items of axioms and rules, at their positions."""
    return [*system.axioms, *(atom for rule in system.rules for atom in (*rule.premises, rule.conclusion))]


def _items(system: DeductionSystem) -> set[Item | Score]:
    """The items that an axiom or a rule gives."""
    return {axiom.symbol for axiom in system.axioms} | {rule.conclusion.symbol for rule in system.rules}


def _check_goal(system: DeductionSystem) -> None:
    goal = system.goal
    if goal.symbol not in _items(system):
        raise ValueError(f"nothing derives the goal {goal!r}: give a rule or an axiom for it")
    if [repr(p) for p in goal.span] not in (["0", "n"], ["0", "n+1"]):
        raise ValueError(f"the goal {goal!r} must span the sentence: 0 to n, or 0 to the sentinel n+1")
    if goal.is_exterior:
        raise ValueError(
            f"the goal {goal!r} names a position outside its span, but nothing is outside the sentence: "
            f"write a rule for a goal of the span alone, {goal!r} >> Goal[{goal.span[0]}, {goal.span[1]}]"
        )


def _check_axioms(system: DeductionSystem) -> None:
    for axiom in system.axioms:
        if len({p.name for p in axiom.inside}) != 1 or axiom.is_absolute or axiom.span[0].shift:
            raise ValueError(f"write the axiom {axiom!r} from its left end on, as in I[i, i + 1] or I[i:i, x]")
        inner = [p.shift for m, p in enumerate(axiom.inside) if m not in axiom.ends]
        ordered = [axiom.span[0].shift, *inner, axiom.span[1].shift]
        if ordered != sorted(ordered):
            raise ValueError(f"the positions of the axiom {axiom!r} must stand in the order of the sentence")
        if axiom.is_exterior and _is_within(axiom.positions[-1], axiom.span):
            raise ValueError(f"the axiom {axiom!r} names an exterior position within its span")
        if system.axioms.count(axiom) > 1:
            raise ValueError(f"the axiom {axiom!r} is given twice")


def _check_scores(system: DeductionSystem) -> None:
    mentioned = {score.symbol for rule in system.rules for score in rule.scores}
    if "arc" not in [score.name for score in system.scores]:
        raise ValueError("a system of dependency trees declares `arc`: scores=(arc, ...)")
    for atom in (atom for rule in system.rules for atom in rule.scores if atom.symbol.name == "arc"):
        if len(atom.positions) != 2:
            raise ValueError(f"an arc has two positions, its head and its dependent, not {atom!r}")
    for score in system.scores:
        if score.name == "label":
            raise ValueError("scores named 'label' are those of labelled arcs, which every system takes: rename yours")
        if len(score.name.split()) != 1:
            raise ValueError(f"the name of a score is one word, not {score.name!r}")
        if score.name.startswith("."):
            raise ValueError(f"names that begin with a dot are those of the library: rename the score {score.name!r}")
        if score not in mentioned:
            raise ValueError(f"no rule mentions the declared score {score.name!r}")
        if score.sentinel and not system.last:
            raise ValueError(f"score {score.name!r} looks at the sentinel n+1, but the goal {system.goal!r} ends at n")


def _problem(system: DeductionSystem, rule: Rule) -> str:
    """What is wrong with the form of a rule, or nothing."""
    premises, conclusion = rule.premises, rule.conclusion
    if not conclusion.is_item or not 1 <= len(premises) <= 2:
        return "a rule concludes an item from one or two items (for more, name an item that joins two of them)"
    if any(sum(a.is_item for a in product) > len(premises) for product in rule.expand()):
        return "alternatives are of scores: write a rule for each alternative of items"
    for atom in premises:
        if atom.symbol not in _items(system):
            return f"no rule or axiom derives {atom!r}"
    for score in rule.scores:
        if score.symbol not in system.scores:
            return f"unknown score {score!r} (the system declares {', '.join(s.name for s in system.scores)})"
    return _position_problem(rule) or _goal_problem(system, rule)


def _position_problem(rule: Rule) -> str:
    premises, conclusion = rule.premises, rule.conclusion
    for atom in (*premises, conclusion):
        apart = atom.inside if _is_beyond(atom.positions[-1], atom.span) else atom.positions
        if twice := _repeated(p.name for p in apart if p.is_variable):
            return f"{atom!r} names the position {twice} twice"
    if any(p.is_variable and p.shift for p in conclusion.positions):
        return f"the conclusion {conclusion!r} must name plain positions: shift those of the premises and scores"
    bound = frozenset[str]().union(*(p.variables for p in premises))
    loose = [p.name for p in conclusion.inside if p.is_variable and p.name not in bound]
    loose += [v for s in rule.scores for v in sorted(s.variables - bound - conclusion.variables)]
    if loose:
        return f"position {loose[0]} is bound by no premise"
    ends = [conclusion.span[0].name, *(e.name for p in premises for e in p.span), conclusion.span[1].name]
    if any(left != right for left, right in zip(ends[::2], ends[1::2], strict=True)):
        return "the premises must lie side by side, from the left end of the conclusion to its right end"
    return ""


def _is_beyond(position: Position, span: tuple[Position, Position]) -> bool:
    """Whether a position is beside the span by its very name, as i is in I[i+1:j, i]."""
    left, right = span
    return (position.name == left.name and position < left) or (position.name == right.name and position > right)


def _is_within(position: Position, span: tuple[Position, Position]) -> bool:
    """Whether a position is strictly within the span by its very name, as i + 1 is in I[i:i+2, i+1]."""
    left, right = span
    return position.name == left.name == right.name and left < position < right


def _repeated(names: Iterable[str]) -> str:
    return next((name for name, times in Counter(names).items() if times > 1), "")


def _goal_problem(system: DeductionSystem, rule: Rule) -> str:
    premises, conclusion = rule.premises, rule.conclusion
    if conclusion.is_absolute:
        if conclusion != system.goal:
            return f"positions 0 and n stand in a conclusion only if it is the goal {system.goal!r}"
        if any(atom.symbol == conclusion.symbol and atom != conclusion for atom in _items_at(system)):
            return f"{conclusion.symbol.name} is used at other positions, too: give the goal an item of its own"
        return ""
    if any(a.is_absolute for a in (*premises, *rule.scores)):
        return "positions 0 and n stand in rules for the goal alone"
    left, right = conclusion.span
    shared = (premises[0].span[0] == left) + (premises[-1].span[1] == right)
    if shared < len(premises):
        return f"the premises must begin where the conclusion does, at {left!r}, and end with it, at {right!r}"
    return ""


def _check_schedule(system: DeductionSystem) -> None:
    try:
        least = least_widths(system.axioms, steps(system))
    except WidthError as error:
        rule = system.rules[error.number]
        raise ValueError(
            f"the premise {error.premise!r} can be wider than the conclusion, in the rule  {rule!r}"
        ) from None
    for rule in system.rules:
        for atom in (*rule.premises, rule.conclusion):
            if atom.symbol not in least:
                raise ValueError(
                    f"no axiom leads to {atom!r}, which follows only from itself or from items like it, "
                    f"in the rule  {rule!r}"
                )
    for axiom in system.axioms:
        for rule in (rule for rule in system.rules if rule.conclusion.symbol == axiom.symbol):
            if least_width(rule.premises, rule.conclusion, least) <= width_of_axiom(axiom):
                raise ValueError(
                    f"the rule  {rule!r}  also derives the axiom {axiom!r}: give the axiom an item of its own"
                )
    try:
        before(system.axioms, steps(system))
    except CycleError as error:
        loop = {symbol.name for symbol in error.args[1]}
        quoted = "; ".join(repr(r) for r in system.rules if r.conclusion.symbol.name in loop)
        raise ValueError(f"these rules derive items of one width from each other in a circle: {quoted}") from None


def _check_for_best(system: DeductionSystem) -> None:
    best = system.for_best
    if best is not None and (not system.trees or (best.trees, best.last) != (system.trees, system.last)):
        raise ValueError(
            f"for_best={best.name} has {best.trees or 'unnamed'} trees of nodes up to n + {best.last}, "
            f"expected {system.trees or 'a name in trees=..'}, and n + {system.last}"
        )

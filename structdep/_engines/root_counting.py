"""Charts of derivations with one root arc, as charts of numbers: each item counts the root arcs in it, none or one.

`SingleRoot` has two values of each item. An engine that knows numbers alone can fill the chart of another system: each
item is there twice, and arcs from the root have a table of their own. Derivations with more root arcs have no rules.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp

from structdep._engines.masking import sums_trees, without_best_arcs
from structdep._engines.query import Arguments, Query, Request
from structdep._once import once
from structdep.deduction import Atom, DeductionSystem, Item, Product, Rule, Score, arc, either
from structdep.semirings import LogSum, MaxPlus, SingleRoot
from structdep.semirings.base import instance

ROOT_ARC = Score("arc.root")
"""The table of arcs from the root; `arc` has the others."""


def of_numbers(request: Request) -> Request | None:
    """A request in `SingleRoot` as one for numbers, of `counted` items; None if it cannot be written so."""
    if not isinstance(request.semiring, SingleRoot) or not isinstance(request.system, DeductionSystem):
        return None
    base = instance(request.semiring.base)
    queries = {Query.VALUE} if isinstance(base, MaxPlus) else {Query.VALUE, Query.EXPECTED_COUNTS}
    if not isinstance(base, MaxPlus | LogSum) or request.query not in queries:
        return None
    if (system := counted(request.system)) is None:
        return None
    return replace(request, system=system, semiring=base, scores=tuple(sorted({*request.scores, ROOT_ARC.name})))


def arguments_of_numbers(arguments: Arguments, request: Request) -> tuple[jax.Array, Arguments]:
    """Those of `of_numbers`, and a number that is to be added to their value: only arcs have values with one root arc.

    The `counted` system names no class of trees, so scores are made relative to the best arcs here, not by the engine.
    """
    tables = {name: table[0] for name, table in arguments.tables.items()}
    tables[ROOT_ARC.name] = arguments.tables["arc"][1].at[..., 0].set(-jnp.inf)
    added = jnp.zeros((), tables["arc"].dtype)
    if sums_trees(request.system, request.semiring):
        added, (tables["arc"], tables[ROOT_ARC.name]) = without_best_arcs([tables["arc"], tables[ROOT_ARC.name]])
    cotangent = None if arguments.cotangent is None else arguments.cotangent[1]
    return added, arguments._replace(tables=tables, cotangent=cotangent)


def answer_in_pairs(value: jax.Array, counts: dict[str, jax.Array]) -> tuple[Any, dict[str, Any]]:
    """The answer in `SingleRoot`, from the one to `of_numbers`."""
    none = {name: jnp.zeros_like(table) for name, table in counts.items()}
    with_root = none | {"arc": counts[ROOT_ARC.name]} if counts else {}
    pairs = {name: (table, with_root[name]) for name, table in counts.items() if name != ROOT_ARC.name}
    return (jnp.full_like(value, -jnp.inf), value), pairs


@once()
def counted(system: DeductionSystem) -> DeductionSystem | None:
    """The system whose items count root arcs, and whose goal has one; None where that leaves rules of a score out."""
    axioms = tuple(_graded(axiom, 0) for axiom in system.axioms)
    rules = _derivable(axioms, [rule for own in system.rules for rule in _counted(own)])
    goal, scores = _graded(system.goal, 1), (*system.scores, ROOT_ARC)
    mentioned = {atom.symbol for rule in rules for atom in rule.scores}
    if not mentioned.issuperset(scores) or all(rule.conclusion.symbol != goal.symbol for rule in rules):
        return None
    # It names no class of trees: `arc` alone has no arc to the word that depends on the root.
    return DeductionSystem(f"{system.name} with one root", axioms, tuple(rules), goal, scores, system.unambiguous)


def _derivable(axioms: tuple[Atom, ...], rules: list[Rule]) -> list[Rule]:
    """The rules whose premises follow from the axioms."""
    items: set[Item | Score] = set()
    more = {axiom.symbol for axiom in axioms}
    found: list[Rule] = []
    while more - items:
        items |= more
        found = [rule for rule in rules if all(atom.symbol in items for atom in rule.premises)]
        more = {rule.conclusion.symbol for rule in found}
    return found


def _graded(atom: Atom, roots: int) -> Atom:
    """The item that contains this number of root arcs; or the score of an arc, from `ROOT_ARC` if the number is 1."""
    symbol = atom.symbol
    if isinstance(symbol, Item):
        state_class = symbol.state_class and f"{symbol.state_class}/{roots}"
        return replace(atom, symbol=replace(symbol, name=f"{symbol.name}/{roots}", state_class=state_class))
    return replace(atom, symbol=ROOT_ARC) if roots else atom


def _counted(rule: Rule) -> list[Rule]:
    """For each place of the root arc: in one of the premises, in the rule's own arc, or nowhere."""
    found: list[Rule] = []
    alternatives = rule.expand()
    premises = rule.premises
    for roots in product((0, 1), repeat=len(premises)):
        own = tuple(_graded(atom, number) for atom, number in zip(premises, roots, strict=True))
        for total in range(max(sum(roots), rule.conclusion.is_absolute), 2):  # only the goal names the last word
            scored = [_scores(factors, total - sum(roots), rule) for factors in alternatives]
            options = [Product(scores) for some in scored for scores in some]
            conclusion = _graded(rule.conclusion, total)
            if some := [option for option in options if option.factors]:
                found.append(Rule((*own, either(some)), conclusion))
            found += [Rule(own, conclusion)] * (len(options) - len(some))
    return found


def _scores(factors: tuple[Atom, ...], roots: int, rule: Rule) -> list[tuple[Atom, ...]]:
    """The scores of an alternative with this number of root arcs: if it is 1, each arc in turn is the root arc."""
    scores = tuple(atom for atom in factors if not atom.is_item)
    if not roots:
        return [scores]
    places = [n for n, atom in enumerate(scores) if atom.symbol == arc and not _is_from_word(atom, rule)]
    return [(*scores[:n], _graded(scores[n], 1), *scores[n + 1 :]) for n in places]


def _is_from_word(own: Atom, rule: Rule) -> bool:
    """Whether an item of the rule has a position left of the head."""
    head, dependent = own.positions
    items = (*rule.premises, rule.conclusion)
    orders = [item.inside for item in items]
    return any(head in order and dependent in order and order.index(dependent) < order.index(head) for order in orders)

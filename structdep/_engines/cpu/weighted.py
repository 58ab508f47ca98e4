"""Replaces each item that is only another item times scores of its ends: products read the item and the scores.

The replaced items have three positions. Scores of their ends stay the same in an innermost loop, which never goes along
ends of an item of three positions.
"""

from __future__ import annotations

from structdep._lowering.plan import Plan
from structdep._lowering.unfolding import Fold, Term, rename
from structdep.deduction import Atom, Item, Score

Folds = dict[Item | Score, Fold]


def without_weighted(plan: Plan) -> tuple[tuple[Fold, ...], dict[Item | Score, str]]:
    """A plan's folds without these items, and at which sides of its span each item is read, as in `Plan.stored`."""
    folds = [fold for group in plan.groups for fold in group.folds]
    rules = {fold.conclusion.symbol for fold in plan.items}
    weighted = {
        fold.conclusion.symbol: fold for fold in folds if fold.conclusion.symbol not in rules and _is_weighted(fold)
    }
    stored = dict(plan.stored)
    for symbol, fold in weighted.items():
        base = fold.terms[0][0].symbol
        stored[base] = "".join(sorted({*stored[base], *stored[symbol]} - {"="})) or "="
    kept = (fold for fold in folds if fold.conclusion.symbol not in weighted)
    return tuple(
        Fold(fold.conclusion, tuple(tuple(a for atom in term for a in _parts(atom, weighted)) for term in fold.terms))
        for fold in kept
    ), stored


def _is_weighted(fold: Fold) -> bool:
    own = fold.conclusion
    (base, *scores), *others = fold.terms
    return (
        not others
        and base.is_item
        and len(own.positions) == 3
        and base.positions == own.positions
        and all(not score.is_item and set(score.positions) <= set(own.span) for score in scores)
    )


def _parts(atom: Atom, weighted: Folds) -> Term:
    """The atom, or what it is made of."""
    if not (fold := weighted.get(atom.symbol)):
        return (atom,)
    names = {own.name: position for own, position in zip(fold.conclusion.positions, atom.positions, strict=True)}
    return tuple(rename(part, names) for part in fold.terms[0])

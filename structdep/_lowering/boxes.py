"""Whether rules read only boxes: slices of the stored arrays that `structdep._lowering.layout` describes."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from structdep._lowering.unfolding import Fold, Term
from structdep.deduction import Atom, Position


def are_boxed(folds: Iterable[Fold], axioms: Collection[Atom], least_width: int) -> bool:
    """Whether each premise and score is a box, for conclusions of this width and wider ones."""
    exterior = [axiom for axiom in axioms if axiom.is_exterior]
    return all(axiom.positions[-1].name != axiom.positions[0].name for axiom in exterior) and all(
        _is_boxed(atom, fold.conclusion, term, least_width) for fold in folds for term in fold.terms for atom in term
    )


def _is_boxed(atom: Atom, conclusion: Atom, term: Term, least_width: int) -> bool:
    """Whether each position is a variable or the node behind it, and something bounds an exterior one.

    A score names each variable once.
    """
    outside = conclusion.positions[-1].name if conclusion.is_exterior else ""
    others = {p.name for other in term if other.is_item and other is not atom for p in other.inside}
    bounds = {outside, *others, *(end.name for end in conclusion.span)}
    names = [p.name for p in atom.positions]

    def is_near(position: Position) -> bool:
        before = atom.is_item and least_width > 0 and position.name == conclusion.span[1].name
        return -before <= position.shift <= (position.name != outside)

    return (
        (atom.is_item or len({*names}) == len(names))
        and all(map(is_near, atom.positions))
        and (not atom.is_exterior or (names[-1] in bounds and not atom.positions[-1].shift))
    )

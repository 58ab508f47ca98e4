"""Keeps positions outside of a span within the sentence, by a factor that is zero in padding.

A span lies within that of the goal, and scores behind the sentence are zero. An exterior position that neither of them
bounds would run up to the end of the arrays: there, the score `NODE` of that position becomes a factor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from structdep._lowering.unfolding import Fold, Term
from structdep.deduction import NODE, Atom, Item, Position, Score

Symbols = Collection[Item | Score]


def guard(folds: Iterable[Fold], axioms: Collection[Atom]) -> tuple[Fold, ...]:
    """The folds, with the score `NODE` of each exterior position that nothing else bounds."""
    folds = tuple(folds)
    bounded = _bounded_items(folds, axioms)
    return tuple(replace(f, terms=tuple(_guarded(f.conclusion, term, bounded) for term in f.terms)) for f in folds)


def _bounded_items(folds: Iterable[Fold], axioms: Collection[Atom]) -> Symbols:
    """The items whose exterior position is a node of the sentence, whatever derives them."""
    sources: list[tuple[Atom, Term]] = [(axiom, ()) for axiom in axioms]
    sources += [(fold.conclusion, term) for fold in folds for term in fold.terms]
    sources = [(conclusion, term) for conclusion, term in sources if conclusion.is_exterior]
    bounded = {conclusion.symbol for conclusion, _ in sources}
    while wrong := {
        conclusion.symbol
        for conclusion, term in sources
        if conclusion.symbol in bounded and not _is_bounded(conclusion.positions[-1], conclusion, term, bounded)
    }:
        bounded -= wrong
    return bounded


def _guarded(conclusion: Atom, term: Term, bounded: Symbols) -> Term:
    exterior = conclusion.positions[-1].name if conclusion.is_exterior else None
    loose = [atom.positions[-1] for atom in term if atom.is_exterior and atom.symbol not in bounded]
    loose = [p for p in loose if not (p.name == exterior and p.shift <= 0)]  # this is left to what reads the conclusion
    loose = [p for p in loose if not _is_bounded(p, conclusion, term, bounded)]
    return (*term, *(Atom(NODE, (p,)) for p in dict.fromkeys(loose)))


def _is_bounded(position: Position, conclusion: Atom, term: Term, bounded: Symbols) -> bool:
    """Whether a node of the sentence is known that the position is not behind."""
    nodes = [Position(""), *conclusion.inside]
    for atom in term:
        is_known = not atom.is_item or atom.symbol in bounded
        nodes += atom.positions if is_known else atom.inside
    return any(node.name == position.name and node.shift >= position.shift for node in nodes)

"""Gluing: pieces of trees that share nodes, and one rule for all the ways in which these nodes hang under each other.

What others have to know of a piece is its state: for each of its nodes, the node at which its chain of heads within the
piece ends. Pieces fit if no node gets two heads, and none comes to hang under itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from structdep.deduction import Atom, Item, Position, Product, Rule, Score, arc

Under = Mapping[Position, Position]
"""Nodes that hang under another one, each with that other."""


@dataclass(frozen=True)
class Glued:
    """Pieces with nodes in common: each way in which they fit, with its items and scores."""

    nodes: tuple[Position, ...]
    ways: tuple[tuple[Under, Product], ...]

    def __mul__(self, other: Glued) -> Glued:
        nodes = tuple(dict.fromkeys(self.nodes + other.nodes))
        pairs = ((a, p, b, q) for (a, p), (b, q) in product(self.ways, other.ways) if not a.keys() & b.keys())
        return Glued(nodes, tuple(({**a, **b}, p * q) for a, p, b, q in pairs if _is_forest({**a, **b})))

    def __rshift__(self, conclusion: Placed) -> list[Rule]:
        """The rules. Nodes that the conclusion lacks must hang under one that it has."""
        rules = []
        for under, factors in self.ways:
            ends = {node: _end(node, under) for node in self.nodes}
            if set(ends.values()) <= set(conclusion.nodes):
                rules.append(factors >> conclusion.atom(ends))
        return rules


def _end(node: Position, under: Under) -> Position:
    return _end(under[node], under) if node in under else node


def _is_forest(under: Under) -> bool:
    ends = set(under)
    for _ in under:
        ends = {under.get(node, node) for node in ends}
    return not ends & under.keys()


@dataclass(frozen=True)
class Placed(Glued):
    """A kind of piece at its nodes, in all states."""

    piece: Piece
    index: Any

    def atom(self, ends: Under) -> Atom:
        """The item of one state."""
        state = "".join(self.piece.letters[self.nodes.index(ends[node])] for node in self.nodes)
        return self.piece.item(state)[self.index]


@dataclass(frozen=True)
class Piece:
    """Items that differ in their state alone, which stands in their names, by the nodes' `letters`."""

    name: str
    letters: str = "ij"
    exterior: bool = False

    def item(self, state: str) -> Item:
        return Item(f"{self.name}.{state}", self.exterior, self.name)

    def __getitem__(self, index: Any) -> Placed:
        nodes = self.item("")[index].positions
        bare = Placed(nodes, (), self, index)
        states = (dict(zip(nodes, ends, strict=True)) for ends in product(nodes, repeat=len(nodes)))
        ways = [
            ({node: end for node, end in ends.items() if node != end}, Product((bare.atom(ends),)))
            for ends in states
            if all(ends[end] == end for end in ends.values())
        ]
        return Placed(nodes, tuple(ways), self, index)


def link(a: Position, b: Position, *scores: Score) -> Glued:
    """An arc between two nodes, either way, with further scores of it."""
    one, other = (Product(tuple(score[ends] for score in (arc, *scores))) for ends in ((a, b), (b, a)))
    return Glued((a, b), (({b: a}, one), ({a: b}, other)))


Link = Callable[[Position, Position], Glued]


def maybe(glued: Glued) -> Glued:
    """The pieces, or nothing."""
    return Glued(glued.nodes, ((({}), Product(())), *glued.ways))


def useful(rules: Iterable[Rule], axioms: Collection[Atom], goal: Atom) -> tuple[Rule, ...]:
    """The rules that can be used: what they start from can be derived, and the goal needs what they conclude."""
    rules, known = list(rules), {axiom.symbol for axiom in axioms}
    while more := {r.conclusion.symbol for r in rules if {p.symbol for p in r.premises} <= known} - known:
        known |= more
    rules = [rule for rule in rules if {p.symbol for p in rule.premises} <= known]
    wanted = {goal.symbol}
    while more := {p.symbol for r in rules if r.conclusion.symbol in wanted for p in r.premises} - wanted:
        wanted |= more
    return tuple(rule for rule in rules if rule.conclusion.symbol in wanted)

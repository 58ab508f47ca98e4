"""A deduction system: axioms, rules and a goal, checked when it is built."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from structdep.deduction import checks, widths
from structdep.deduction.notation import NODE, Atom, Rule, Score, arc


@dataclass(frozen=True)
class DeductionSystem:
    """A deduction system over dependency trees, checked when built, equal by value.

    A rule holds for all values of its variables for which its items and scores exist. The nodes of a sentence of n
    words are 0 (the root) to n, or to the sentinel n + 1 if the goal ends there. An item exists if its positions are
    nodes of the sentence in order; an exterior position is left or right of the span, or one of its ends. A score
    exists within its table, which goes to n, or to n + 1 with `sentinel`; an arc exists if its dependent is a word
    other than its head. Axioms hold wherever they exist; an item that several axioms give holds once.

    Args:
        name: for messages.
        axioms: items that hold without premises, as `I[i, i + 1]`.
        rules: in any order. Equal rules count twice.
        goal: the item whose value is asked for: `I[0, n]`, or `I[0, n + 1]`.
        scores: the tables that rules mention, `arc` among them.
        unambiguous: whether every tree has exactly one derivation.
        trees: the name of the class of its trees. Systems that name one class have the same trees. Each derivation then
            has one arc to each word.
        for_best: a system with the same trees and fewer rules, which may derive trees several times. It finds the best
            tree where arcs alone have scores.

    Raises:
        TypeError, ValueError: a badly formed rule; the message quotes it.

    Example:
        >>> from structdep.deduction import DeductionSystem, Item, arc, either, indices, n
        >>> i, j, k = indices("i j k")
        >>> I = Item("I")
        >>> rule = I[i, k] * I[k, j] * either(arc[i, k], arc[j, k]) >> I[i, j]
        >>> print(DeductionSystem("arc-hybrid", axioms=(I[i, i + 1],), rules=(rule,), goal=I[0, n + 1]))
        arc-hybrid: time O(n^3), space O(n^2), several derivations a tree
          ⊢  I[i,i+1]
          I[i,k]  I[k,j]  (arc[i,k] ⊕ arc[j,k])  ⊢  I[i,j]
          goal  I[0,n+1]
    """

    name: str
    axioms: tuple[Atom, ...]
    rules: tuple[Rule, ...]
    goal: Atom
    scores: tuple[Score, ...] = (arc,)
    unambiguous: bool = False
    trees: str = ""
    for_best: DeductionSystem | None = None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, kind in (("axioms", Atom), ("rules", Rule), ("scores", Score)):
            object.__setattr__(self, name, self._members(name, kind))
        if not isinstance(self.goal, Atom):
            raise TypeError(f"{self.name}: the goal is an item at its positions, such as I[0, n], not {self.goal!r}")
        content = tuple(getattr(self, own.name) for own in fields(self) if own.compare)
        object.__setattr__(self, "_hash", hash(content))
        checks.check(self)

    def _members(self, name: str, kind: type) -> tuple[object, ...]:
        given = getattr(self, name)
        if isinstance(given, kind) or not isinstance(given, Iterable):
            raise TypeError(f"{self.name}: {name} are a sequence, not {given!r}: write {name}=(.., ) also for one")
        members = tuple(given)
        if wrong := [member for member in members if not isinstance(member, kind)]:
            raise TypeError(f"{self.name}: {name} are each of the type {kind.__name__}, which {wrong[0]!r} is not")
        return members

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process hashes strings otherwise: it builds the system again."""
        return type(self), tuple(getattr(self, own.name) for own in fields(self) if own.init)

    @cached_property
    def complexity(self) -> tuple[int, int]:
        """Exponents of n in time (the most positions in a rule) and space (in a stored item)."""
        stored = {f.symbol for rule in self.rules for f in rule.premises} - widths.transient(self)
        space = max(len(atom.positions) for rule in self.rules for atom in rule.premises if atom.symbol in stored)
        return max(len(rule.variables) for rule in self.rules), space

    @cached_property
    def declared(self) -> dict[str, tuple[Score, int]]:
        """The scores by name, each with its number of positions: the names that queries take."""
        arities = {atom.symbol: len(atom.positions) for rule in self.rules for atom in rule.scores}
        return {score.name: (score, arities[score]) for score in self.scores}

    @cached_property
    def tables(self) -> dict[str, tuple[Score, int]]:
        """`declared`, and `NODE`."""
        return {**self.declared, NODE.name: (replace(NODE, sentinel=bool(self.last)), 1)}

    @property
    def derives_each_tree_once(self) -> bool:
        """Whether each derivation is another tree, with one arc to each word, as `unambiguous` and `trees` declare."""
        return self.unambiguous and bool(self.trees)

    @property
    def last(self) -> int:
        """The last node is n + last: 1 where the system has a sentinel, else 0."""
        return self.goal.span[1].shift

    def __str__(self) -> str:
        time, space = self.complexity
        derivations = "one derivation a tree" if self.unambiguous else "several derivations a tree"
        lines = [f"{self.name}: time O(n^{time}), space O(n^{space}), {derivations}"]
        lines += [f"⊢  {axiom!r}" for axiom in self.axioms] + [repr(rule) for rule in self.rules]
        return "\n  ".join([*lines, f"goal  {self.goal!r}"])

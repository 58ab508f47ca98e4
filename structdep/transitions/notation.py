"""Transition systems as data: a transition is a line of the paper, `σ s0 | b0 β ⊢ σ | b0 β, b0 → s0`. No arrays here.

A configuration is a stack, a buffer and the heads that words have got: σ .. s2 s1 s0 | b0 b1 .. β. A rule says what
becomes of the nodes next to the bar, and which arc is made. What every system demands of a tree needs no mention:

* the nodes that a rule names must be there;
* a dependent is a word that has no head yet, and no node leaves without a head;
* the root neither leaves nor crosses the bar;
* a rule that changes the order of two nodes finds them in the order of the sentence, so that no two change it twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structdep.transitions.configuration import Configuration

STACK, BUFFER = ("s2", "s1", "s0"), ("b0", "b1")
PLACES = (*STACK, *BUFFER)
"""The places that rules and features name, from left to right."""

Condition = Callable[["Configuration"], Any]
"""What a transition demands beyond its rule: from a configuration to bool `[*batch]`."""
FORM = re.compile(r"σ(.*)\|(.*)β\s*⊢\s*σ(.*)\|(.*)β(?:,\s*(\w+)\s*→\s*(\w+))?")


@dataclass(frozen=True)
class Transition:
    """A transition: a rule from one configuration to the next, as papers write it.

    Args:
        name: the name in messages, and of its scores.
        rule: `σ .. | .. β ⊢ σ .. | .. β, head → dependent`. Before ⊢ it names nodes at the top of the stack (s2 s1 s0)
            and at the front of the buffer (b0 b1); after ⊢, the nodes that stand there in their place. The arc is
            optional.
        requires: a further condition, a function from a `Configuration` to bool `[*batch]`.

    Raises:
        ValueError: the rule does not have this form; the message quotes it.

    Example:
        >>> Transition("la2", "σ s1 s0 | b0 β ⊢ σ s0 | b0 β, b0 → s1").removed
        ('s1',)
        >>> Transition("la", "σ s0 | b0 β ⊢ σ | b0 b1 β")
        Traceback (most recent call last):
        ValueError: transition la: b1 comes from nowhere, in the rule  σ s0 | b0 β ⊢ σ | b0 b1 β
    """

    name: str
    rule: str
    requires: Condition | None = None

    def __post_init__(self) -> None:
        if problem := _problem(self):
            raise ValueError(f"transition {self.name}: {problem}, in the rule  {self.rule}")

    @cached_property
    def _parts(self) -> tuple[str, ...]:
        match = FORM.fullmatch(self.rule.strip())
        return tuple(part or "" for part in match.groups()) if match else ()

    @property
    def before(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The places that the rule names before ⊢: on the stack, and in the buffer."""
        return tuple(self._parts[0].split()), tuple(self._parts[1].split())

    @property
    def after(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The places that stand there after ⊢: on the stack, and in the buffer."""
        return tuple(self._parts[2].split()), tuple(self._parts[3].split())

    @property
    def arc(self) -> tuple[str, str] | None:
        """The head and the dependent of the arc that the transition makes, or None."""
        return (self._parts[4], self._parts[5]) if self._parts[4] else None

    @property
    def removed(self) -> tuple[str, ...]:
        """The nodes that leave the configuration."""
        return tuple(place for place in _joined(self.before) if place not in _joined(self.after))

    @property
    def crossing(self) -> tuple[str, ...]:
        """The nodes that go from the stack to the buffer, or from the buffer to the stack."""
        sides = zip(self.before, reversed(self.after), strict=True)
        return tuple(place for old, new in sides for place in old if place in new)

    @property
    def inverted(self) -> tuple[tuple[str, str], ...]:
        """The pairs of nodes whose order changes, as they were."""
        place = _joined(self.after).index
        kept = [p for p in _joined(self.before) if p not in self.removed]
        return tuple((a, b) for a, b in combinations(kept, 2) if place(a) > place(b))


def _joined(sides: tuple[tuple[str, ...], tuple[str, ...]]) -> tuple[str, ...]:
    return (*sides[0], *sides[1])


def _problem(transition: Transition) -> str:
    if not transition._parts:
        return "not of the form  σ .. | .. β ⊢ σ .. | .. β, head → dependent"
    stack, buffer = transition.before
    if stack != STACK[len(STACK) - len(stack) :] or buffer != BUFFER[: len(buffer)]:
        return f"before ⊢ stand the last of {' '.join(STACK)} and the first of {' '.join(BUFFER)}"
    if transition.arc and transition.arc[0] == transition.arc[1]:
        return f"{transition.arc[0]} is its own head"
    after = _joined(transition.after)
    for place in (*after, *(transition.arc or ())):
        if place not in (*stack, *buffer):
            return f"{place} comes from nowhere"
        if after.count(place) > 1:
            return f"{place} is there twice"
    return ""


@dataclass(frozen=True)
class TransitionSystem:
    """A transition system: transitions, and where the root stands.

    A run goes from ([0], [1..n]), or from ([], [1..n, 0]) with `root_last`, to the root alone. Every other
    configuration should have a legal transition. Systems are equal by value and hashable, so that they can be static
    arguments of jitted functions.

    Args:
        name: the name in messages.
        transitions: the transitions, which are also the last axis of scores. Of equal scores, the first is taken.
        root_last: whether the root is the last node of the buffer; otherwise it is the first node of the stack.
        trees: the name of the class of the trees that runs make.

    Raises:
        ValueError: two transitions of one name.

    Example:
        >>> shift = Transition("shift", "σ | b0 β ⊢ σ b0 | β")
        >>> right = Transition("right", "σ s1 s0 | β ⊢ σ s1 | β, s1 → s0")
        >>> print(TransitionSystem("rightward", (shift, right)))
        rightward: from ([0], [1..n]), at most 2n transitions
          shift  σ | b0 β ⊢ σ b0 | β
          right  σ s1 s0 | β ⊢ σ s1 | β, s1 → s0
    """

    name: str
    transitions: tuple[Transition, ...]
    root_last: bool = False
    trees: str = ""

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"{self.name} has several transitions of one name: {', '.join(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the transitions, in the order of the last axis of scores."""
        return tuple(transition.name for transition in self.transitions)

    @property
    def swaps(self) -> bool:
        """Whether some transition changes the order of nodes."""
        return any(transition.inverted for transition in self.transitions)

    def most(self, words: int) -> int:
        """The largest number of transitions of a run over `words` words: 2n without swaps, n(n+1) with swaps."""
        return words * (words + 1) if self.swaps else 2 * words

    def __str__(self) -> str:
        start = "([], [1..n, 0])" if self.root_last else "([0], [1..n])"
        width = max(map(len, self.names))
        lines = [f"{self.name}: from {start}, at most {'n(n+1)' if self.swaps else '2n'} transitions"]
        for t in self.transitions:
            condition = f", if {t.requires.__name__.replace('_', ' ')}" if t.requires else ""
            lines.append(f"  {t.name:<{width}}  {t.rule}{condition}")
        return "\n".join(lines)


def check_system(system: object) -> None:
    """Raise TypeError unless it is a transition system."""
    if not isinstance(system, TransitionSystem):
        raise TypeError(f"{type(system).__name__} is no transition system: give one of structdep.transitions")

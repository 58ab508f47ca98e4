"""The notation: a deduction system is a value that reads like the paper.

Rules are built by operators and nothing runs: `*` joins the premises and scores of a rule (semiring product), `either`
lists alternatives (semiring sum), `>>` gives the conclusion. Positions that the conclusion does not mention are summed.

    >>> i, j, k = indices("i j k")
    >>> I = Item("I")
    >>> I[i, k] * I[k, j] * either(arc[i, k], arc[j, k]) >> I[i, j]
    I[i,k]  I[k,j]  (arc[i,k] ⊕ arc[j,k])  ⊢  I[i,j]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

from structdep import checks, scheduling


@dataclass(frozen=True, order=True)
class Position:
    """A node of the sentence: a variable, the root (0) or the sentence length `n`, each plus a constant."""

    name: str
    shift: int = 0

    def __add__(self, shift: int) -> Position:
        return Position(self.name, self.shift + shift)

    def __sub__(self, shift: int) -> Position:
        return self + -shift

    def __repr__(self) -> str:
        if not self.name:
            return str(self.shift)
        return f"{self.name}{self.shift:+d}" if self.shift else self.name

    @property
    def is_variable(self) -> bool:
        return self.name not in ("", "n")


n = Position("n")
"""The number of words of the sentence; node `n + 1` is the sentinel behind them."""


def indices(names: str) -> tuple[Position, ...]:
    """Position variables, from their names: `i, j, k = indices("i j k")`."""
    return tuple(Position(name) for name in names.replace(",", " ").split())


def _position(value: object) -> Position:
    if isinstance(value, bool) or not isinstance(value, Position | int):
        raise TypeError(f"a position is a variable from indices(), n or an integer, not {value!r}")
    return Position("", value) if isinstance(value, int) else value


@dataclass(frozen=True)
class Item:
    """A kind of item. `item[i, h, j]` spans i..j with h inside; `item[i:j, x]`, if `exterior`, names x outside of it.

    Such a position is left or right of the span, or one of its ends. Items of one `family` differ in a state that their
    names tell: they are computed side by side.
    """

    name: str
    exterior: bool = False
    family: str = ""

    def __getitem__(self, positions: Position | int | slice | tuple[Position | int | slice, ...]) -> Atom:
        first, *others = positions if isinstance(positions, tuple) else (positions,)
        rest = tuple(map(_position, others))
        if not isinstance(first, slice):
            return Atom(self, (_position(first), *rest))
        if not self.exterior:
            declare = f'declare Item("{self.name}", exterior=True)'
            raise ValueError(f"{self.name}[i:j, x] names a position outside its span: {declare}")
        return Atom(self, (_position(first.start), _position(first.stop), *rest))


@dataclass(frozen=True)
class Score:
    """A table of scores by name. With `sentinel`, its positions go up to the sentinel n + 1, else to n."""

    name: str
    sentinel: bool = False

    def __getitem__(self, positions: Position | int | tuple[Position | int, ...]) -> Atom:
        return Atom(self, tuple(_position(p) for p in (positions if isinstance(positions, tuple) else (positions,))))


LABEL = "label"
"""The name of scores of labelled arcs, `[*batch, n+1, n+1, labels]`, which all systems take."""

NODE = Score(".node")
"""One at each node of a sentence, zero behind it: no score of a user, but a factor of products that need it."""

arc = Score("arc")
"""The score of an arc, `arc[head, dependent]`: in every system, and the semiring's zero where no tree has the arc."""


@dataclass(frozen=True)
class Atom:
    """An item or a score at its positions."""

    symbol: Item | Score
    positions: tuple[Position, ...]

    def __mul__(self, other: Factor) -> Product:
        return Product((self,)) * other

    def __rshift__(self, conclusion: Atom) -> Rule:
        return Product((self,)) >> conclusion

    def __repr__(self) -> str:
        names = [repr(p) for p in self.positions]
        if self.is_exterior:
            names = [":".join(names[:2]), *names[2:]]
        return f"{self.symbol.name}[{','.join(names)}]"

    @property
    def is_item(self) -> bool:
        return isinstance(self.symbol, Item)

    @property
    def is_exterior(self) -> bool:
        """Whether it is an item whose last position lies outside of its span."""
        return isinstance(self.symbol, Item) and self.symbol.exterior

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(p.name for p in self.positions if p.is_variable)

    @property
    def is_absolute(self) -> bool:
        """Whether it names the root, the last word or the sentinel."""
        return any(not p.is_variable for p in self.positions)

    @property
    def ends(self) -> tuple[int, int]:
        """Which of an item's positions are the left and right end of its span."""
        return 0, 1 if self.is_exterior else len(self.positions) - 1

    @property
    def inside(self) -> tuple[Position, ...]:
        """The positions within its span, ends included."""
        return self.positions[:-1] if self.is_exterior else self.positions

    @property
    def span(self) -> tuple[Position, Position]:
        """Left and right end of an item."""
        left, right = self.ends
        return self.positions[left], self.positions[right]


@dataclass(frozen=True)
class Either:
    """Alternatives, each a product of scores."""

    options: tuple[Product, ...]

    def __mul__(self, other: Factor) -> Product:
        return Product((self,)) * other

    def __repr__(self) -> str:
        return "(" + " ⊕ ".join(" ".join(map(repr, option.factors)) for option in self.options) + ")"

    @property
    def variables(self) -> frozenset[str]:
        return frozenset().union(*(option.variables for option in self.options))


@dataclass(frozen=True)
class Product:
    """A semiring product of items, scores and alternatives."""

    factors: tuple[Atom | Either, ...]

    def __mul__(self, other: Factor) -> Product:
        return Product(self.factors + (other.factors if isinstance(other, Product) else (other,)))

    def __rshift__(self, conclusion: Atom) -> Rule:
        if not isinstance(conclusion, Atom):
            raise TypeError(f"a rule concludes one item, not {conclusion!r}: write scores before >>")
        return Rule(self.factors, conclusion)

    @property
    def variables(self) -> frozenset[str]:
        return frozenset().union(*(factor.variables for factor in self.factors))


Factor = Atom | Either | Product


def either(*options: Atom | Product | Iterable[Atom | Product]) -> Either:
    """Alternatives, summed: `either(arc[i, k], arc[j, k])`, or one iterable of them."""
    flat = [o for option in options for o in ((option,) if isinstance(option, Atom | Product) else option)]
    if not flat:
        raise ValueError("either() needs at least one alternative")
    return Either(tuple(o if isinstance(o, Product) else Product((o,)) for o in flat))


@dataclass(frozen=True)
class Rule:
    """Premises and scores, and what follows from them."""

    factors: tuple[Atom | Either, ...]
    conclusion: Atom

    def __repr__(self) -> str:
        return "  ".join(map(repr, self.factors)) + f"  ⊢  {self.conclusion!r}"

    @property
    def premises(self) -> tuple[Atom, ...]:
        return tuple(f for f in self.factors if isinstance(f, Atom) and f.is_item)

    @property
    def scores(self) -> tuple[Atom, ...]:
        """Every score that the rule mentions, alternatives included."""
        atoms = dict.fromkeys(atom for product in self.expand() for atom in product)
        return tuple(atom for atom in atoms if not atom.is_item)

    @property
    def variables(self) -> frozenset[str]:
        return self.conclusion.variables.union(*(f.variables for f in self.factors))

    def expand(self) -> list[tuple[Atom, ...]]:
        """The rule's alternatives, multiplied out: each a plain product of items and scores."""
        return _multiply_out(self.factors)


def _multiply_out(factors: tuple[Atom | Either, ...]) -> list[tuple[Atom, ...]]:
    products: list[tuple[Atom, ...]] = [()]
    for factor in factors:
        nested = factor.options if isinstance(factor, Either) else ()
        options = [(factor,)] if isinstance(factor, Atom) else [o for p in nested for o in _multiply_out(p.factors)]
        products = [(*p, *o) for p in products for o in options]
    return products


@dataclass(frozen=True)
class DeductionSystem:
    """A deduction system over dependency trees, checked when built, equal by value.

    A rule holds at all nodes of its variables at which its items and scores exist. The nodes of a sentence of n words
    are 0 (the root) to n, or to the sentinel n + 1 if the goal ends there. An item exists if its positions are nodes of
    the sentence in order; an exterior position is left or right of the span, or one of its ends. A score exists within
    its table, which goes to n, or to n + 1 with `sentinel`; an arc exists if its dependent is a word other than its
    head. Axioms hold wherever they exist; an item that several axioms give holds once.

    Args:
        name: for messages.
        axioms: items that hold without premises, as `I[i, i + 1]`.
        rules: in any order. Equal rules count twice.
        goal: the item whose value is asked for: `I[0, n]`, or `I[0, n + 1]`.
        scores: the tables that rules mention, `arc` among them.
        unambiguous: whether every tree has exactly one derivation.
        trees: the name of the class of its trees. Systems that name one class have the same trees.
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

    @cached_property
    def complexity(self) -> tuple[int, int]:
        """Exponents of n in time (the most positions in a rule) and space (in a stored item)."""
        stored = {f.symbol for rule in self.rules for f in rule.premises} - scheduling.transient(self)
        space = max(len(atom.positions) for rule in self.rules for atom in rule.premises if atom.symbol in stored)
        return max(len(rule.variables) for rule in self.rules), space

    @cached_property
    def declared(self) -> dict[str, tuple[Score, int]]:
        """The scores by name, each with its number of positions."""
        arities = {atom.symbol: len(atom.positions) for rule in self.rules for atom in rule.scores}
        return {score.name: (score, arities[score]) for score in self.scores}

    @cached_property
    def tables(self) -> dict[str, tuple[Score, int]]:
        """`declared`, and `NODE`."""
        return {**self.declared, NODE.name: (replace(NODE, sentinel=bool(self.last)), 1)}

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

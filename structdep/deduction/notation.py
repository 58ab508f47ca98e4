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
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Position:
    """A node of the sentence in a rule: a variable, the root (0) or the sentence length `n`, plus a constant.

    Args:
        name: the name of the variable; "n" is the length, "" the root.
        shift: the constant.

    Example:
        >>> (i,) = indices("i")
        >>> i + 1, n + 1, Position("", 0)
        (i+1, n+1, 0)
    """

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
        """Whether it is a variable, plus a constant."""
        return self.name not in ("", "n")


n = Position("n")
"""The number of words of the sentence; node `n + 1` is the sentinel behind them."""


def indices(names: str) -> tuple[Position, ...]:
    """Position variables, from their names.

    Args:
        names: names, separated by blanks or commas.

    Returns:
        A variable for each name.

    Example:
        >>> i, j, k = indices("i j k")
        >>> i, k + 1
        (i, k+1)
    """
    return tuple(Position(name) for name in names.replace(",", " ").split())


def _position(value: object) -> Position:
    if isinstance(value, bool) or not isinstance(value, Position | int):
        raise TypeError(f"a position is a variable from indices(), n or an integer, not {value!r}")
    return Position("", value) if isinstance(value, int) else value


@dataclass(frozen=True)
class Item:
    """A kind of partial result of a deduction system.

    `item[i, h, j]` is an item at its positions, the nodes i ≤ h ≤ j: it spans i to j, and h is a node inside. With
    `exterior`, `item[i:j, x]` spans i to j and also names a node x outside: left or right of the span, or one of its
    ends.

    Args:
        name: the name in rules and messages.
        exterior: whether the last position is outside of the span.
        state_class: a name that items of one kind share if they differ only in a state, as N0 and N1 do. It changes no
            result. Items of one state class are stored in one array and computed together, in fewer, larger operations.

    Example:
        >>> i, k, j, x = indices("i k j x")
        >>> Item("I")[i, k] * Item("I")[k, j] >> Item("I")[i, j]
        I[i,k]  I[k,j]  ⊢  I[i,j]
        >>> Item("L", exterior=True)[i:j, x]
        L[i:j,x]
    """

    name: str
    exterior: bool = False
    state_class: str = ""

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
    """A table of scores, by name: `score[i, j]` is its entry at two positions.

    Args:
        name: the name of the table in the mapping of scores that queries take.
        sentinel: whether axes of the table have n+2 positions, the last of which is the sentinel behind the sentence;
            otherwise they have n+1.

    Example:
        >>> i, j = indices("i j")
        >>> Score("shift", sentinel=True)[i, j]
        shift[i,j]
    """

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
    """An item or a score at its positions.

    Args:
        symbol: the item or the score.
        positions: its positions; for an exterior item, the ends of the span first, the exterior position last.

    Example:
        >>> i, j = indices("i j")
        >>> Item("I")[i, j].span, arc[i, j].is_item
        ((i, j), False)
    """

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
        """Whether it is an item, not a score."""
        return isinstance(self.symbol, Item)

    @property
    def is_exterior(self) -> bool:
        """Whether it is an item whose last position lies outside of its span."""
        return isinstance(self.symbol, Item) and self.symbol.exterior

    @property
    def variables(self) -> frozenset[str]:
        """The names of its variables."""
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
    """Alternative scores, summed; made by `either`.

    Args:
        options: the alternatives, each a product of scores.
    """

    options: tuple[Product, ...]

    def __mul__(self, other: Factor) -> Product:
        return Product((self,)) * other

    def __repr__(self) -> str:
        return "(" + " ⊕ ".join(" ".join(map(repr, option.factors)) for option in self.options) + ")"

    @property
    def variables(self) -> frozenset[str]:
        """The names of the variables of all alternatives."""
        return frozenset().union(*(option.variables for option in self.options))


@dataclass(frozen=True)
class Product:
    """A semiring product of items, scores and alternatives; made by `*`.

    Args:
        factors: the factors, in the order in which they are written.
    """

    factors: tuple[Atom | Either, ...]

    def __mul__(self, other: Factor) -> Product:
        return Product(self.factors + (other.factors if isinstance(other, Product) else (other,)))

    def __rshift__(self, conclusion: Atom) -> Rule:
        if not isinstance(conclusion, Atom):
            raise TypeError(f"a rule concludes one item, not {conclusion!r}: write scores before >>")
        return Rule(self.factors, conclusion)

    @property
    def variables(self) -> frozenset[str]:
        """The names of the variables of all factors."""
        return frozenset().union(*(factor.variables for factor in self.factors))


Factor = Atom | Either | Product


def either(*options: Atom | Product | Iterable[Atom | Product]) -> Either:
    """Alternative scores of a rule, summed by the semiring.

    Args:
        options: scores or products of scores, or one iterable of them.

    Returns:
        A factor of a rule.

    Raises:
        ValueError: there is no alternative.

    Example:
        >>> i, k, j = indices("i k j")
        >>> either(arc[i, k], arc[j, k])
        (arc[i,k] ⊕ arc[j,k])
    """
    flat = [o for option in options for o in ((option,) if isinstance(option, Atom | Product) else option)]
    if not flat:
        raise ValueError("either() needs at least one alternative")
    return Either(tuple(o if isinstance(o, Product) else Product((o,)) for o in flat))


@dataclass(frozen=True)
class Rule:
    """Premises and scores, and the item that follows from them; made by `>>`.

    Args:
        factors: the premises (items), scores and alternatives of scores.
        conclusion: the item that follows.

    Example:
        >>> i, k, j = indices("i k j")
        >>> rule = Item("I")[i, k] * Item("I")[k, j] * arc[i, k] >> Item("I")[i, j]
        >>> rule.premises, rule.scores
        ((I[i,k], I[k,j]), (arc[i,k],))
    """

    factors: tuple[Atom | Either, ...]
    conclusion: Atom

    def __repr__(self) -> str:
        return "  ".join(map(repr, self.factors)) + f"  ⊢  {self.conclusion!r}"

    @property
    def premises(self) -> tuple[Atom, ...]:
        """The items from which the conclusion follows."""
        return tuple(f for f in self.factors if isinstance(f, Atom) and f.is_item)

    @property
    def scores(self) -> tuple[Atom, ...]:
        """Every score that the rule mentions, alternatives included."""
        atoms = dict.fromkeys(atom for product in self.expand() for atom in product)
        return tuple(atom for atom in atoms if not atom.is_item)

    @property
    def variables(self) -> frozenset[str]:
        """The names of the variables of all factors and of the conclusion."""
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

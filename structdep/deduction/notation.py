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

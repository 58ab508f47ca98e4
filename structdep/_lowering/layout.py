"""Where values lie: charts and score tables stored so that every premise is one slice, never a gather.

An item is stored by its width and by the offsets of its other positions, beside the left end of its span (side "L",
offsets counted from there) or its right end (side "R"). What is read at its own width alone is stored as on side "L",
but needs one width at a time (side "="). Nodes stand on a circle: from the right end on, the positions outside a span
follow each other up to its left end. At width w, all items of a rule are then boxes of these arrays whose corners are
affine in w: a `View`.
Axes of an array: the items of a store, the width, the other positions, the anchoring end, then the batch (and the
semiring's own axes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from structdep._lowering.views import Dim, Key, View
from structdep.deduction import Atom, Position

SIDES = "=LR"
"""Where charts are anchored: at the left or the right end of spans; "=" at the left, for reads at their own width."""

ROWS = ""
"""The name of the axis of rows: the items of a store that are computed together."""


@dataclass(frozen=True)
class Layout:
    """Sizes of the arrays for sentences with nodes 0..widest, where blocks are of at most `block` + 1 widths.

    With `batch`, the size of the batch, grids have the anchoring end and the batch as one axis.
    """

    widest: int
    block: int
    batch: int = 1

    @property
    def nodes(self) -> int:
        return self.widest + 1

    def size(self, side: str, outside: bool, across: bool = False) -> int:
        """Of an axis of offsets, for positions inside the span or outside of it.

        A box begins as if its width were its block's least, or ends as if it were the greatest: up to `block` beyond.
        Not so inside if offsets are counted from the left end, nor outside from the right end, unless `across`: where
        the position is outside of an item, but not of its conclusion.
        """
        exact = (side == "R") == outside and not across
        return self.widest + 2 + (0 if exact else self.block)

    def shape(self, side: str, atom: Atom, across: bool = False) -> tuple[int, ...]:
        """The shape of an item's chart, without the batch."""
        outside = [outside for m, outside in enumerate(outsides(atom)) if m != atom.ends[0]]
        offsets = [self.size(side, own, own and across) for own in outside]
        return (*offsets, self.nodes + (self.block if side == "R" else 0))

    def slab(self, atom: Atom) -> tuple[int, ...]:
        """The shape of a chart of one width."""
        return (1, *self.shape("=", atom)[1:])

    def cell(self, side: str, atom: Atom, nodes: Sequence[jax.Array]) -> list[jax.Array]:
        """Where the chart of this side has the item at these positions: nowhere if they are no nodes."""
        anchor, other = atom.ends[::-1] if side == "R" else atom.ends
        offsets = [node - nodes[anchor] + (self.widest if side == "R" else 0) for node in nodes]
        if atom.is_exterior:
            beyond = nodes[-1] - nodes[anchor]
            around = jnp.where(beyond < (side != "R"), beyond + self.nodes, beyond)
            offsets[-1] = jnp.where((nodes[-1] >= 0) & (nodes[-1] < self.nodes), around, -1)
        inner = [offset for m, offset in enumerate(offsets) if m not in atom.ends]
        return [offsets[other], *inner, nodes[anchor]]


def sides(atom: Atom, conclusion: Atom) -> str:
    """The sides of its span at which an item meets the conclusion: "L", "R", or "LR" if it spans as much."""
    ends = [(end.name, end.shift) for end in atom.span]
    meets = [own == (end.name, 0) for own, end in zip(ends, conclusion.span, strict=True)]
    if not any(meets):
        raise ValueError(f"{atom!r} shares neither end of its span with {conclusion!r}")
    return "".join(side for side, does in zip("LR", meets, strict=True) if does)


def exposed(atom: Atom) -> set[str]:
    """The ends of its span, and the position outside of it."""
    return {p.name for p in (*atom.span, *(atom.positions[-1:] if atom.is_exterior else ()))}


def outsides(atom: Atom) -> list[bool]:
    """For each position of an item, whether it lies outside of the span."""
    return [atom.is_exterior and m == len(atom.positions) - 1 for m in range(len(atom.positions))]


@dataclass(frozen=True)
class Grid:
    """The axes of a product at width `lo`..`hi` of its conclusion: summed positions, rows, inner ones, the left end."""

    layout: Layout
    conclusion: Atom
    summed: tuple[str, ...]
    lo: int
    hi: int
    rows: int = 1

    @property
    def start(self) -> str:
        return self.conclusion.span[0].name

    @property
    def end(self) -> str:
        return self.conclusion.span[1].name

    @property
    def axes(self) -> tuple[str, ...]:
        names = [p.name for p in self.conclusion.positions if p.name not in (self.start, self.end)]
        rows = (ROWS,) if self.rows > 1 else ()
        return (*self.summed, *rows, *names, self.start)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the conclusion, without the batch."""
        return tuple(self.size(name) for name in self.axes[len(self.summed) :])

    def size(self, name: str) -> int:
        if name == ROWS:
            return self.rows
        if self._outside(name):
            return self.layout.nodes - self.lo + 1
        return (self.layout.nodes - self.lo) * self.layout.batch if name == self.start else self.hi + 1

    def _outside(self, name: str) -> bool:
        """Whether a position lies outside of the conclusion's span."""
        return self.conclusion.is_exterior and name == self.conclusion.positions[-1].name

    def item(self, side: str, atom: Atom, store: str, rows: Sequence[int]) -> View:
        """Items at these positions, stored at this side in these rows of their store, as a box over this grid."""
        placed = list(zip(atom.positions, outsides(atom), strict=True))
        other = atom.ends[0 if side == "R" else 1]
        inner = [pair for m, pair in enumerate(placed) if m not in atom.ends]
        return self._box((side, store), side, [placed[other], *inner], rows)

    def score(self, atoms: Sequence[Atom]) -> View:
        """Scores at the same positions, in one order or another, as a box over this grid."""
        positions = atoms[0].positions
        orders = [tuple(positions.index(p) for p in atom.positions) for atom in atoms]
        tables = tuple(dict.fromkeys(orders))
        rows = [tables.index(order) for order in orders]
        for side, name in (("L", self.start), ("R", self.end)):
            anchors = [m for m, p in enumerate(positions) if (p.name, p.shift) == (name, 0)]
            if anchors:
                others = [p for m, p in enumerate(positions) if m != anchors[0]]
                return self._table((side, atoms[0].symbol.name, tables, anchors[0]), others, rows)
        return self._table(("-", atoms[0].symbol.name, tables, None), positions, rows)

    def _table(self, key: Key, others: Sequence[Position], rows: Sequence[int]) -> View:
        placed = [(p, self._outside(p.name)) for p in others]
        side = "R" if key[0] == "R" else "L"
        return self._box((*key, *(outside for _, outside in placed)), side, placed, rows)

    def _box(self, key: Key, side: str, others: Sequence[tuple[Position, bool]], rows: Sequence[int]) -> View:
        several = len(set(rows)) > 1
        dims = [Dim(min(rows), 0, len(rows) if several else 1, self.axes.index(ROWS) if several else None)]
        dims += [self._dim(side, *pair) for pair in others]
        slope = self.layout.batch if side == "R" else 0
        dims.append(Dim(0, slope, self.size(self.start), self.axes.index(self.start)))
        return View(key, tuple(dims), len(self.axes), tuple(rows))

    def _dim(self, side: str, position: Position, outside: bool) -> Dim:
        """The axis of a position: offsets from the left end of the conclusion, or from its right end."""
        name, slope = position.name, -1 if side == "R" else 0
        if self._outside(name):
            return Dim(position.shift, slope + 1, self.size(name), self.axes.index(name))
        start = position.shift + ((self.layout.nodes if outside else self.layout.widest) if side == "R" else 0)
        if name == self.start:
            return Dim(start, slope, 1, None)
        if name == self.end:
            return Dim(start, slope + 1, 1, None)
        return Dim(start, slope, self.size(name), self.axes.index(name))

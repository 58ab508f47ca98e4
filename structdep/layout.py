"""Where values lie: charts and score tables stored so that every premise is one slice, never a gather.

An item is stored by its width and by the offsets of its other positions, beside the left end of its span (side "L",
offsets counted from there) or its right end (side "R"). At width w, all items of a rule are then boxes of these arrays
whose corners are affine in w: a `View`.
Axes of an array: the width, the other positions, the anchoring end, then the batch (and the semiring's own axes).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from structdep.deduction import Atom, Position

Key = tuple[Any, ...]
"""Names an array: ("L" or "R", item name) for a chart, ("L", "R" or "-", score atom) for a skewed score table."""


class Dim(NamedTuple):
    """One axis of a box: its corner is `start + slope * width`; `axis` is its place in the grid, None if dropped."""

    start: int
    slope: int
    size: int
    axis: int | None


@dataclass(frozen=True)
class View:
    """A box of a stored array, seen as an array over the grid of a product (with unit axes where it is constant)."""

    key: Key
    dims: tuple[Dim, ...]
    rank: int

    def _corner(self, leaf: jax.Array, width: jax.Array | int) -> list[Any]:
        corner = [d.start + d.slope * width if d.slope else d.start for d in self.dims]
        return corner + [0] * (leaf.ndim - len(corner))

    def _box(self, leaf: jax.Array, width: jax.Array | int) -> jax.Array:
        sizes = [d.size for d in self.dims] + list(leaf.shape[len(self.dims) :])
        return lax.dynamic_slice(leaf, self._corner(leaf, width), sizes, allow_negative_indices=False)

    def read(self, source: Any, width: jax.Array | int) -> Any:
        """The box at this width, its axes moved to their places in the grid."""
        return jax.tree.map(lambda leaf: self._to_grid(self._box(leaf, width)), source)

    def _to_grid(self, box: jax.Array) -> jax.Array:
        trailing = box.shape[len(self.dims) :]
        kept = [d.axis for d in self.dims if d.axis is not None]
        box = box.reshape([d.size for d in self.dims if d.axis is not None] + list(trailing))
        order = sorted(range(len(kept)), key=lambda m: kept[m])
        box = box.transpose(*order, *range(len(kept), box.ndim))
        sizes = {d.axis: d.size for d in self.dims}
        return box.reshape([sizes.get(axis, 1) for axis in range(self.rank)] + list(trailing))

    def _from_grid(self, value: jax.Array) -> jax.Array:
        trailing = value.shape[self.rank :]
        kept = [d.axis for d in self.dims if d.axis is not None]
        value = value.reshape([d.size for axis in sorted(kept) for d in self.dims if d.axis == axis] + list(trailing))
        order = [sorted(kept).index(axis) for axis in kept]
        value = value.transpose(*order, *range(len(kept), value.ndim))
        return value.reshape([d.size for d in self.dims] + list(trailing))

    def write(self, target: Any, value: Any, width: jax.Array | int) -> Any:
        """The array with the box at this width replaced."""

        def update(leaf: jax.Array, new: jax.Array) -> jax.Array:
            return _replace(leaf, self._from_grid(new).astype(leaf.dtype), self._corner(leaf, width))

        return jax.tree.map(update, target, value)

    def add(self, target: Any, value: Any, width: jax.Array | int) -> Any:
        """The array with `value` added to the box at this width: the transpose of `read`."""

        def update(leaf: jax.Array, new: jax.Array) -> jax.Array:
            box = self._box(leaf, width) + self._from_grid(new)
            return _replace(leaf, box, self._corner(leaf, width))

        return jax.tree.map(update, target, value)


def _replace(leaf: jax.Array, box: jax.Array, corner: list[Any]) -> jax.Array:
    return lax.dynamic_update_slice(leaf, box, corner, allow_negative_indices=False)


@dataclass(frozen=True)
class Layout:
    """Sizes of the arrays for sentences with nodes 0..widest, where blocks are of at most `block` + 1 widths."""

    widest: int
    block: int

    @property
    def nodes(self) -> int:
        return self.widest + 1

    def size(self, side: str, outside: str) -> int:
        """Of an axis of offsets, for positions inside the span or `outside` of it, on the "left" or the "right".

        Offsets go from 0 to n + 1, or back to -n. A box begins as if its width were its block's least, or ends as if it
        were the greatest, and so reaches up to `block` beyond that.
        """
        blocks = {("L", "right"): 1, ("R", ""): 1, ("R", "left"): 2}.get((side, outside), 0)
        return self.widest + 2 + blocks * self.block

    def base(self, side: str, outside: str) -> int:
        """Where offset 0 stands on such an axis."""
        if side == "L":
            return self.widest if outside == "left" else 0
        return {"left": self.widest + self.block, "": self.widest, "right": 0}[outside]

    def shape(self, side: str, atom: Atom) -> tuple[int, ...]:
        """The shape of a chart, without the batch."""
        offsets = [self.size(side, kind) for m, kind in enumerate(outsides(atom)) if m != atom.ends[0]]
        return (*offsets, self.nodes + (self.block if side == "R" else 0))

    def cell(self, atom: Atom, nodes: Sequence[jax.Array]) -> list[jax.Array]:
        """Where the chart of side "L" has the item with its positions at these nodes."""
        left, right = atom.ends
        offsets = [nodes[m] - nodes[left] + self.base("L", kind) for m, kind in enumerate(outsides(atom))]
        inner = [offset for m, offset in enumerate(offsets) if m not in atom.ends]
        return [offsets[right], *inner, nodes[left]]


def outsides(atom: Atom) -> list[str]:
    """For each position of an item, on which side of the span it lies: "left", "right" or "" (inside)."""
    exterior = getattr(atom.symbol, "exterior", "")
    return [exterior if m == len(atom.positions) - 1 else "" for m in range(len(atom.positions))]


@dataclass(frozen=True)
class Grid:
    """The axes of a product at width `lo`..`hi` of its conclusion: summed positions, inner positions, the left end."""

    layout: Layout
    conclusion: Atom
    summed: tuple[str, ...]
    lo: int
    hi: int

    @property
    def start(self) -> str:
        return self.conclusion.span[0].name

    @property
    def end(self) -> str:
        return self.conclusion.span[1].name

    @property
    def axes(self) -> tuple[str, ...]:
        names = [p.name for p in self.conclusion.positions if p.name not in (self.start, self.end)]
        return (*self.summed, *names, self.start)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the conclusion, without the batch."""
        return tuple(self.size(name) for name in self.axes[len(self.summed) :])

    def size(self, name: str) -> int:
        return self.layout.nodes - self.lo if name == self.start or self._outside(name) else self.hi + 1

    def _outside(self, name: str) -> str:
        """On which side of the conclusion's span a position lies."""
        is_exterior = name == self.conclusion.positions[-1].name
        return getattr(self.conclusion.symbol, "exterior", "") if is_exterior else ""

    def view(self, atom: Atom) -> View:
        """An item or a score as a box over this grid."""
        return self._item(self.side(atom), atom) if atom.is_item else self._score(atom)

    def side(self, atom: Atom) -> str:
        """The side of its span at which an item meets the conclusion."""
        left, right = atom.span
        if (left.name, left.shift) == (self.start, 0):
            return "L"
        if (right.name, right.shift) == (self.end, 0):
            return "R"
        raise ValueError(f"{atom!r} shares neither end of its span with {self.conclusion!r}")

    def target(self, side: str) -> View:
        """Where the conclusion is stored at this side."""
        return self._item(side, self.conclusion)

    def _item(self, side: str, atom: Atom) -> View:
        placed = list(zip(atom.positions, outsides(atom), strict=True))
        other = atom.ends[1 if side == "L" else 0]
        inner = [pair for m, pair in enumerate(placed) if m not in atom.ends]
        return self._box((side, atom.symbol.name), side, [placed[other], *inner])

    def _score(self, atom: Atom) -> View:
        placed = [(p, self._outside(p.name)) for p in atom.positions]
        for side, name in (("L", self.start), ("R", self.end)):
            anchors = [m for m, p in enumerate(atom.positions) if (p.name, p.shift) == (name, 0)]
            if anchors:
                others = [pair for m, pair in enumerate(placed) if m != anchors[0]]
                return self._box((side, atom.symbol.name, anchors[0], *(kind for _, kind in others)), side, others)
        return self._box(("-", atom.symbol.name, None, *(kind for _, kind in placed)), "L", placed)

    def _box(self, key: Key, side: str, others: Sequence[tuple[Position, str]]) -> View:
        dims = [self._dim(side, *pair) for pair in others]
        dims.append(Dim(0, 1 if side == "R" else 0, self.size(self.start), self.axes.index(self.start)))
        return View(key, tuple(dims), len(self.axes))

    def _dim(self, side: str, position: Position, outside: str) -> Dim:
        """The axis of a position: offsets from the left end of the conclusion, or from its right end."""
        name, start = position.name, position.shift + self.layout.base(side, outside)
        slope = 0 if side == "L" else -1
        if name == self.start:
            return Dim(start, slope, 1, None)
        if name == self.end:
            return Dim(start, slope + 1, 1, None)
        if self._outside(name) == "left":
            start -= self.size(name) - 1
        if self._outside(name) == "right":
            slope += 1
        return Dim(start, slope, self.size(name), self.axes.index(name))


def skew_all(keys: Iterable[Key], layout: Layout, zero: Any, tables: Mapping[str, Any]) -> dict[Key, Any]:
    """The score tables as the views want them; `zero` is like a table, with a number for each array."""
    return {key: jax.tree.map(partial(skew, key=key, layout=layout), tables[key[1]], zero) for key in keys}


def skew(table: jax.Array, zero: float, key: Key, layout: Layout) -> jax.Array:
    """A score table `[positions..., batch, ...]` laid out as the box that `Grid.view` looks for under this key."""
    side, _, anchor, *outside = key
    if anchor is None:
        side, anchor, table = "L", 0, jnp.broadcast_to(table[None], (layout.nodes, *table.shape))
    table = jnp.moveaxis(table, anchor, 0)
    for axis, kind in enumerate(outside, start=1):
        back, size = layout.base(side, kind), layout.size(side, kind)
        table = jnp.moveaxis(_skew(jnp.moveaxis(table, axis, 1), back, size, zero), 1, axis)
    pad = layout.block if side == "R" else 0
    table = jnp.pad(table, [(0, pad)] + [(0, 0)] * (table.ndim - 1), constant_values=zero)
    return jnp.moveaxis(table, 0, len(outside))


def _skew(table: jax.Array, back: int, size: int, zero: float) -> jax.Array:
    """out[i, o] = table[i, i + o - back] for o < size, zero outside the table: a pad and a reshape."""
    rows, columns, *rest = table.shape
    full, none = rows + size, [(0, 0)] * len(rest)
    table = jnp.pad(table, [(0, 0), (back, max(0, full - back - columns)), *none], constant_values=zero)[:, :full]
    flat = jnp.pad(table.reshape(rows * full, *rest), [(0, rows), *none], constant_values=zero)
    return flat.reshape(rows, full + 1, *rest)[:, :size]

"""Where values lie: charts and score tables stored so that every premise is one slice, never a gather.

An item is stored by its width and by the offsets of its other positions, beside the left end of its span (side "L",
offsets counted from there) or its right end (side "R", offsets counted so that the left end of a span of the widest
width is 0). At width w, all items of a rule are then boxes of these arrays whose corners are affine in w: a `View`.
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

from structdep.deduction import Atom, Item, Position, Score

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

    def shape(self, side: str, item: Item | Score, arity: int) -> tuple[int, ...]:
        """The shape of a chart, without the batch."""
        pad = self.block if side == "R" else 0
        offsets = [self.widest + 2 + pad] * (arity - 1)
        if getattr(item, "exterior", ""):
            offsets[-1] = 3 * self.widest + 3 + pad
        return (*offsets, self.nodes + pad)

    def cell(self, atom: Atom, nodes: Sequence[jax.Array]) -> list[jax.Array]:
        """Where the chart of side "L" has the item with its positions at these nodes."""
        left, right = atom.ends
        base = 2 * self.widest if getattr(atom.symbol, "exterior", "") == "left" else 0
        inner = [nodes[m] - nodes[left] + base for m in range(len(nodes)) if m not in atom.ends]
        return [nodes[right] - nodes[left], *inner, nodes[left]]


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
    def exterior(self) -> str:
        return getattr(self.conclusion.symbol, "exterior", "")

    @property
    def axes(self) -> tuple[str, ...]:
        names = [p.name for p in self.conclusion.positions if p.name not in (self.start, self.end)]
        return (*self.summed, *names, self.start)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the conclusion, without the batch."""
        return tuple(self.size(name) for name in self.axes[len(self.summed) :])

    def size(self, name: str) -> int:
        if name == self.start:
            return self.layout.nodes - self.lo
        return self.layout.widest + 1 if self._is_exterior(name) else self.hi + 1

    def _is_exterior(self, name: str) -> bool:
        return bool(self.exterior) and name == self.conclusion.positions[-1].name

    def view(self, atom: Atom) -> View:
        """An item or a score as a box over this grid."""
        return self._item(atom) if atom.is_item else self._score(atom)

    def side(self, atom: Atom) -> str:
        """The side of its span at which an item meets the conclusion."""
        left, right = atom.span
        if (left.name, left.shift) == (self.start, 0):
            return "L"
        if (right.name, right.shift) == (self.end, 0):
            return "R"
        raise ValueError(f"{atom!r} shares neither end of its span with {self.conclusion!r}")

    def _item(self, atom: Atom) -> View:
        return self._item_at(self.side(atom), atom)

    def target(self, side: str) -> View:
        """Where the conclusion is stored at this side."""
        return self._item_at(side, self.conclusion)

    def _item_at(self, side: str, atom: Atom) -> View:
        left, right = atom.span
        anchor, other = (left, right) if side == "L" else (right, left)
        inner = [p for m, p in enumerate(atom.positions) if m not in atom.ends]
        left_exterior = getattr(atom.symbol, "exterior", "") == "left"
        bases = [0] + [2 * self.layout.widest if left_exterior else 0] * len(inner)
        return self._box((side, atom.symbol.name), side, anchor, [other, *inner], bases)

    def _score(self, atom: Atom) -> View:
        for side, name in (("L", self.start), ("R", self.end)):
            anchors = [m for m, p in enumerate(atom.positions) if (p.name, p.shift) == (name, 0)]
            if anchors:
                others = [p for m, p in enumerate(atom.positions) if m != anchors[0]]
                bases = self._bases(others)
                key = (side, atom.symbol.name, anchors[0], *bases)
                return self._box(key, side, atom.positions[anchors[0]], others, bases)
        bases = self._bases(atom.positions)
        return self._box(("-", atom.symbol.name, None, *bases), "L", Position(self.start), atom.positions, bases)

    def _bases(self, positions: Sequence[Position]) -> list[int]:
        left = [self.exterior == "left" and self._is_exterior(p.name) for p in positions]
        return [2 * self.layout.widest if is_left else 0 for is_left in left]

    def _box(self, key: Key, side: str, anchor: Position, others: Sequence[Position], bases: Sequence[int]) -> View:
        flip = self.layout.widest if side == "R" else 0
        slope = -1 if side == "R" else 0
        dims = [self._dim(p, base, flip, slope) for p, base in zip(others, bases, strict=True)]
        dims.append(Dim(0, 1 if side == "R" else 0, self.size(self.start), self.axes.index(self.start)))
        return View(key, tuple(dims), len(self.axes))

    def _dim(self, position: Position, base: int, flip: int, slope: int) -> Dim:
        name, shift = position.name, position.shift + base + flip
        if name == self.start:
            return Dim(shift, slope, 1, None)
        if name == self.end:
            return Dim(shift, slope + 1, 1, None)
        if self.exterior == "left" and self._is_exterior(name):
            shift -= self.layout.widest
        return Dim(shift, slope, self.size(name), self.axes.index(name))


def skew_all(keys: Iterable[Key], layout: Layout, zero: Any, tables: Mapping[str, Any]) -> dict[Key, Any]:
    """The score tables as the views want them; `zero` is like a table, with a number for each array."""
    return {key: jax.tree.map(partial(skew, key=key, layout=layout), tables[key[1]], zero) for key in keys}


def skew(table: jax.Array, zero: float, key: Key, layout: Layout) -> jax.Array:
    """A score table `[positions..., batch, ...]` laid out as the box that `Grid.view` looks for under this key."""
    side, _, anchor, *bases = key
    if anchor is None:
        table, anchor = jnp.broadcast_to(table[None], (layout.nodes, *table.shape)), 0
    pad = layout.block if side == "R" else 0
    table = jnp.moveaxis(table, anchor, 0)
    for axis, base in enumerate(bases, start=1):
        size = (3 * layout.widest + 3 if base else layout.widest + 2) + pad
        back = base + (layout.widest if side == "R" else 0)
        table = jnp.moveaxis(_skew(jnp.moveaxis(table, axis, 1), back, size, zero), 1, axis)
    table = jnp.pad(table, [(0, pad)] + [(0, 0)] * (table.ndim - 1), constant_values=zero)
    return jnp.moveaxis(table, 0, len(bases))


def _skew(table: jax.Array, back: int, size: int, zero: float) -> jax.Array:
    """out[i, o] = table[i, i + o - back] for o < size, zero outside the table: a pad and a reshape."""
    rows, columns, *rest = table.shape
    full, none = rows + size, [(0, 0)] * len(rest)
    table = jnp.pad(table, [(0, 0), (back, max(0, full - back - columns)), *none], constant_values=zero)[:, :full]
    flat = jnp.pad(table.reshape(rows * full, *rest), [(0, rows), *none], constant_values=zero)
    return flat.reshape(rows, full + 1, *rest)[:, :size]

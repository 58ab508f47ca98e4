"""Boxes of stored arrays: read, written and added to at any width, as arrays over the grid of a product."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Width = jax.Array | int
Key = tuple[Any, ...]
"""Names an array: ("L", "R" or "=", family) for charts, ("L", "R" or "-", score, ..) for skewed score tables."""


class Dim(NamedTuple):
    """One axis of a box: its corner is `start + slope * width`; `axis` is its place in the grid, None if dropped."""

    start: int
    slope: int
    size: int
    axis: int | None


@dataclass(frozen=True)
class View:
    """A box of a stored array, seen as an array over the grid of a product (with unit axes where it is constant).

    The first of `dims` is the rows of the grid; `rows` says which row of the array each of them reads.
    """

    key: Key
    dims: tuple[Dim, ...]
    rank: int
    rows: tuple[int, ...]

    def _corner(self, leaf: jax.Array, width: Width, row: jax.Array | None = None) -> list[Any]:
        """`start + slope * width` of each axis, by operations that are quickly traced: there are thousands."""
        constant = np.int32 if isinstance(width, int) else width.dtype.type
        corner = [_affine(constant(dim.start), dim.slope, width) for dim in self.dims]
        if row is not None:
            corner[0] = row.astype(constant)
        if self.key[0] == "=" and leaf.shape[1] == 1:  # a slab: it has the current width alone
            corner[1] = constant(0)
        return corner + [constant(0)] * (leaf.ndim - len(corner))

    def _box(self, leaf: jax.Array, width: Width, row: jax.Array | None = None) -> jax.Array:
        sizes = [d.size for d in self.dims] + list(leaf.shape[len(self.dims) :])
        sizes[0] = max(self.rows) + 1 - min(self.rows)
        return lax.dynamic_slice(leaf, self._corner(leaf, width, row), sizes, allow_negative_indices=False)

    @property
    def alone(self) -> View:
        """The box of the first row of the grid, as that of any other."""
        return self.each(self.rows[:1])

    def cells(self, source: Any) -> int:
        """How many values the box has, those of all sentences counted."""
        return prod(d.size for d in self.dims) * prod(jax.tree.leaves(source)[0].shape[len(self.dims) :])

    def shapes(self, source: Any) -> set[tuple[int, ...]]:
        """Those of what is read."""
        return {self._grid(leaf.shape[len(self.dims) :]) for leaf in jax.tree.leaves(source)}

    def _of(self, member: jax.Array | None) -> tuple[View, jax.Array | None]:
        """The view, or that of one row of the grid, and where in the array this is."""
        if member is None:
            return self, None
        return self.alone, _nth(self.rows, member)

    @property
    def box_rows(self) -> list[int]:
        """Which row of the box each row of the grid reads."""
        return [row - min(self.rows) for row in self.rows]

    @property
    def picks(self) -> bool:
        """Whether its rows are not neighbours in the array."""
        return self.dims[0].axis is not None and self.box_rows != list(range(len(self.rows)))

    @property
    def place(self) -> tuple[Any, ...]:
        """The array and the box in it, whatever its rows."""
        return self.key, tuple(dim[:3] for dim in self.dims[1:])

    @property
    def own_rows(self) -> tuple[int, ...]:
        """The rows of the box: one if all rows of the grid read the same."""
        return self.rows if self.dims[0].axis is not None else self.rows[:1]

    def with_rows(self, rows: Sequence[int]) -> View:
        """The same box with these rows."""
        return replace(self, dims=(Dim(min(rows), 0, len(rows), 0), *self.dims[1:]), rows=tuple(rows))

    def each(self, rows: Sequence[int]) -> View:
        """The same box, to be read in these rows one after the other."""
        first = self.dims[0]._replace(start=min(rows), size=1)
        return replace(self, dims=(first, *self.dims[1:]), rows=tuple(rows))

    def read(self, source: Any, width: Width, member: jax.Array | None = None) -> Any:
        """The box at this width, its axes moved to their places in the grid; or that of one row of the grid alone."""
        view, row = self._of(member)
        return view.arrange(view.pick(source, width, row))

    def pick(self, source: Any, width: Width, row: jax.Array | None = None) -> Any:
        """The box at this width, in its rows of the array, or in another."""
        return jax.tree.map(lambda leaf: self._pick(self._box(leaf, width, row)), source)

    def arrange(self, picked: Any) -> Any:
        """A box with its axes moved to their places in the grid."""
        return jax.tree.map(self._to_grid, picked)

    def _pick(self, box: jax.Array) -> jax.Array:
        """From rows of the array to rows of the grid, without axes of size 1: XLA would copy them to their layout."""
        box = box.reshape(box.shape[0], *self._sizes, *box.shape[len(self.dims) :])
        if not self.picks:
            return box
        return box.at[np.array(self.box_rows)].get(mode="promise_in_bounds", wrap_negative_indices=False)

    @property
    def _sizes(self) -> list[int]:
        """Those of a picked box, but for its rows."""
        return [dim.size for dim in self.dims[1:] if dim.size > 1]

    def _put(self, picked: jax.Array) -> jax.Array:
        """From rows of the grid to rows of the array, where they are added up: the transpose of `_pick`."""
        if not self.picks:
            return picked
        rows = self.box_rows
        having = [[place for place, own in enumerate(rows) if own == row] for row in range(max(rows) + 1)]
        total: Any = 0
        for rank in range(max(map(len, having))):
            places = np.array([own[rank] if rank < len(own) else 0 for own in having])
            there = np.array([rank < len(own) for own in having]).reshape(-1, *[1] * (picked.ndim - 1))
            total += jnp.where(there, picked.at[places].get(mode="promise_in_bounds"), 0)
        return total

    def _to_grid(self, box: jax.Array) -> jax.Array:
        trailing = box.shape[1 + len(self._sizes) :]
        kept = [d.axis for d in self.dims if d.axis is not None]
        box = box.reshape([d.size for d in self.dims if d.axis is not None] + list(trailing))
        order = sorted(range(len(kept)), key=lambda m: kept[m])
        return box.transpose(*order, *range(len(kept), box.ndim)).reshape(self._grid(trailing))

    def _grid(self, trailing: Sequence[int]) -> tuple[int, ...]:
        sizes = {d.axis: d.size for d in self.dims}
        return (*(sizes.get(axis, 1) for axis in range(self.rank)), *trailing)

    def _from_grid(self, value: jax.Array) -> jax.Array:
        trailing = value.shape[self.rank :]
        kept = [d.axis for d in self.dims if d.axis is not None]
        value = value.reshape([d.size for axis in sorted(kept) for d in self.dims if d.axis == axis] + list(trailing))
        order = [sorted(kept).index(axis) for axis in kept]
        value = value.transpose(*order, *range(len(kept), value.ndim))
        return value.reshape([d.size for d in self.dims] + list(trailing))

    def write(self, target: Any, value: Any, width: Width, member: jax.Array | None = None) -> Any:
        """The array with the box at this width replaced, or one row of it. The rows stand in order."""
        view, row = self._of(member)

        def update(leaf: jax.Array, new: jax.Array) -> jax.Array:
            return _replace(leaf, view._from_grid(new).astype(leaf.dtype), view._corner(leaf, width, row))

        return jax.tree.map(update, target, value)

    def flatten(self, value: Any) -> Any:
        """The transpose of `arrange`: a box, whose axes lie as in the stored array."""
        return jax.tree.map(self._from_grid, value)

    def add(self, target: Any, picked: Any, width: Width, member: jax.Array | None = None) -> Any:
        """The array with a flattened box, or a row of it, added to the one at this width: the transpose of `pick`."""
        view, row = self._of(member)

        def update(leaf: jax.Array, new: jax.Array) -> jax.Array:
            return _replace(leaf, view._box(leaf, width, row) + view._put(new), view._corner(leaf, width, row))

        return jax.tree.map(update, target, picked)


class Union(NamedTuple):
    """Views of one box that differ in rows, and one `view` that has all of their rows, one after the other."""

    view: View
    members: tuple[View, ...]

    def rows_of(self, member: View, picked: Any) -> Any:
        """What `view` picked, for one of them."""
        start = sum(len(one.own_rows) for one in self.members[: self.members.index(member)])
        return jax.tree.map(itemgetter(slice(start, start + len(member.own_rows))), picked)

    def join(self, values: Mapping[View, Any]) -> Any:
        """The transpose of `rows_of` for all members, for flattened boxes."""
        parts = [values[member] for member in self.members]
        return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *parts)


def unions(views: Iterable[View]) -> list[Union]:
    """Views of the same boxes together, so that each box is read, or written, once."""
    places: dict[tuple[Any, ...], dict[View, None]] = {}
    for view in views:
        places.setdefault(view.place, {})[view] = None
    members = [tuple(those) for those in places.values()]
    return [Union(those[0].with_rows([row for view in those for row in view.own_rows]), those) for those in members]


def _nth(rows: tuple[int, ...], member: jax.Array) -> jax.Array:
    """One of the rows, by arithmetic if they stand at equal distances."""
    steps = set(np.diff(rows).tolist())
    if len(steps) == 1:
        return _affine(member.dtype.type(rows[0]), steps.pop(), member)
    return lax.dynamic_slice(np.array(rows, member.dtype), [member], [1], allow_negative_indices=False).reshape(())


def _affine(start: Any, slope: int, width: Width) -> Any:
    if isinstance(width, int):
        return start + slope * width
    if not slope:
        return start
    if slope == -1:
        return lax.sub(start, width)
    scaled = width if slope == 1 else lax.mul(type(start)(slope), width)
    return lax.add(start, scaled) if start else scaled


def _replace(leaf: jax.Array, box: jax.Array, corner: list[Any]) -> jax.Array:
    return lax.dynamic_update_slice(leaf, box, corner, allow_negative_indices=False)

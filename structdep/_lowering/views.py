"""Boxes of stored arrays: read, written and added to at any width, as arrays over the grid of a product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax

Width = jax.Array | int
Key = tuple[Any, ...]
"""Names an array: ("L", "R" or "=", store) for charts, ("L", "R" or "-", score, ..) for skewed score tables."""


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

    def read(self, source: Any, width: Width) -> Any:
        """The box at this width, its axes moved to their places in the grid."""
        return jax.tree.map(lambda leaf: self._to_grid(self._box(leaf, width)), source)

    def write(self, target: Any, value: Any, width: Width) -> Any:
        """The array with the box at this width replaced. Its rows stand in order."""
        return self.replace(target, jax.tree.map(self._from_grid, target, value), width)

    def replace(self, target: Any, box: Any, width: Width) -> Any:
        """The array with another box at this width, its axes as they are stored."""

        def update(leaf: jax.Array, new: jax.Array) -> jax.Array:
            return lax.dynamic_update_slice(leaf, new, self._corner(leaf, width))

        return jax.tree.map(update, target, box)

    def added(self, source: Any, value: Any, width: Width) -> Any:
        """The box at this width, its axes as they are stored, and a value added: the transpose of `read`."""

        def of_leaf(leaf: jax.Array, new: jax.Array) -> jax.Array:
            return self._box(leaf, width) + self._from_grid(leaf, new)

        return jax.tree.map(of_leaf, source, value)

    def _box(self, leaf: jax.Array, width: Width) -> jax.Array:
        return lax.dynamic_slice(leaf, self._corner(leaf, width), self._sizes(leaf), allow_negative_indices=False)

    def _sizes(self, leaf: jax.Array) -> list[int]:
        rows = max(self.rows) + 1 - min(self.rows)
        return [rows, *(dim.size for dim in self.dims[1:]), *leaf.shape[len(self.dims) :]]

    def _corner(self, leaf: jax.Array, width: Width) -> list[Any]:
        corner = [dim.start + dim.slope * width if dim.slope else dim.start for dim in self.dims]
        if self.key[0] == "=" and leaf.shape[1] == 1:  # it has the current width alone
            corner[1] = 0
        return corner + [0] * (leaf.ndim - len(corner))

    def _to_grid(self, box: jax.Array) -> jax.Array:
        rows = [row - min(self.rows) for row in self.rows]
        if self.dims[0].axis is not None and rows != list(range(len(box))):
            box = box.at[np.array(rows)].get(mode="promise_in_bounds")
        trailing = box.shape[len(self.dims) :]
        sizes = {dim.axis: dim.size for dim in self.dims if dim.axis is not None}
        box = box.reshape(*sizes.values(), *trailing)
        box = box.transpose(*np.argsort([*sizes]), *range(len(sizes), box.ndim))
        return box.reshape(*(sizes.get(axis, 1) for axis in range(self.rank)), *trailing)

    def _from_grid(self, leaf: jax.Array, value: jax.Array) -> jax.Array:
        """The transpose of `_to_grid`: rows that are read several times get the sum."""
        box = jax.ShapeDtypeStruct(self._sizes(leaf), leaf.dtype)  # type: ignore[no-untyped-call]
        (found,) = jax.linear_transpose(self._to_grid, box)(value.astype(leaf.dtype))
        return found

"""A sentence's arrays one after the other in one vector, and where in it a product's factors lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import NamedTuple

import jax
import jax.numpy as jnp

from structdep._engines.xla.steps import Arrays
from structdep._lowering.views import Key, View


class Address(NamedTuple):
    """`start + slope * width`, and steps along axes of a product's grid, which are counted from its last.

    It is in the row of this `array`, one row of those that are stored under a key.
    """

    start: int
    slope: int
    steps: Mapping[int, int]
    array: tuple[Key, int]


@dataclass(frozen=True)
class Packing:
    """Arrays by their shapes, without the batch, which is their last axis outside of the frame, and here the first."""

    shapes: Mapping[Key, tuple[int, ...]]

    @staticmethod
    def of(arrays: Arrays) -> Packing:
        return Packing({key: array.shape[:-1] for key, array in arrays.items()})

    @cached_property
    def starts(self) -> dict[Key, int]:
        sizes = [prod(shape) for shape in self.shapes.values()]
        return dict(zip(self.shapes, [0, *accumulate(sizes)], strict=False))

    def flatten(self, arrays: Arrays) -> jax.Array:
        """The frames of all sentences, `[batch, size]`."""
        rows = [jnp.moveaxis(arrays[key], -1, 0) for key in self.shapes]
        return jnp.concatenate([row.reshape(len(row), -1) for row in rows], axis=1)

    def unflatten(self, frames: jax.Array) -> Arrays:
        """The reverse."""
        parts = jnp.split(frames, list(self.starts.values())[1:], axis=1)
        shaped = zip(self.shapes.items(), parts, strict=True)
        return {key: jnp.moveaxis(part.reshape(-1, *shape), 0, -1) for (key, shape), part in shaped}

    def address(self, view: View, member: int) -> Address:
        """Where a view has its box at any width, in the row of one member of a group."""
        shape = self.shapes[view.key]
        strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        row = view.rows[member if view.dims[0].axis is not None else 0]
        dims = list(zip(view.dims, strides, strict=True))[1:]
        start = self.starts[view.key] + row * strides[0] + sum(dim.start * stride for dim, stride in dims)
        slope = sum(dim.slope * stride for dim, stride in dims)
        steps = {dim.axis - view.rank: stride for dim, stride in dims if dim.axis is not None}
        return Address(start, slope, steps, (view.key, row))

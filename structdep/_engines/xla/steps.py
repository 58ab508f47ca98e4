"""A group of items at one width: their values, and the pullback to what these are made from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from structdep._lowering.views import View
from structdep.semirings import Semiring
from structdep.semirings.base import Product

Arrays = dict[Any, Any]
"""Score tables by name, or charts and skewed tables by `Key`."""


@dataclass(frozen=True)
class Step:
    """A group at the widths of one block: where its factors are read, and where its values are written.

    `having` says for each product which members have it: that of others is of nothing.
    """

    products: tuple[tuple[tuple[View, ...], int], ...]
    targets: tuple[View, ...]
    shape: tuple[int, ...]
    having: tuple[tuple[int, ...], ...]

    @property
    def members(self) -> int:
        return len(self.targets[0].rows)

    @property
    def views(self) -> list[View]:
        return [view for views, _ in self.products for view in views]

    def advance(self, tables: Arrays, charts: Arrays, semiring: Semiring, width: jax.Array) -> Arrays:
        """The charts with the values of the group's items."""
        value = semiring.fold(self._read({**tables, **charts}, width))
        value = lax.optimization_barrier(jax.tree.map(self._whole, value))
        return charts | {view.key: view.write(charts[view.key], value, width) for view in self.targets}

    def pull_back(
        self, arrays: Arrays, cotangents: Arrays, semiring: Semiring, width: jax.Array
    ) -> Iterable[tuple[View, Any]]:
        """The cotangents of the factors."""
        value = self.targets[0].read(arrays[self.targets[0].key], width)
        own = total(view.read(cotangents[view.key], width) for view in self.targets)
        pulled = semiring.pullback(self._read(arrays, width), value, own)
        return zip(self.views, chain(*pulled), strict=True)

    def _read(self, arrays: Arrays, width: jax.Array) -> list[Product]:
        return [([view.read(arrays[view.key], width) for view in views], summed) for views, summed in self.products]

    def _whole(self, leaf: jax.Array) -> jax.Array:
        """Over the whole grid of the conclusion."""
        return jnp.broadcast_to(leaf, (*self.shape, *leaf.shape[len(self.shape) :]))


def total(values: Iterable[Any]) -> Any:
    """The sum of some arrays, or pytrees."""
    return jax.tree.map(lambda *leaves: sum(leaves), *values)

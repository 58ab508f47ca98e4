"""A group of items at one width: their values, and the pullback to what these are made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental.xla_metadata import set_xla_metadata

from structdep._lowering.views import View
from structdep.semirings import Semiring
from structdep.semirings.base import Product

Arrays = dict[Any, Any]
"""Score tables by name, or charts and skewed tables by `Key`."""


@dataclass(frozen=True)
class Step:
    """A group at the widths of one block: where its factors are read, and where its values are written.

    `owners` names, for each product, the members that have it; in the others the product is zero.
    """

    products: tuple[tuple[tuple[View, ...], int], ...]
    targets: tuple[View, ...]
    shape: tuple[int, ...]
    owners: tuple[tuple[int, ...], ...]

    @property
    def members(self) -> int:
        return len(self.targets[0].rows)

    @property
    def views(self) -> list[View]:
        return [view for views, _ in self.products for view in views]

    def advance(self, tables: Arrays, charts: Arrays, semiring: Semiring, width: jax.Array) -> tuple[Arrays, jax.Array]:
        """The charts with the values of the group's items, and the width."""

        def value() -> Any:
            return jax.tree.map(self._whole, semiring.fold(self._read({**tables, **charts}, width)))

        found, width = apart(value, width)
        return charts | {view.key: view.write(charts[view.key], found, width) for view in self.targets}, width

    def pull_back(
        self, arrays: Arrays, cotangents: Arrays, semiring: Semiring, width: jax.Array
    ) -> tuple[list[tuple[View, Any]], jax.Array]:
        """The cotangents of the factors, and the width."""

        def of_factors() -> Any:
            value = self.targets[0].read(arrays[self.targets[0].key], width)
            own = total(view.read(cotangents[view.key], width) for view in self.targets)
            return semiring.pullback(self._read(arrays, width), value, own)

        found, width = apart(of_factors, width)
        return list(zip(self.views, chain(*found), strict=True)), width

    def _read(self, arrays: Arrays, width: jax.Array) -> list[Product]:
        return [([view.read(arrays[view.key], width) for view in views], summed) for views, summed in self.products]

    def _whole(self, leaf: jax.Array) -> jax.Array:
        """Over the whole grid of the conclusion."""
        return jnp.broadcast_to(leaf, (*self.shape, *leaf.shape[len(self.shape) :]))


def apart(compute: Callable[[], Any], width: jax.Array) -> tuple[Any, jax.Array]:
    """What the function returns, and the width.

    On CPUs by a call that XLA does not inline: XLA would move reads of a chart behind the next write to it, and copy
    the chart. What is written at the width that is returned is written after all that was read.
    """
    if jax.default_backend() != "cpu":
        return compute(), width

    def inner() -> tuple[Any, jax.Array]:
        with _inlineable("true"):
            return compute(), width + 0

    with _inlineable("false"):
        found: tuple[Any, jax.Array] = jax.jit(inner)()
    return found


def _inlineable(value: str) -> AbstractContextManager[Any]:
    """For calls in this context, what XLA's inliner looks for."""
    return set_xla_metadata(inlineable=value)  # type: ignore[no-untyped-call]


def total(values: Iterable[Any]) -> Any:
    """The sum of some arrays, or pytrees."""
    return jax.tree.map(lambda *leaves: sum(leaves), *values)

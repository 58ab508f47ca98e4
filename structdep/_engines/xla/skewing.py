"""Score tables laid out so that what a product reads of them is a box, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from structdep._lowering.layout import Layout
from structdep._lowering.views import Key
from structdep.semirings import Semiring


def skew_all(keys: Iterable[Key], layout: Layout, semiring: Semiring, tables: Mapping[str, Any]) -> dict[Key, Any]:
    """The score tables as the views want them."""

    def table(key: Key) -> Any:
        joined = join(key[1], tables, semiring)
        return jax.tree.map(partial(skew, key=key, layout=layout), joined, semiring.zero_of(joined))

    return {key: table(key) for key in keys}


def join(names: str, tables: Mapping[str, Any], semiring: Semiring) -> Any:
    """The product of the tables that a name tells, as `structdep._lowering.unfolding.join` writes them."""
    return reduce(semiring.times, [tables[name] for name in names.split()])


def skew(table: jax.Array, zero: float, key: Key, layout: Layout) -> jax.Array:
    """A score table `[positions..., batch, ...]` laid out as the box that `Grid.view` looks for under this key.

    One row for each order of its positions.
    """
    side, _, orders, anchor, *outside = key
    rest = range(len(orders[0]), table.ndim)
    tables = [table.transpose(*np.argsort(order), *rest) for order in orders]
    return jnp.stack([_skew_one(one, zero, side, anchor, outside, layout) for one in tables])


def _skew_one(
    table: jax.Array, zero: float, side: str, anchor: int | None, outside: Sequence[bool], layout: Layout
) -> jax.Array:
    if anchor is None:
        side, anchor, table = "L", 0, jnp.broadcast_to(table[None], (layout.nodes, *table.shape))
    table = jnp.moveaxis(table, anchor, 0)
    for axis, is_outside in enumerate(outside, start=1):
        rows = jnp.moveaxis(table, axis, 1)
        size = layout.size(side, is_outside)
        if is_outside:
            rows, back = jnp.concatenate([rows] * 3, axis=1), 0
        else:
            back = layout.widest if side == "R" else 0
        table = jnp.moveaxis(_skew(rows, back, size, zero), 1, axis)
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

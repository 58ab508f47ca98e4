"""Single cells of filled charts, at positions that differ between sentences: by gathers, where slices cannot go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import prod
from typing import Any

import jax
import jax.numpy as jnp

from structdep._engines.xla.steps import Arrays
from structdep._lowering.layout import SIDES, Layout
from structdep._lowering.plan import Plan
from structdep._lowering.unfolding import summed_variables
from structdep.deduction import Atom
from structdep.semirings import Semiring

Bindings = Mapping[str, jax.Array]
"""The node of each position variable, `[*grid, batch]`, and of the root ("") and the last word ("n")."""


def over_splits(summed: tuple[str, ...], layout: Layout, at: Bindings) -> dict[str, jax.Array]:
    """The bindings with an axis in front for each summed position, which takes every node."""
    axes = len(summed)
    grid = {name: value.reshape((1,) * axes + value.shape) for name, value in at.items()}
    rank = max(value.ndim for value in grid.values())
    for axis, name in enumerate(summed):
        grid[name] = jnp.arange(layout.nodes).reshape([-1 if a == axis else 1 for a in range(rank)])
    return grid


def chart_value(
    charts: Arrays, store: str, row: Any, item: Atom, at: Bindings, layout: Layout, semiring: Semiring
) -> Any:
    """The value `[*grid, batch]` of the item in this row of its store, at these positions."""
    side = next(side for side in SIDES if (side, store) in charts)
    index = [row, *layout.cell(side, item, _positions(item, at))]
    chart = charts[side, store]
    return look_up(chart, index, semiring)


def table_value(table: Any, score: Atom, at: Bindings, semiring: Semiring) -> Any:
    """The value `[*grid, batch]` of a score at these positions."""
    return look_up(table, _positions(score, at), semiring)


def _positions(atom: Atom, at: Bindings) -> list[jax.Array]:
    return [at[p.name] + p.shift for p in atom.positions]


def look_up(array: Any, index: Sequence[Any], semiring: Semiring) -> Any:
    """The elements of the array at this index, for each sentence; zero wherever it lies outside."""
    sizes = jax.tree.leaves(array)[0].shape
    batch = sizes[len(index)]
    exists = reduce(jnp.logical_and, [_fits(i, size) for i, size in zip(index, sizes, strict=False)])
    flat = jnp.arange(batch, dtype=jnp.int32)
    for axis, i in enumerate(index):
        flat = flat + jnp.where(_fits(i, sizes[axis]), i, 0) * prod(sizes[axis + 1 : len(index) + 1])

    def read(leaf: jax.Array, zero: float) -> jax.Array:
        rows = leaf.reshape(-1, *leaf.shape[len(index) + 1 :])
        value = rows.at[flat].get(mode="promise_in_bounds", wrap_negative_indices=False)
        return jnp.where(exists.reshape(exists.shape + (1,) * (value.ndim - exists.ndim)), value, zero)

    return jax.tree.map(read, array, semiring.zero_of(array))


def _fits(index: Any, size: int) -> jax.Array:
    """Whether 0 <= index < size, by one comparison."""
    return jnp.asarray(index).astype(jnp.uint32) < size


def goal_value(
    plan: Plan, layout: Layout, tables: Arrays, charts: Arrays, lengths: jax.Array, semiring: Semiring
) -> Any:
    """The value of the goal in each sentence, `[batch]`."""
    ends = {"": jnp.zeros_like(lengths), "n": lengths}

    def value(atom: Atom, at: Bindings) -> Any:
        if not atom.is_item:
            return table_value(tables[atom.symbol.name], atom, at, semiring)
        store, (row,) = plan.places([atom])
        return chart_value(charts, store, row, atom, at, layout, semiring)

    products = []
    for term in plan.goal.terms:
        summed = summed_variables(plan.goal.conclusion, term)
        at = over_splits(summed, layout, ends)
        products.append(([reduce(semiring.times, [value(atom, at) for atom in term])], len(summed)))
    return semiring.fold(products)

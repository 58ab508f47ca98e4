"""Single cells of filled charts, at positions that differ between sentences: by gathers, where slices cannot go."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp

from structdep.deduction import Atom
from structdep.engine import Arrays
from structdep.layout import Layout
from structdep.rewriting import Fold, Term
from structdep.semirings import Semiring

Bindings = Mapping[str, jax.Array]
"""The node of each position variable, `[*grid, batch]`, and of the root ("") and the last word ("n")."""


def summed_variables(fold: Fold, term: Term) -> tuple[str, ...]:
    """The positions of a product that its conclusion lacks."""
    names = (p.name for atom in term for p in atom.positions if p.is_variable)
    return tuple(dict.fromkeys(name for name in names if name not in fold.conclusion.variables))


def over_splits(summed: tuple[str, ...], layout: Layout, at: Bindings) -> dict[str, jax.Array]:
    """The bindings with an axis in front for each summed position, which takes every node."""
    axes = len(summed)
    grid = {name: value.reshape((1,) * axes + value.shape) for name, value in at.items()}
    for axis, name in enumerate(summed):
        grid[name] = jnp.arange(layout.nodes).reshape([-1 if a == axis else 1 for a in range(axes + 1)])
    return grid


def product(term: Term, at: Bindings, layout: Layout, tables: Arrays, charts: Arrays, semiring: Semiring) -> Any:
    """The value of a product at these positions, `[*grid, batch]`; zero wherever one lies outside the sentence."""
    return reduce(semiring.times, [lookup(atom, at, layout, tables, charts, semiring) for atom in term])


def lookup(atom: Atom, at: Bindings, layout: Layout, tables: Arrays, charts: Arrays, semiring: Semiring) -> Any:
    """The value of an item or a score at these positions."""
    positions = [at[p.name] + p.shift for p in atom.positions]
    array = charts["L", atom.symbol.name] if atom.is_item else tables[atom.symbol.name]
    index = layout.cell(atom, positions) if atom.is_item else positions
    sizes = jax.tree.leaves(array)[0].shape
    exists = reduce(jnp.logical_and, [(0 <= i) & (i < size) for i, size in zip(index, sizes, strict=False)])
    batch = jnp.arange(sizes[len(index)])
    clipped = [jnp.clip(i, 0, size - 1) for i, size in zip(index, sizes, strict=False)]

    def read(leaf: jax.Array, zero: float) -> jax.Array:
        value = leaf.at[(*clipped, batch)].get(mode="promise_in_bounds")
        return jnp.where(exists.reshape(exists.shape + (1,) * (value.ndim - exists.ndim)), value, zero)

    return jax.tree.map(read, array, semiring.zero)


def goal_value(
    goal: Fold, layout: Layout, tables: Arrays, charts: Arrays, lengths: jax.Array, semiring: Semiring
) -> Any:
    """The value of the goal in each sentence, `[batch]`."""
    ends = {"": jnp.zeros_like(lengths), "n": lengths}
    products = []
    for term in goal.terms:
        summed = summed_variables(goal, term)
        value = product(term, over_splits(summed, layout, ends), layout, tables, charts, semiring)
        products.append(([value], len(summed)))
    return semiring.fold(lambda: products)

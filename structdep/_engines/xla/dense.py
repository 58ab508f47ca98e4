"""Charts of any legal rules: all items at all nodes, one width after the other.

The engine reads premises as boxes of stored arrays. Some legal premises are no boxes (`structdep._lowering.boxes`):
their charts are filled here by gathers over all nodes, and then stored as the engine stores them. Compared with the
engine, the time grows by a factor of the sentence's length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from structdep._engines.xla.cells import Bindings, look_up, over_splits
from structdep._engines.xla.skewing import join
from structdep._engines.xla.steps import Arrays
from structdep._lowering.layout import Layout
from structdep._lowering.plan import Plan
from structdep._lowering.unfolding import Fold, at_variables, summed_variables
from structdep.deduction import Atom, Item, Position, Score
from structdep.semirings import Semiring

Dense = tuple[Any, ...]
"""The values of each item at all nodes, `[*positions, batch]`."""


def fill(plan: Plan, layout: Layout, semiring: Semiring, tables: Arrays, charts: Arrays) -> Arrays:
    """The charts, filled: `tables` are the scores by name, `[*positions, batch]`."""
    folds = [fold for group in plan.groups for fold in group.folds]
    atoms = [at_variables(axiom) for axiom in plan.system.axioms] + [fold.conclusion for fold in folds]
    root = {"": jnp.zeros(1, int)}
    grids = {atom: over_splits(tuple(p.name for p in atom.positions), layout, root) for atom in atoms}
    exists = {atom: _exists(atom, grid) for atom, grid in grids.items()}
    given = {atom: exists[atom] & _is_axiom(plan, atom, grid) for atom, grid in grids.items()}
    names = {a.symbol.name for fold in folds for term in fold.terms for a in term if not a.is_item}
    joined = {name: join(name, tables, semiring) for name in names}
    name, table = next(iter(tables.items()))
    leaf = jax.tree.leaves(table)[0]
    batch = leaf.shape[plan.system.tables[name][1]]

    def start(atom: Atom) -> Any:
        shape = [*[layout.nodes] * len(atom.positions), batch]
        return _where(given[atom], semiring.ones(shape, leaf.dtype), semiring.zeros(shape, leaf.dtype))

    def at_width(width: jax.Array, values: Dense) -> Dense:
        items = dict(zip((atom.symbol for atom in grids), values, strict=True))
        for fold in folds:
            atom, grid = fold.conclusion, grids[fold.conclusion]
            left, right = (_node(end, grid) for end in atom.span)
            here = exists[atom] & ~given[atom] & (right - left == width)
            value = _value(fold, items, joined, grid, layout, semiring)
            items[atom.symbol] = _where(here, value, items[atom.symbol])
        return tuple(items.values())

    filled = lax.fori_loop(0, layout.nodes, at_width, tuple(map(start, grids)))
    for (atom, grid), values in zip(grids.items(), filled, strict=True):
        charts = _store(plan, layout, charts, atom, grid, exists[atom], values)
    return charts


def _node(position: Position, at: Bindings) -> jax.Array:
    return at[position.name] + position.shift


def _exists(atom: Atom, at: Bindings) -> jax.Array:
    """Whether an item's inner positions are in order within its span, and an exterior one is not within it."""
    nodes = [_node(p, at) for p in atom.positions]
    start, end = (nodes[end] for end in atom.ends)
    inner = [node for m, node in enumerate(nodes) if m not in atom.ends]
    exterior = [inner.pop()] if atom.is_exterior else []
    ordered = [start, *inner, end]
    checks = [a <= b for a, b in pairwise(ordered)]
    return reduce(jnp.logical_and, [*checks, *((node <= start) | (end <= node) for node in exterior)])


def _is_axiom(plan: Plan, atom: Atom, at: Bindings) -> jax.Array:
    """Whether an axiom gives the item, where it exists."""
    given = jnp.zeros((), bool)
    for axiom in (axiom for axiom in plan.system.axioms if axiom.symbol == atom.symbol):
        pairs = list(zip(axiom.positions, atom.positions, strict=True))
        variables = {p.name: _node(q, at) - p.shift for p, q in pairs}
        given |= reduce(jnp.logical_and, [_node(p, variables) == _node(q, at) for p, q in pairs])
    return given


def _value(
    fold: Fold, items: Mapping[Item | Score, Any], tables: Arrays, grid: Bindings, layout: Layout, semiring: Semiring
) -> Any:
    """The fold at all nodes of its conclusion, `[*positions, batch]`."""
    products = []
    for term in fold.terms:
        summed = summed_variables(fold.conclusion, term)
        at = over_splits(summed, layout, grid)

        def factor(atom: Atom, at: Bindings = at) -> Any:
            source = items[atom.symbol] if atom.is_item else tables[atom.symbol.name]
            return look_up(source, [_node(p, at) for p in atom.positions], semiring)

        products.append(([factor(atom) for atom in term], len(summed)))
    return semiring.fold(products)


def _where(here: jax.Array, value: Any, other: Any) -> Any:
    """The value where `here` `[*positions, 1]` holds, else the other."""

    def of_leaf(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.where(here.reshape(here.shape + (1,) * (b.ndim - here.ndim)), a, b)

    return jax.tree.map(of_leaf, value, other)


def _store(
    plan: Plan, layout: Layout, charts: Arrays, atom: Atom, at: Bindings, exists: jax.Array, values: Any
) -> Arrays:
    """The charts with the values of an item at all nodes where it exists. Indices behind an axis are dropped."""
    store, (row,) = plan.places([atom])
    nodes: Sequence[jax.Array] = jnp.broadcast_arrays(*(_node(p, at)[..., 0] for p in atom.positions))
    for side in (side for side, own in plan.charts if own == store):
        index = [jnp.where(exists[..., 0], i, 4 * layout.nodes) for i in layout.cell(side, atom, nodes)]

        def set_all(chart: jax.Array, own: jax.Array, index: list[jax.Array] = index) -> jax.Array:
            return chart.at[(row, *index)].set(own, mode="drop")

        charts = charts | {(side, store): jax.tree.map(set_all, charts[side, store], values)}
    return charts

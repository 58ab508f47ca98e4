"""Charts of any legal rules: all items at all nodes, one width after the other.

The engine reads premises as boxes of stored arrays. Some legal premises are no boxes (`structdep.boxes`): their charts
are filled here by gathers over all nodes, and then stored as the engine stores them. Compared with the engine, the time
grows by a factor of the sentence's length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from structdep.cells import Bindings, look_up, over_splits
from structdep.deduction import Atom, Item, Position, Score
from structdep.layout import Layout
from structdep.plan import Plan
from structdep.rewriting import Fold, summed_variables
from structdep.semirings import Semiring
from structdep.steps import Arrays

Dense = tuple[Any, ...]
"""The values of each item at all nodes, `[*positions, batch]`."""


def fill(plan: Plan, layout: Layout, semiring: Semiring, tables: Arrays, charts: Arrays) -> Arrays:
    """The charts, filled: `tables` are the scores by name, `[*positions, batch]`."""
    folds = [fold for group in plan.groups for fold in group.folds]
    atoms = {atom.symbol: atom for atom in (*plan.system.axioms, *(fold.conclusion for fold in folds))}
    atoms = {symbol: _plain(atom) for symbol, atom in atoms.items()}
    grids = {
        symbol: over_splits(tuple(p.name for p in atom.positions), layout, {"": jnp.zeros(1, int)})
        for symbol, atom in atoms.items()
    }
    joined = {
        name: reduce(semiring.times, [tables[part] for part in name.split()])
        for name in {a.symbol.name for fold in folds for term in fold.terms for a in term if not a.is_item}
    }
    name, table = next(iter(tables.items()))
    leaf = jax.tree.leaves(table)[0]
    batch = leaf.shape[plan.system.tables[name][1]]

    def start(symbol: Item | Score) -> Any:
        shape = [*[layout.nodes] * len(atoms[symbol].positions), batch]
        holds = _holds(plan, atoms[symbol], grids[symbol])
        return _where(holds, semiring.ones(shape, leaf.dtype), semiring.zeros(shape, leaf.dtype))

    def at_width(width: jax.Array, values: Dense) -> Dense:
        items = dict(zip(atoms, values, strict=True))
        for fold in folds:
            symbol, grid = fold.conclusion.symbol, grids[fold.conclusion.symbol]
            value = _value(fold, items, joined, grid, layout, semiring)
            here = _exists(atoms[symbol], grid) & ~_holds(plan, atoms[symbol], grid)
            left, right = (_node(end, grid) for end in atoms[symbol].span)
            items[symbol] = _where(here & (right - left == width), value, items[symbol])
        return tuple(items.values())

    filled = lax.fori_loop(0, layout.nodes, at_width, tuple(map(start, atoms)))
    for (symbol, atom), values in zip(atoms.items(), filled, strict=True):
        charts = _store(plan, layout, charts, atom, grids[symbol], values)
    return charts


def _plain(atom: Atom) -> Atom:
    """The item at positions named c0, c1, .., as those of a fold's conclusion are."""
    return Atom(atom.symbol, tuple(Position(f"c{m}") for m in range(len(atom.positions))))


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


def _holds(plan: Plan, atom: Atom, at: Bindings) -> jax.Array:
    """Where an axiom gives the item."""
    holds = jnp.zeros((), bool)
    for axiom in (axiom for axiom in plan.system.axioms if axiom.symbol == atom.symbol):
        pairs = list(zip(axiom.positions, atom.positions, strict=True))
        variables = {p.name: _node(q, at) - p.shift for p, q in pairs}
        holds |= reduce(jnp.logical_and, [_node(p, variables) == _node(q, at) for p, q in pairs])
    return holds & _exists(atom, at)


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
    return semiring.fold(lambda: products)


def _where(here: jax.Array, value: Any, other: Any) -> Any:
    """The value where `here` `[*positions, 1]` holds, else the other."""

    def of_leaf(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.where(here.reshape(here.shape + (1,) * (b.ndim - here.ndim)), a, b)

    return jax.tree.map(of_leaf, value, other)


def _store(plan: Plan, layout: Layout, charts: Arrays, atom: Atom, at: Bindings, values: Any) -> Arrays:
    """The charts with the values of an item at all nodes where it exists. Indices behind an axis are dropped."""
    family, (row,) = plan.places([atom])
    nodes: Sequence[jax.Array] = jnp.broadcast_arrays(*(_node(p, at)[..., 0] for p in atom.positions))
    exists = _exists(atom, at)[..., 0]
    for side in (side for side, own in plan.charts if own == family):
        index = [jnp.where(exists, i, 4 * layout.nodes) for i in layout.cell(side, atom, nodes)]

        def set_all(chart: jax.Array, own: jax.Array, index: list[jax.Array] = index) -> jax.Array:
            by_lane = layout.by_lane(chart, len(index))
            return by_lane.at[(row, *index)].set(own, mode="drop").reshape(chart.shape)

        charts = charts | {(side, family): jax.tree.map(set_all, charts[side, family], values)}
    return charts

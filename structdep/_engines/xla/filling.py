"""Fills a chart: the one loop over widths, and the same loop downwards for its gradient."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from structdep._engines.xla.steps import Arrays, Step, apart, total
from structdep._lowering.groups import Group, is_nothing
from structdep._lowering.layout import SIDES, Grid, Layout, sides
from structdep._lowering.plan import Block, Plan
from structdep._lowering.unfolding import summed_variables
from structdep._lowering.views import Key, View
from structdep.deduction import Atom
from structdep.semirings import Semiring


def make_steps(plan: Plan, layout: Layout, block: Block) -> list[Step]:
    return [_step(group, plan, layout, block) for group in block.groups]


def _step(group: Group, plan: Plan, layout: Layout, block: Block) -> Step:
    grid = Grid(layout, group.conclusion, (), block.lo, block.hi, len(group.folds))
    products, owners = [], []
    for term in group.terms:
        summed = summed_variables(group.conclusion, tuple(slot[0] for slot in term))
        products.append((tuple(_view(slot, plan, replace(grid, summed=summed)) for slot in term), len(summed)))
        factors = enumerate(zip(*term, strict=True))
        owners.append(tuple(member for member, own in factors if not any(map(is_nothing, own))))
    store, rows = plan.places([fold.conclusion for fold in group.folds])
    targets = (grid.item(side, group.conclusion, store, rows) for side in SIDES if (side, store) in plan.charts)
    return Step(tuple(products), tuple(targets), grid.shape, tuple(owners))


def _view(slot: Sequence[Atom], plan: Plan, grid: Grid) -> View:
    if not slot[0].is_item:
        return grid.score(slot)
    store, rows = plan.places(slot)
    side = next(side for side in "=" + sides(slot[0], grid.conclusion) if (side, store) in plan.charts)
    return grid.item(side, slot[0], store, rows)


def table_keys(plan: Plan, layout: Layout) -> list[Key]:
    """The skewed score tables that the steps read."""
    charts = plan.charts
    steps = [step for block in plan.blocks(layout.widest) for step in make_steps(plan, layout, block)]
    keys = (view.key for step in steps for views, _ in step.products for view in views)
    return [key for key in dict.fromkeys(keys) if key not in charts]


def empty_charts(plan: Plan, layout: Layout, semiring: Semiring, batch: int, dtype: Any, keep: bool) -> Arrays:
    """Charts that hold the axioms, of boxed rules. Items read at their own width alone keep all widths if `keep`."""
    charts: Arrays = {}
    for (side, store), atom in plan.charts.items():
        shape = layout.slab(atom) if side == "=" and not keep else plan.shape((side, store), layout)
        charts[side, store] = semiring.zeros((plan.sizes[store], *shape, batch), dtype)
    for axiom in plan.system.axioms if plan.is_boxed else ():
        width = axiom.span[1].shift
        grid = Grid(layout, axiom, (), width, width)
        ones = semiring.ones((*grid.shape, batch), dtype)
        for side in SIDES:
            if (side, plan.stores[axiom.symbol]) in charts:
                view = grid.item(side, axiom, *plan.places([axiom]))
                charts[view.key] = view.write(charts[view.key], ones, width)
    return charts


def fill(plan: Plan, layout: Layout, tables: Arrays, charts: Arrays, semiring: Semiring) -> Arrays:
    """The charts, filled width by width; `tables` are the skewed scores."""
    for block in plan.blocks(layout.widest):
        steps = make_steps(plan, layout, block)

        def body(width: jax.Array, charts: Arrays, steps: list[Step] = steps) -> Arrays:
            for step in steps:
                charts, width = step.advance(tables, charts, semiring, width)
            return charts

        charts = lax.fori_loop(block.lo, block.hi + 1, body, charts)
    return charts


def sweep(plan: Plan, layout: Layout, tables: Arrays, charts: Arrays, cotangents: Arrays, semiring: Semiring) -> Arrays:
    """Cotangents of the tables from those of the charts: widths go down, each fold is pulled back where it was made."""
    own = {key: _slab(chart) for key, chart in cotangents.items() if key[0] == "="}
    state = {key: jax.tree.map(jnp.zeros_like, table) for key, table in tables.items()}
    state |= {key: chart for key, chart in cotangents.items() if key not in own}
    arrays = {**tables, **charts}
    for block in reversed(plan.blocks(layout.widest)):
        steps = make_steps(plan, layout, block)

        def body(count: jax.Array, state: Arrays, steps: list[Step] = steps, hi: int = block.hi) -> Arrays:
            width, state = hi - count, state | own
            pending: dict[View, list[Any]] = {}
            for step in reversed(steps):
                state, width = _add(state, pending, {target.key for target in step.targets}, width)
                found, width = step.pull_back(arrays, state, semiring, width)
                for view, part in found:
                    pending.setdefault(view, []).append(part)
            state, width = _add(state, pending, state.keys(), width)
            return {key: state[key] for key in state if key not in own}

        state = lax.fori_loop(0, block.hi + 1 - block.lo, body, state)
    return {key: state[key] for key in tables}


def _add(
    state: Arrays, pending: dict[View, list[Any]], keys: Collection[Key], width: jax.Array
) -> tuple[Arrays, jax.Array]:
    """The state with the pending cotangents of some arrays added, and the width."""
    for view in [view for view in pending if view.key in keys]:
        source = state[view.key]
        box, width = apart(partial(view.added, source, total(pending.pop(view)), width), width)
        state = state | {view.key: view.replace(source, box, width)}
    return state, width


def _slab(chart: Any) -> Any:
    """Zeros in place of a chart's items of one width."""
    return jax.tree.map(lambda leaf: jnp.zeros_like(leaf[:, :1]), chart)

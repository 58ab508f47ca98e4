"""A chart: filled, its goal's value read, and how a derivation, or all of them in expectation, use each score."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

import jax
import jax.numpy as jnp

from structdep._engines.masking import is_valid, nan_unless
from structdep._engines.query import Arguments, Query, Request
from structdep._engines.xla import dense
from structdep._engines.xla.cells import goal_value
from structdep._engines.xla.filling import empty_charts, fill, sweep, table_keys
from structdep._engines.xla.skewing import skew_all
from structdep._engines.xla.steps import Arrays
from structdep._engines.xla.traceback import derivation, derivations
from structdep._lowering.layout import Layout
from structdep._lowering.plan import Plan, plan
from structdep.deduction import LABEL, DeductionSystem
from structdep.semirings import KBest, Semiring

GROUP_BYTES = 1 << 30
"""Bytes for the charts of sentences that are parsed at once; one sentence may need more."""

Fill = Callable[[Plan, Layout, Semiring, Arrays, Arrays], tuple[Arrays, Callable[[Arrays], Arrays]]]
"""Fills charts whose rules read boxes: from the skewed scores and the empty charts to the charts, and to the function
from cotangents of the charts to those of the skewed scores."""


def by_xla(
    made: Plan, layout: Layout, semiring: Semiring, tables: Arrays, charts: Arrays
) -> tuple[Arrays, Callable[[Arrays], Arrays]]:
    """See `Fill`. Loops over the anchoring end and the batch as one axis are long also in small batches."""
    axes = {key: len(atom.positions) for key, atom in made.charts.items()} | {key: len(key) - 3 for key in tables}
    batch = next(jax.tree.leaves(chart)[0].shape[axes[key] + 1] for key, chart in charts.items())
    shapes = {key: jax.tree.map(jnp.shape, array) for key, array in (tables | charts).items()}

    def merged(arrays: Arrays) -> Arrays:
        def of_leaf(leaf: jax.Array, axis: int) -> jax.Array:
            return leaf.reshape(*leaf.shape[:axis], -1, *leaf.shape[axis + 2 :])

        return {key: jax.tree.map(partial(of_leaf, axis=axes[key]), array) for key, array in arrays.items()}

    def split(arrays: Arrays) -> Arrays:
        return {key: jax.tree.map(jnp.reshape, array, shapes[key]) for key, array in arrays.items()}

    layout = replace(layout, batch=batch)
    rows = merged(tables)
    filled = fill(made, layout, rows, merged(charts), semiring)
    return split(filled), lambda cotangents: split(sweep(made, layout, rows, filled, merged(cotangents), semiring))


def run_chart(system: DeductionSystem, request: Request, arguments: Arguments, fill: Fill) -> tuple[Any, Arrays]:
    """The value and the counts of each sentence. Sentences whose charts fit in `GROUP_BYTES` are parsed at once."""
    made = plan(system, frozenset(arguments.tables))
    nodes = jax.tree.leaves(arguments.tables)[0].shape[1]
    batch = len(arguments.lengths)
    groups = max(-(-batch // max(GROUP_BYTES // _bytes(made, nodes), 1)), 1)
    size = max(-(-batch // groups), 1)
    parse = partial(_parse, made, request, fill)
    if size == batch:
        return parse(arguments)

    def split(leaf: jax.Array) -> jax.Array:
        padded = jnp.pad(leaf, [(0, groups * size - batch)] + [(0, 0)] * (leaf.ndim - 1))
        return padded.reshape(groups, size, *leaf.shape[1:])

    answers = jax.lax.map(parse, jax.tree.map(split, arguments))
    return jax.tree.map(lambda leaf: leaf.reshape(groups * size, *leaf.shape[2:])[:batch], answers)


def chart_bytes(system: DeductionSystem, scores: Collection[str], words: int) -> int:
    """The memory of the charts of one sentence in float32, if XLA fills them for best scores or log-partitions.

    Args:
        system: a deduction system, from `structdep.charts` or your own.
        scores: the names of the scores that are given, such as `["arc"]`; absent scores may need fewer charts.
        words: the number of words of the sentence, with padding.

    Returns:
        A number of bytes. Gradients need about twice this number.

    Raises:
        TypeError: the system is no deduction system and has no charts, such as `structdep.spanning.all_trees()`.
        ValueError: the system does not declare a score.

    Example:
        >>> from structdep import charts
        >>> chart_bytes(charts.mhk(4), ["arc"], 100) < chart_bytes(charts.mhk(4), ["arc"], 200) / 7
        True
    """
    if not isinstance(system, DeductionSystem):
        name = getattr(system, "name", type(system).__name__)
        raise TypeError(f"{name} has no charts: give a DeductionSystem, such as structdep.charts.mhk(4)")
    if unknown := {*scores} - {*system.declared, LABEL}:
        raise ValueError(f"{system.name} has no scores {sorted(unknown)}, it declares {sorted(system.declared)}")
    return _bytes(plan(system, frozenset({*scores, "arc"} - {LABEL})), words + 1 + system.last)


def _bytes(made: Plan, nodes: int) -> int:
    layout = made.layout(nodes - 1)
    return 4 * sum(made.sizes[key[1]] * prod(made.shape(key, layout)) for key in made.charts)


def _parse(made: Plan, request: Request, fill: Fill, arguments: Arguments) -> tuple[Any, Arrays]:
    """The answer for one group: the value is NaN where a score is."""
    tables, lengths, cotangent, _ = arguments
    semiring, query = request.semiring, request.query
    valid = is_valid(tables)
    arity = {name: made.system.tables[name][1] for name in tables}
    tables = {name: _move_axis(table, 0, arity[name]) for name, table in tables.items()}
    first = jax.tree.leaves(tables)[0]
    layout = made.layout(first.shape[0] - 1)
    keep = query is not Query.VALUE or fill is not by_xla or not made.is_boxed
    charts = empty_charts(made, layout, semiring, len(lengths), first.dtype, keep)
    charts, back = _filled(made, layout, semiring, fill, tables, charts)

    def goal(tables: Arrays, charts: Arrays) -> Any:
        return nan_unless(valid, goal_value(made, layout, tables, charts, lengths, semiring))

    if query is Query.EXPECTED_COUNTS:
        value, seed = jax.vjp(goal, tables, charts)
        direct, seeds_of_charts = seed(jax.tree.map(jnp.ones_like, value) if cotangent is None else cotangent)
        counts = jax.tree.map(jnp.add, back(seeds_of_charts), direct)
    else:
        value = goal(tables, charts)
        counts = {}
    tables, charts = jax.lax.stop_gradient((tables, charts))
    if query is Query.BEST and isinstance(semiring, KBest):
        tables = {name: table for name, (table,) in tables.items()}
        counts = derivations(made, layout, tables, charts, lengths, value, semiring)
    elif query in (Query.BEST, Query.SAMPLE):
        exists = valid & (value != semiring.zero) & jnp.isfinite(value)
        keys = arguments.keys if query is Query.SAMPLE else None
        counts = derivation(made, layout, tables, charts, lengths, exists, semiring, keys)
    return value, {name: _move_axis(table, arity[name], 0) for name, table in counts.items()}


def _filled(
    made: Plan, layout: Layout, semiring: Semiring, fill: Fill, tables: Arrays, charts: Arrays
) -> tuple[Arrays, Callable[[Arrays], Arrays]]:
    """The charts, filled, and the function from their cotangents to those of the tables."""
    if not made.is_boxed:
        charts, pull = jax.vjp(partial(dense.fill, made, layout, semiring, charts=charts), tables)
        return charts, lambda cotangents: pull(cotangents)[0]
    skewed, unskew = jax.vjp(partial(skew_all, table_keys(made, layout), layout, semiring), tables)
    charts, back = fill(made, layout, semiring, skewed, charts)
    return charts, lambda cotangents: unskew(back(cotangents))[0]


def _move_axis(table: Any, source: int, target: int) -> Any:
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, source, target), table)

"""Sets scores that no tree has to -inf: those behind a sentence, and those of no arc."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from structdep.deduction import NODE, DeductionSystem, Score
from structdep.semirings import LogSum, Semiring, SingleRoot
from structdep.semirings.base import instance
from structdep.trees.classes import System


def masked(system: System, tables: Mapping[str, jax.Array], lengths: jax.Array) -> dict[str, jax.Array]:
    """The tables, -inf where a position lies behind the sentence or an arc is none, and NaN where a score is +inf."""
    scores = {name: table if name == NODE.name else without_inf(table) for name, table in tables.items()}
    return {name: _mask(system, name, table, lengths) for name, table in scores.items()}


def is_of_numbers(semiring: Semiring) -> bool:
    """Whether values are the scores themselves, also -inf: then engines mask them."""
    is_usual = not jax.tree_util.all_leaves([semiring.zero]) or semiring.zero == -jnp.inf
    return type(semiring).lift is Semiring.lift and is_usual


def _mask(system: System, name: str, table: jax.Array, lengths: jax.Array) -> jax.Array:
    score, arity = declared(system, name)
    last = lengths[(..., *[None] * arity)] + score.sentinel
    places = jnp.indices(table.shape[-arity:], sparse=True)
    allowed = jnp.ones((), bool)
    for place in places:
        allowed &= place <= last
    if name == "arc":
        head, dependent = places
        allowed &= (dependent > 0) & (head != dependent)
    return jnp.where(allowed, table, -jnp.inf)


def without_best_arcs(arcs: Sequence[jax.Array]) -> tuple[jax.Array, list[jax.Array]]:
    """The sum over words of the best score of an arc to each, `[*batch]`, and the masked scores of arcs relative to it.

    Where each word has one arc, all trees have the sum in their scores. Charts of what is left have smaller numbers,
    and smaller errors: an offset of all arcs changes none. Scores may be in several tables, `[*batch, nodes, nodes]`.
    """
    best = lax.stop_gradient(reduce(jnp.maximum, arcs).max(-2, keepdims=True))
    best = jnp.where(jnp.isneginf(best), 0, best)
    return best.sum((-2, -1)), [table - best for table in arcs]


def sums_trees(system: System, semiring: Semiring) -> bool:
    """Whether a chart sums trees, in which each word has one arc. Spanning trees have scores of their own."""
    base = instance(semiring.base) if isinstance(semiring, SingleRoot) else semiring
    is_chart = isinstance(system, DeductionSystem) and system.derives_each_tree_once
    return is_chart and isinstance(base, LogSum)


def declared(system: System, name: str) -> tuple[Score, int]:
    """The score of this name and its number of positions."""
    return (system.tables if isinstance(system, DeductionSystem) else system.declared)[name]


def without_inf(table: jax.Array) -> jax.Array:
    """With NaN for +inf: no sum with it tells trees apart, and a traceback would go astray."""
    return jnp.where(jnp.isposinf(table), jnp.nan, table)


def is_valid(tables: Any, batch_axes: int = 1) -> jax.Array:
    """Whether a sentence's scores are all numbers, `[*batch]`: NaN would lead a traceback astray."""
    leaves = jax.tree.leaves(tables)
    return jnp.stack([~jnp.isnan(leaf).any(tuple(range(batch_axes, leaf.ndim))) for leaf in leaves]).all(0)


def nan_unless(valid: jax.Array, value: Any) -> Any:
    """The values `[batch, ..]`, NaN in sentences that are not valid."""

    def of_leaf(leaf: jax.Array) -> jax.Array:
        return jnp.where(valid.reshape(valid.shape + (1,) * (leaf.ndim - 1)), leaf, jnp.nan)

    return jax.tree.map(of_leaf, value)

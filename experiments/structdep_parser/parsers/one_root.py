"""Trees with one root arc, by charts and searches of trees with any number of them.

In a chart, root arcs have a price. Where it is high, trees with several of them weigh nothing beside those with one,
and what the chart sums is the sum of the latter: no chart that counts roots is compiled, or filled.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

import jax
import jax.numpy as jnp

import structdep as sd
from structdep.deduction import DeductionSystem
from structdep.greedy.second_order import GreedyTrees
from structdep.inference.one_root import dearer_roots, root_gain
from structdep.spanning import SpanningTrees
from structdep.trees.classes import System

T = TypeVar("T")
Tables = dict[str, jax.Array]
"""Scores by name."""
Known = jax.Array | None
"""Known heads `[B, n]`, -1 where a word's is not known."""

START, STEP, TIMES = 30.0, 4.0, 6
"""The price to begin with (above what a root arc gains), by how much it rises, and how often at most."""
SEVERAL = 1e-4
"""How many more root arcs than one there may be, in the mean."""


def constraints_of(known: Known) -> sd.Constraints | None:
    return None if known is None else sd.Constraints(heads=known)


def best(
    system: System, scores: Tables, lengths: jax.Array, known: Known, one_root: bool, cost: jax.Array | None = None
) -> jax.Array:
    """Heads `[B, n]` of the best tree, -1 where there is none; with `cost`, of score and heads other than these."""
    if one_root and isinstance(system, GreedyTrees):
        system, one_root = replace(system, single_root=True), False
    semiring = sd.MaxPlus() if cost is None else sd.CostAugmented(cost)
    return sd.argmax(system, scores, lengths, semiring, constraints_of(known), single_root=one_root)


def log_partition(system: System, scores: Tables, lengths: jax.Array, known: Known, one_root: bool) -> jax.Array:
    """The log-sum over all trees, or those with one root: `[B]`, to be differentiated once."""
    semiring = sd.SingleRoot(sd.LogSum) if one_root else sd.LogSum()
    if not (one_root and isinstance(system, DeductionSystem)):
        return sd.inside(system, scores, lengths, semiring, constraints_of(known))
    return _priced(system, _allowed(with_arcs(scores), known), lengths)


def k_best(k: int, trees: sd.TreeDistribution, one_root: bool) -> jax.Array:
    """Heads `[k, B, n]` of the best trees, -1 where there are fewer."""
    if not one_root or isinstance(trees.system, SpanningTrees):
        return replace(trees, single_root=one_root).k_best(k).heads
    tables, lengths = trees.tables(), jnp.asarray(trees.lengths)

    def found(price: jax.Array) -> jax.Array:
        return replace(trees, scores=dearer_roots(tables, price), constraints=None).k_best(k).heads

    def is_low(heads: jax.Array) -> jax.Array:
        has_one = _has_one(heads, lengths)
        return ~has_one[0] | jnp.any(has_one[1:] & ~has_one[:-1], axis=0)

    heads = _rising(tables, found, is_low)
    return jnp.where(_has_one(heads, lengths)[..., None], heads, -1)


def with_arcs(scores: Tables) -> Tables:
    """The tables with one of arcs, 0 where there is none."""
    return scores if "arc" in scores else scores | {"arc": jnp.zeros_like(scores["shift"][:, :-1, :-1])}


def _allowed(scores: Tables, known: Known) -> Tables:
    """The scores, -inf for arcs to words that have another head."""
    if known is None:
        return scores
    return scores | {
        "arc": jnp.where(sd.Constraints(heads=known).allowed(scores["arc"].shape), scores["arc"], -jnp.inf)
    }


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _priced(system: System, tables: Tables, lengths: jax.Array) -> jax.Array:
    return _summed(system, tables, lengths)[0]


def _summed(system: System, tables: Tables, lengths: jax.Array) -> tuple[jax.Array, Tables]:
    """The log-partition and how often each score is used, at a price that leaves one root."""

    def found(price: jax.Array) -> tuple[jax.Array, Tables]:
        dear = dearer_roots(tables, price)
        value, pull = jax.vjp(lambda t: sd.inside(system, t, lengths, sd.LogSum), dear)
        return value + price, pull(jnp.ones_like(value))[0]

    def has_several(sums: tuple[jax.Array, Tables]) -> jax.Array:
        return sums[1]["arc"][:, 0].sum(-1) > 1 + SEVERAL

    value, uses = sums = _rising(tables, found, has_several)
    return jnp.where(has_several(sums), -jnp.inf, value), uses


def _backward(system: System, uses: Tables, cotangent: jax.Array) -> tuple[Tables, None]:
    return {name: (table.T * cotangent).T for name, table in uses.items()}, None


_priced.defvjp(_summed, _backward)


def _rising(tables: Tables, found: Callable[[jax.Array], T], is_low: Callable[[T], jax.Array]) -> T:
    """What is found at prices `[B]` that rise where they are too low."""
    first = START + root_gain(tables["arc"])

    def step(state: tuple[jax.Array, jax.Array, T]) -> tuple[jax.Array, jax.Array, T]:
        times, price, before = state
        price = jnp.where(is_low(before), STEP * price, price)
        return times + 1, price, found(price)

    def goes_on(state: tuple[jax.Array, jax.Array, T]) -> jax.Array:
        return jnp.any(is_low(state[2])) & (state[0] < TIMES)

    return jax.lax.while_loop(goes_on, step, (jnp.int32(0), first, found(first)))[2]


def _has_one(heads: jax.Array, lengths: jax.Array) -> jax.Array:
    """Whether one word depends on the root: `[.., B]` from `[.., B, n]`."""
    return ((heads == 0) & (jnp.arange(heads.shape[-1]) < lengths[:, None])).sum(-1) == 1

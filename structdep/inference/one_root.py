"""One derivation with a single root, from charts that count no roots on their way down."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from structdep._engines.primitive import ask
from structdep._engines.query import Query
from structdep.deduction import DeductionSystem
from structdep.semirings import LogSum, MaxPlus, Semiring, SingleRoot
from structdep.semirings.base import instance
from structdep.trees.classes import System

Tables = dict[str, jax.Array]


@partial(jax.jit, static_argnums=(0, 1))
def derivation(
    system: System, semiring: SingleRoot, tables: dict[str, Any], lengths: jax.Array, key: jax.Array | None
) -> tuple[Any, Tables]:
    """Its value and how it uses each score: a best one, or one drawn by `key`."""
    joined = {name: semiring.join(table) for name, table in tables.items()}
    if key is None:
        value, uses = _best(system, instance(semiring.base), joined, lengths)
    else:
        value, uses = _drawn(system, semiring, tables, joined, lengths, key)
    return (jnp.full_like(value, -jnp.inf), value), uses


def _best(system: System, semiring: Semiring, tables: Tables, lengths: jax.Array) -> tuple[jax.Array, Tables]:
    """With root arcs so dear that a best tree has one: at any such price it is the best of those that have one.

    A price that no other scores can make up for is greater than all of them together, so that it drowns small ones
    where others are very low, as those of masks are: prices begin low, and go up where the best tree has more roots.
    """
    if not isinstance(semiring, MaxPlus):
        raise ValueError(f"argmax with single_root needs MaxPlus or CostAugmented, not {type(semiring).__name__}")
    arcs = tables["arc"]
    spread = jnp.stack([_spread(table) for table in tables.values()]).sum(0)
    most = 1 + _uses(system) * arcs.shape[-1] * spread

    def dearer(state: tuple[jax.Array, Tables]) -> tuple[jax.Array, Tables]:
        price = jnp.where(_roots(state[1]) > 1, jnp.minimum(STEP * state[0], most), state[0])
        return price, ask(system, semiring, Query.BEST, dearer_roots(tables, price), lengths)[1]

    def is_low(state: tuple[jax.Array, Tables]) -> jax.Array:
        return jnp.any((_roots(state[1]) > 1) & (state[0] < most))

    two_roots = jax.tree.map(lambda table: jnp.full_like(table, 2), tables)
    _, uses = jax.lax.while_loop(is_low, dearer, (jnp.minimum(1 + root_gain(arcs), most) / STEP, two_roots))
    value = sum(_sum(jnp.where(uses[name] > 0, table * uses[name], 0)) for name, table in tables.items())
    return jnp.where(_roots(uses) == 1, value, -jnp.inf), uses


def _uses(system: System) -> int:
    """A bound on how often a derivation uses scores, for each node: the scores of a rule times the kinds of items."""
    if not isinstance(system, DeductionSystem):
        return 1
    scores = max(len([atom for atom in factors if not atom.is_item]) for r in system.rules for factors in r.expand())
    return max(scores, 1) * len({rule.conclusion.symbol for rule in system.rules})


STEP = 8
"""How much dearer root arcs become where a best tree has more than one."""


def root_gain(arcs: jax.Array) -> jax.Array:
    """The most that a word gains by depending on the root and not on another word, at least 0: `[batch]`."""
    root, others = arcs[:, 0], arcs[:, 1:].max(-2)
    gain = jnp.where(jnp.isfinite(root) & jnp.isfinite(others), root - others, 0)
    return jnp.maximum(gain.max(-1), 0)


def dearer_roots(tables: Tables, price: jax.Array) -> Tables:
    """The scores of arcs from the root less a price `[batch]`."""
    return tables | {"arc": tables["arc"].at[:, 0].add(-price[:, None])}


def _roots(uses: Tables) -> jax.Array:
    """How many words depend on the root, in each sentence."""
    return uses["arc"][:, 0].sum(-1)


def _spread(table: jax.Array) -> jax.Array:
    """The difference of the greatest and the least score of each sentence, -inf apart."""
    axes = tuple(range(1, table.ndim))
    finite = jnp.isfinite(table)
    most = jnp.max(table, axes, initial=-jnp.inf, where=finite)
    return jnp.maximum(most - jnp.min(table, axes, initial=jnp.inf, where=finite), 0)


def _sum(table: jax.Array) -> jax.Array:
    return table.sum(tuple(range(1, table.ndim)))


def _drawn(
    system: System, semiring: SingleRoot, graded: dict[str, Any], joined: Tables, lengths: jax.Array, key: jax.Array
) -> tuple[jax.Array, Tables]:
    """First the word that depends on the root, then the rest."""
    own, rest = jax.random.split(key)
    _, uses = ask(system, semiring, Query.EXPECTED_COUNTS, graded, lengths)
    root = jax.random.categorical(own, jnp.log(uses["arc"][1][:, 0]))
    arcs = joined["arc"]
    is_root = jnp.arange(arcs.shape[-1]) == root[:, None]
    one = joined | {"arc": arcs.at[:, 0].set(jnp.where(is_root, arcs[:, 0], -jnp.inf))}
    found: tuple[jax.Array, Tables] = ask(system, LogSum(), Query.SAMPLE, one, lengths, key=rest)
    return found

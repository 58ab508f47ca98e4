"""One derivation with a single root, from charts that count no roots on their way down."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from structdep.semirings import LogSum, MaxPlus, SingleRoot
from structdep.systems import System, run

Tables = dict[str, jax.Array]


def derivation(
    system: System, semiring: SingleRoot, tables: dict[str, Any], lengths: jax.Array, key: jax.Array | None
) -> tuple[Any, Tables]:
    """Its value and how it uses each score: a best one, or one drawn by `key`."""
    joined = {name: semiring.join(table) for name, table in tables.items()}
    if key is None:
        value, uses = _best(system, semiring.base, joined, lengths)
    else:
        value, uses = _drawn(system, semiring, tables, joined, lengths, key)
    return (jnp.full_like(value, -jnp.inf), value), uses


def _best(system: System, semiring: object, tables: Tables, lengths: jax.Array) -> tuple[jax.Array, Tables]:
    """With root arcs so dear that no other scores can make up for one."""
    if not isinstance(semiring, MaxPlus):
        raise ValueError(f"argmax with single_root needs MaxPlus or CostAugmented, not {type(semiring).__name__}")
    arcs = tables["arc"]
    price = 1 + arcs.shape[-1] * jnp.stack([_spread(table) for table in tables.values()]).sum(0)
    dear = tables | {"arc": arcs.at[:, 0].add(-price[:, None])}
    _, uses = run(system, semiring, "best", dear, lengths)
    value = sum(_sum(jnp.where(uses[name] > 0, table * uses[name], 0)) for name, table in tables.items())
    return jnp.where(uses["arc"][:, 0].sum(-1) == 1, value, -jnp.inf), uses


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
    _, uses = run(system, semiring, "uses", graded, lengths)
    root = jax.random.categorical(own, jnp.log(uses["arc"][1][:, 0]))
    arcs = joined["arc"]
    is_root = jnp.arange(arcs.shape[-1]) == root[:, None]
    one = joined | {"arc": arcs.at[:, 0].set(jnp.where(is_root, arcs[:, 0], -jnp.inf))}
    return run(system, LogSum(), "sample", one, lengths, key=rest)

"""The value of each sentence's trees, with derivatives of every order, in forward and in reverse mode.

For log-weights the derivative of a semiring sum is a weighted mean, so a chart's gradient counts how often each score
is used: in expectation (LogSum: marginals), in one best derivation (MaxPlus), or in each of several (KBest). One
program computes these uses beside the value. In other semirings derivatives are those of the operations.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from structdep._engines.primitive import ask
from structdep._engines.query import Query
from structdep._engines.xla.steps import Arrays
from structdep.deduction import DeductionSystem
from structdep.inference.derivation import derivation
from structdep.semirings import KBest, LogSum, Pair, Semiring, SingleRoot
from structdep.semirings.base import instance
from structdep.trees.classes import System


def evaluate(system: System, semiring: Semiring, tables: Arrays, lengths: jax.Array, key: Any = None) -> Any:
    """The goal's value in each sentence: `tables` hold semiring values, `[batch, nodes, ..]`.

    With a `key` (for a `Pair` one of each part, or None), the derivative is that of a derivation drawn by it.
    """
    if isinstance(semiring, Pair):
        parts = [{name: table[place] for name, table in tables.items()} for place in (0, 1)]
        cases = zip(semiring.both, parts, (None, None) if key is None else key, strict=True)
        return tuple(evaluate(system, part, own, lengths, own_key) for part, own, own_key in cases)
    base = instance(semiring.base) if isinstance(semiring, SingleRoot) else semiring
    if key is not None and not isinstance(base, LogSum):
        raise ValueError(f"derivations are drawn in LogSum or SingleRoot(LogSum), not in {semiring}")
    if base.additive:
        joined = {name: _joined(semiring, table) for name, table in tables.items()}
        value = _by_uses(system, semiring, joined, lengths, key)
        return (jnp.full_like(value, base.zero), value) if isinstance(semiring, SingleRoot) else value
    if _has_ranks(system, semiring, tables):
        return _by_uses(system, semiring, {name: table for name, (table,) in tables.items()}, lengths, None)
    return ask(system, semiring, Query.VALUE, tables, lengths)[0]


def _has_ranks(system: System, semiring: Semiring, tables: Arrays) -> bool:
    """Whether each of the k best derivations can be traced: where scores have one value, not one for each label."""
    is_chart = isinstance(semiring, KBest) and isinstance(system, DeductionSystem)
    return is_chart and all(len(table) == 1 for table in tables.values())


def _joined(semiring: Semiring, table: Any) -> jax.Array:
    return semiring.join(table) if isinstance(semiring, SingleRoot) else table


def _split(semiring: Semiring, name: str, table: jax.Array) -> Any:
    """What the semiring has in place of a number."""
    if isinstance(semiring, SingleRoot):
        return semiring.grade(name, table, instance(semiring.base).zero)
    return (table,) if isinstance(semiring, KBest) else table


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _by_uses(system: System, semiring: Semiring, tables: Arrays, lengths: jax.Array, key: jax.Array | None) -> Any:
    """The value, a number or one for each rank; `tables` hold numbers, also in `SingleRoot` and `KBest`."""
    split = {name: _split(semiring, name, table) for name, table in tables.items()}
    value, _ = ask(system, semiring, Query.VALUE, split, lengths)
    return value[1] if isinstance(semiring, SingleRoot) else value


@_by_uses.defjvp
def _(system: System, semiring: Semiring, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """d value = Σ uses · d score, over all scores."""
    value, uses = _value_and_uses(system, semiring, *primals)
    return value, _along(uses, tangents[0], value)


def _along(uses: Arrays, tangents: Arrays, value: Any) -> Any:
    """Σ uses · tangent, like the value; the ranks of uses come last."""
    if isinstance(value, tuple):
        return tuple(
            _along({name: table[..., rank] for name, table in uses.items()}, tangents, one)
            for rank, one in enumerate(value)
        )
    return sum(jnp.sum(uses[name] * table, tuple(range(1, table.ndim))) for name, table in tangents.items())


def _value_and_uses(
    system: System, semiring: Semiring, tables: Arrays, lengths: jax.Array, key: jax.Array | None
) -> tuple[Any, Arrays]:
    if key is not None or semiring.idempotent or isinstance(semiring, KBest):
        return _derived(system, semiring, tables, lengths, key)
    split = {name: _split(semiring, name, table) for name, table in tables.items()}
    query = Query.EXPECTED_COUNTS
    if not isinstance(semiring, SingleRoot):
        found: tuple[Any, Arrays] = ask(system, semiring, query, split, lengths)
        return found
    one = jnp.ones(lengths.shape, jnp.result_type(*tables.values()))
    (_, value), counts = ask(system, semiring, query, split, lengths, (jnp.zeros_like(one), one))
    return value, {name: sum(grades) for name, grades in counts.items()}


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _derived(
    system: System, semiring: Semiring, tables: Arrays, lengths: jax.Array, key: jax.Array | None
) -> tuple[Any, Arrays]:
    """The value, and the uses in one derivation, or in each of several: the same for scores nearby."""
    split = {name: _split(semiring, name, table) for name, table in tables.items()}
    value, counts = derivation(system, semiring, split, lengths, key)
    return value[1] if isinstance(semiring, SingleRoot) else value, counts


@_derived.defjvp
def _(system: System, semiring: Semiring, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    value, uses = _derived(system, semiring, *primals)
    return (value, uses), (_along(uses, tangents[0], value), jax.tree.map(jnp.zeros_like, uses))

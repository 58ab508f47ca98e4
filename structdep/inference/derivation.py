"""One derivation: the best, or a random one."""

from __future__ import annotations

from typing import Any

import jax

from structdep._engines.primitive import ask
from structdep._engines.query import Query, chosen
from structdep._engines.xla import heads_of
from structdep.deduction import DeductionSystem
from structdep.inference import one_root
from structdep.semirings import LogSum, MaxPlus, Semiring, SingleRoot
from structdep.trees.classes import System


def derivation(
    system: System, semiring: Semiring, tables: dict[str, Any], lengths: jax.Array, key: jax.Array | None
) -> tuple[Any, dict[str, jax.Array]]:
    """The value, and how often the best derivation, or one drawn by the key, uses each score."""
    if isinstance(semiring, SingleRoot) and isinstance(system, DeductionSystem):
        return one_root.derivation(system, semiring, tables, lengths, key)
    found: tuple[Any, dict[str, jax.Array]] = ask(system, semiring, _query(key), tables, lengths, key=key)
    return found


def heads(
    system: System, semiring: Semiring, tables: dict[str, Any], lengths: jax.Array, key: jax.Array | None
) -> jax.Array:
    """The heads in such a derivation: int32 `[batch, words]`, -1 if there is none, 0 in padding."""
    tables = jax.lax.stop_gradient(tables)
    if isinstance(semiring, MaxPlus | LogSum):
        found: jax.Array = ask(system, semiring, _query(key), tables, lengths, key=key, heads=True)
        return found
    value, counts = derivation(system, semiring, tables, lengths, key)
    return heads_of(chosen(system, semiring, tables), semiring, value, counts, lengths)


def _query(key: jax.Array | None) -> Query:
    return Query.BEST if key is None else Query.SAMPLE

"""What is asked of an engine: a query over a class of trees in a semiring, and the arrays that go with it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from structdep.deduction import DeductionSystem
from structdep.semirings import Semiring
from structdep.trees.classes import System


class Query(Enum):
    """What is asked of each sentence, beside the value of its trees."""

    VALUE = "value"
    """Nothing more."""
    EXPECTED_COUNTS = "expected counts"
    """How often each score is used: the derivative of the value, times a cotangent if one is given."""
    BEST = "best"
    """How often the best derivation uses each score; in `KBest`, each of the k best derivations, k last."""
    SAMPLE = "sample"
    """How often a random derivation uses each score."""


@dataclass(frozen=True)
class Request:
    """A query, with everything that is known when it is traced.

    Args:
        scores: the names of the score tables, sorted.
        heads: whether the answer to `BEST` or `SAMPLE` is heads, and not counts. Values must be numbers.
        engine: the name of the engine that `structdep.use_engine` asks for.
    """

    system: System
    semiring: Semiring
    query: Query
    scores: tuple[str, ...]
    heads: bool = False
    engine: str | None = None


def chosen(system: System, semiring: Semiring, scores: Collection[str]) -> System:
    """The system, or one of the same trees that finds the best sooner."""
    best = isinstance(system, DeductionSystem) and semiring.idempotent and {*scores} == {"arc"} and system.for_best
    return best or system


class Arguments(NamedTuple):
    """The arrays of a request, each with the batch first.

    `jax.vmap` adds axes to the batch: all arrays have as many axes of the batch as `lengths`, some perhaps of size 1.

    Args:
        tables: semiring values `[*batch, nodes, ..]` of each score.
        lengths: int32 `[*batch]`, words of each sentence.
        cotangent: of the value, or None for ones.
        seeds: uint32 `[*batch, 2]`, a key for each sample, or None.
    """

    tables: dict[str, Any]
    lengths: jax.Array
    cotangent: Any = None
    seeds: jax.Array | None = None

    def of_charts(self) -> Arguments:
        """Whether each array is one from which charts are filled."""
        every = jax.tree.map(lambda _: False, self)
        return every._replace(tables=jax.tree.map(lambda _: True, every.tables), lengths=True)

    @property
    def keys(self) -> jax.Array:
        """The seeds as keys of JAX."""
        assert self.seeds is not None
        return jax.random.wrap_key_data(self.seeds, impl="threefry2x32")


def scaled(counts: dict[str, jax.Array], cotangent: jax.Array | None) -> dict[str, jax.Array]:
    """Expected counts of numbers, times the cotangent of the value."""
    if cotangent is None:
        return counts
    return {
        name: table * jnp.expand_dims(cotangent, range(cotangent.ndim, table.ndim)) for name, table in counts.items()
    }


Answer = tuple[Any, dict[str, Any]] | jax.Array
"""The value and the counts, by name of the score; or int32 heads `[*batch, words]`, -1 without a tree, 0 in padding."""

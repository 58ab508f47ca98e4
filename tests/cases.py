"""One padded batch for all tests of the engine, so that a system compiles once: sentences of 0 to 4 words."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_systems import SYSTEMS, Declared

from structdep.deduction import DeductionSystem

N = 4
LENGTHS = np.array([4, 3, 2, 1, 0, 4], np.int32)
GARBAGE = 7e3
Tables = dict[str, NDArray[np.float32]]


SLOW = (
    "arc_standard_transitions",
    "arc_standard_trees",
    "arc_standard_trees_transitions",
    "arc_eager_transitions",
    "arc_eager_trees",
    "arc_eager_trees_transitions",
    "arc_hybrid_trees_transitions",
    "mh3_transitions",
    "eisner_siblings_single_root",
    "eisner_grandparents",
    "eisner_grandparents_single_root",
    "eisner_grand_siblings",
    "eisner_grand_siblings_single_root",
    "mh4_transitions",
    "mh4_trees",
    "mh4_trees_transitions",
    "one_endpoint_crossing",
    "crossing_sensitive",
)
"""Systems whose charts XLA takes long to compile; those of mh5 have items of four positions, which only XLA knows."""


def _case(declared: Declared) -> Any:
    name = declared.system.name
    marks = [pytest.mark.slow_by_xla] if name in SLOW else [pytest.mark.slow] if name == "mh5" else []
    return pytest.param(declared.system, id=name, marks=marks)


each_system = pytest.mark.parametrize("system", [_case(declared) for declared in SYSTEMS])
each_with_another_for_its_best = pytest.mark.parametrize("system", [_case(d) for d in SYSTEMS if d.system.for_best])
each_chart = pytest.mark.parametrize("system", [_case(d) for d in SYSTEMS if len(d.system.declared) == 1])


def some_tables(system: DeductionSystem, seed: int = 0, garbage: float = GARBAGE) -> Tables:
    """Random scores for every table of the system, with large values behind the end of each sentence."""
    rng = np.random.default_rng(seed)
    tables = {}
    for name, (score, arity) in system.declared.items():
        table = rng.normal(size=(len(LENGTHS),) + (N + 1 + score.sentinel,) * arity).astype(np.float32)
        table[behind(table, score.sentinel)] = garbage
        tables[name] = table
    return tables


def behind(table: NDArray[np.float32], sentinel: bool = False) -> NDArray[np.bool_]:
    """Where a table of the batch has a position behind the sentence."""
    last = (LENGTHS + sentinel)[(slice(None), *[None] * (table.ndim - 1))]
    return np.any([place > last for place in np.indices(table.shape)[1:]], axis=0)


def sentences(tables: Mapping[str, NDArray[np.float32]]) -> Iterator[tuple[int, Tables]]:
    """Each sentence's number of words and tables."""
    for row, length in enumerate(LENGTHS.tolist()):
        yield length, {name: np.asarray(table[row]) for name, table in tables.items()}

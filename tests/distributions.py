"""What the tests of distributions share: systems, scores, and queries by enumeration."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import enumeration
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import LENGTHS, N, some_tables
from numpy.typing import NDArray

import structdep as sd
from structdep.charts import arc_hybrid_trees, eisner, mh4_trees
from structdep.spanning import all_trees
from structdep.trees.classes import System

close = partial(np.testing.assert_allclose, rtol=2e-4, atol=5e-5)
slow = pytest.mark.slow
CASES = (
    pytest.param(eisner(), False, id="eisner, any roots"),
    pytest.param(arc_hybrid_trees(), True, marks=slow, id="arc_hybrid_trees, single root"),
    pytest.param(all_trees(), True, id="all trees, single root"),
    pytest.param(all_trees(), False, marks=slow, id="all trees, any roots"),
    pytest.param(eisner(), True, id="eisner, single root"),
    pytest.param(arc_hybrid_trees(), False, marks=slow, id="arc_hybrid_trees, any roots"),
    pytest.param(mh4_trees(), False, marks=slow, id="mh4_trees, any roots"),
    pytest.param(mh4_trees(), True, marks=slow, id="mh4_trees, single root"),
)
cases = pytest.mark.parametrize(("system", "single_root"), CASES)
K, DRAWS = 3, 1000
ROWS = range(len(LENGTHS))
HAS_TREE = {False: [True] * 6, True: [True, True, True, True, False, True]}
"""The empty sentence has one tree, and none with a root."""


def some_arcs(seed: int) -> jax.Array:
    """Scores of a batch with some forbidden arcs; every sentence has a tree."""
    scores = some_tables(eisner(), seed)["arc"]
    scores[0, 2, 1] = scores[0, 0, 3] = scores[1, 1, 2] = scores[5, 0, 4] = -np.inf
    return jnp.asarray(scores)


def listed(system: System, single_root: bool, scores: jax.Array) -> Iterator[tuple[NDArray[Any], jax.Array]]:
    """Heads, padded by 0, and scores of each sentence's trees."""
    for row, length in enumerate(LENGTHS.tolist()):
        heads = enumeration.trees(system, length, single_root)
        yield (
            np.pad(heads, [(0, 0), (0, N - length)]),
            enumeration.tree_scores(system, scores[row], length, single_root),
        )


def by_trees(query: Callable[..., jax.Array], system: System, single_root: bool, *batches: jax.Array) -> jax.Array:
    """A query of each sentence by enumeration: `query(arcs of the trees, scores of the trees in each batch ..)`."""

    def of_one(length: int, *tables: jax.Array) -> jax.Array:
        totals = [enumeration.tree_scores(system, table, length, single_root) for table in tables]
        return query(enumeration.arcs(system, length, single_root), *totals)

    return enumeration.each(of_one, *batches)


def marginals_of_one(arcs: NDArray[np.bool_], totals: jax.Array) -> jax.Array:
    return enumeration.expected(totals, arcs)


def chi_square_is_low(observed: NDArray[Any], expected: NDArray[Any]) -> bool:
    """Whether counts are less than five standard deviations off, the rare ones taken together."""
    rare = expected < 5
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    freedom = max(len(expected) - 1, 1)
    statistic = ((observed - expected) ** 2 / np.maximum(expected, 1e-9))[expected > 1].sum()
    return bool(statistic < freedom + 5 * np.sqrt(2 * freedom))


GOLD = np.array([[2, 0, 2, 3], [0, 1, 1, 9], [2, 0, 5, 7], [0, 9, 9, 9], [3, 2, 1, 0], [4, 1, 2, -1]], np.int32)


KNOWN = np.array([[-1, 1, -1, -1], [3, -1, -1, 0], [-1] * 4, [0, -1, -1, -1], [-1] * 4, [-1, -1, 4, -1]], np.int32)


def constrained() -> tuple[sd.Constraints, NDArray[np.bool_]]:
    """Known heads and forbidden arcs, and the arcs that they leave."""
    forbidden = np.zeros((len(LENGTHS), N + 1, N + 1), bool)
    forbidden[0, 0, 4] = forbidden[2, 0, 1] = forbidden[5, 1, 2] = True
    allowed = ~forbidden
    allowed[:, :, 1:] &= (KNOWN[:, None] < 0) | (KNOWN[:, None] == np.arange(N + 1)[:, None])
    return sd.Constraints(KNOWN, forbidden), allowed

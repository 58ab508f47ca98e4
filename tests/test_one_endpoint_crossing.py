"""1-Endpoint-Crossing trees: the class, each tree once, and values of known scores."""

from collections import Counter
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import structdep as sd
from structdep.charts import one_endpoint_crossing
from structdep.testing import derivations
from structdep.trees import all_trees, arcs_to_heads, is_one_endpoint_crossing

LONGEST = 10
LENGTHS = np.arange(1, LONGEST + 1)
TREES = (1, 3, 16, 125, 1104, 10024, 92344, 865143, 8249220, 79916012)
ONE_ROOT = (1, 2, 9, 64, 545, 4876, 44496, 413316, 3909589, 37606558)
LOG_Z = (1.25, 2.212349, 3.873701, 5.3897, 8.82022, 12.947618, 15.699606, 18.477408, 22.088996)
BEST = (1.25, 1.5, 2.5, 3.25, 5.75, 9.25, 11.25, 13.0, 15.0)
LOG_Z_ONE_ROOT = (1.25, 1.538041, 3.163005, 4.817299, 8.189039, 12.289586, 15.160603, 18.130042, 21.574148)
BEST_ONE_ROOT = (1.25, 1.5, 2.5, 3.25, 5.75, 9.25, 11.25, 13.0, 15.0)


@cache
def members(length: int) -> NDArray[np.int32]:
    trees = all_trees(length)
    return trees[is_one_endpoint_crossing(trees)]


def known_scores() -> jax.Array:
    """((7 h² + 13 m + 5 h m) mod 17) / 4 - 2, for sentences of 1 to 10 words."""
    h, m = np.mgrid[: LONGEST + 1, : LONGEST + 1]
    return jnp.broadcast_to(((7 * h * h + 13 * m + 5 * h * m) % 17) / 4 - 2, (LONGEST, LONGEST + 1, LONGEST + 1))


def random_scores() -> jax.Array:
    return jax.random.normal(jax.random.key(0), (LONGEST, LONGEST + 1, LONGEST + 1))


def value_and_uses(scores: jax.Array, semiring: type[sd.Semiring]) -> tuple[jax.Array, jax.Array]:
    """Of each sentence, by one program: it takes long to compile."""
    value, pull = jax.vjp(
        lambda s: sd.inside(one_endpoint_crossing(), s, LENGTHS, semiring), scores.astype(jnp.float32)
    )
    return value, pull(jnp.ones_like(value))[0]


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, pytest.param(6, marks=pytest.mark.slow)])
def test_the_rules_derive_the_class_each_tree_once(length: int) -> None:
    assert derivations(one_endpoint_crossing(), length) == Counter(map(tuple, members(length).tolist()))


def test_numbers_of_trees() -> None:
    """Up to 80 million trees, which the chart counts one by one."""
    value, _ = value_and_uses(jnp.zeros((LONGEST, LONGEST + 1, LONGEST + 1)), sd.LogSum)
    np.testing.assert_allclose(value, np.log(TREES), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_numbers_of_trees_with_one_root() -> None:
    zeros = jnp.zeros((LONGEST, LONGEST + 1, LONGEST + 1))
    trees = sd.TreeDistribution(one_endpoint_crossing(), zeros, LENGTHS, single_root=True)
    np.testing.assert_allclose(trees.log_partition(), np.log(ONE_ROOT), rtol=1e-5, atol=1e-6)


def test_values_of_known_scores() -> None:
    np.testing.assert_allclose(value_and_uses(known_scores(), sd.LogSum)[0][:9], LOG_Z, atol=1e-5)
    np.testing.assert_allclose(value_and_uses(known_scores(), sd.MaxPlus)[0][:9], BEST, atol=1e-6)


@pytest.mark.slow
def test_values_of_known_scores_with_one_root() -> None:
    trees = sd.TreeDistribution(one_endpoint_crossing(), known_scores(), LENGTHS, single_root=True)
    np.testing.assert_allclose(trees.log_partition()[:9], LOG_Z_ONE_ROOT, atol=1e-5)
    np.testing.assert_allclose(trees.max()[:9], BEST_ONE_ROOT, atol=1e-6)


def test_the_best_tree() -> None:
    for scores in (known_scores(), random_scores()):
        best, arcs = value_and_uses(scores, sd.MaxPlus)
        heads = np.asarray(arcs_to_heads(arcs, LENGTHS))
        assert is_one_endpoint_crossing(heads, LENGTHS).all()
        for row, length in enumerate(LENGTHS):
            np.testing.assert_allclose(totals(scores[row], heads[row : row + 1, :length]), best[row], rtol=1e-5)
            if length <= 6:
                np.testing.assert_allclose(totals(scores[row], members(length)).max(), best[row], rtol=1e-5)


def test_marginals() -> None:
    scores = random_scores()
    marginals = np.asarray(value_and_uses(scores, sd.LogSum)[1])
    np.testing.assert_allclose(marginals.sum(1)[:, 1:], LENGTHS[:, None] >= np.arange(1, LONGEST + 1), atol=1e-4)
    for row, length in enumerate(LENGTHS[:6]):
        values = totals(scores[row], members(length))
        expected = np.zeros(scores.shape[1:])
        for heads, weight in zip(members(length), np.exp(values - np.logaddexp.reduce(values)), strict=True):
            expected[heads, np.arange(1, length + 1)] += weight
        np.testing.assert_allclose(marginals[row], expected, atol=1e-5)


def totals(scores: jax.Array, trees: NDArray[np.int32]) -> NDArray[np.float64]:
    """The sum of each tree's arcs."""
    return np.asarray(scores, np.float64)[trees, np.arange(1, trees.shape[1] + 1)].sum(1)

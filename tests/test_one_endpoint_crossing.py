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

each_longest = pytest.mark.parametrize("longest", [6, pytest.param(10, marks=pytest.mark.slow)])
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


def known_scores(longest: int) -> jax.Array:
    """((7 h² + 13 m + 5 h m) mod 17) / 4 - 2, for sentences of 1 to `longest` words."""
    h, m = np.mgrid[: longest + 1, : longest + 1]
    return jnp.broadcast_to(((7 * h * h + 13 * m + 5 * h * m) % 17) / 4 - 2, (longest, longest + 1, longest + 1))


def random_scores(longest: int) -> jax.Array:
    return jax.random.normal(jax.random.key(0), (longest, longest + 1, longest + 1))


def lengths_of(scores: jax.Array) -> NDArray[np.int64]:
    return np.arange(1, len(scores) + 1)


def value_and_uses(scores: jax.Array, semiring: type[sd.Semiring]) -> tuple[jax.Array, jax.Array]:
    """Of each sentence, by one program: it takes long to compile."""
    value, pull = jax.vjp(
        lambda s: sd.inside(one_endpoint_crossing(), s, lengths_of(scores), semiring), scores.astype(jnp.float32)
    )
    return value, pull(jnp.ones_like(value))[0]


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, pytest.param(6, marks=pytest.mark.slow)])
def test_the_rules_derive_the_class_each_tree_once(length: int) -> None:
    assert derivations(one_endpoint_crossing(), length) == Counter(map(tuple, members(length).tolist()))


@each_longest
def test_numbers_of_trees(longest: int) -> None:
    """Up to 80 million trees, which the chart counts one by one."""
    value, _ = value_and_uses(jnp.zeros((longest, longest + 1, longest + 1)), sd.LogSum)
    np.testing.assert_allclose(value, np.log(TREES[:longest]), rtol=1e-5, atol=1e-6)


@each_longest
def test_values_of_known_scores(longest: int) -> None:
    found = [value_and_uses(known_scores(longest), semiring)[0][:9] for semiring in (sd.LogSum, sd.MaxPlus)]
    np.testing.assert_allclose(found[0], LOG_Z[:longest], atol=1e-5)
    np.testing.assert_allclose(found[1], BEST[:longest], atol=1e-6)


@pytest.mark.slow
def test_one_root() -> None:
    scores = known_scores(10)
    trees = sd.TreeDistribution(one_endpoint_crossing(), scores, lengths_of(scores), single_root=True)
    np.testing.assert_allclose(trees.log_partition()[:9], LOG_Z_ONE_ROOT, atol=1e-5)
    np.testing.assert_allclose(trees.max()[:9], BEST_ONE_ROOT, atol=1e-6)
    equal = sd.TreeDistribution(one_endpoint_crossing(), 0 * scores, lengths_of(scores), single_root=True)
    np.testing.assert_allclose(equal.log_partition(), np.log(ONE_ROOT), rtol=1e-5, atol=1e-6)


@each_longest
def test_the_best_tree(longest: int) -> None:
    for scores in (known_scores(longest), random_scores(longest)):
        best, arcs = value_and_uses(scores, sd.MaxPlus)
        heads = np.asarray(arcs_to_heads(arcs, lengths_of(scores)))
        assert is_one_endpoint_crossing(heads, lengths_of(scores)).all()
        for row, length in enumerate(lengths_of(scores)):
            np.testing.assert_allclose(totals(scores[row], heads[row : row + 1, :length]), best[row], rtol=1e-5)
            if length <= 6:
                np.testing.assert_allclose(totals(scores[row], members(length)).max(), best[row], rtol=1e-5)


@each_longest
def test_marginals(longest: int) -> None:
    scores = random_scores(longest)
    lengths = lengths_of(scores)
    marginals = np.asarray(value_and_uses(scores, sd.LogSum)[1])
    np.testing.assert_allclose(marginals.sum(1)[:, 1:], lengths[:, None] >= np.arange(1, longest + 1), atol=1e-4)
    for row, length in enumerate(lengths[:6]):
        values = totals(scores[row], members(length))
        expected = np.zeros(scores.shape[1:])
        for heads, weight in zip(members(length), np.exp(values - np.logaddexp.reduce(values)), strict=True):
            expected[heads, np.arange(1, length + 1)] += weight
        np.testing.assert_allclose(marginals[row], expected, atol=1e-5)


def totals(scores: jax.Array, trees: NDArray[np.int32]) -> NDArray[np.float64]:
    """The sum of each tree's arcs."""
    return np.asarray(scores, np.float64)[trees, np.arange(1, trees.shape[1] + 1)].sum(1)

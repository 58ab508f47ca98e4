"""Failures known of parsers and of libraries for structured prediction, one a test: here they do not happen."""

from functools import partial

import enumeration
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import LENGTHS, N, some_tables

import structdep as sd
from structdep.charts import arc_hybrid_trees, eisner, mh4_trees, mhk
from structdep.spanning import all_trees
from structdep.testing import derivations
from structdep.trees import heads_to_arcs, is_tree
from structdep.trees.classes import System

close = partial(np.testing.assert_allclose, rtol=2e-5, atol=2e-5)
systems = pytest.mark.parametrize("system", [eisner(), arc_hybrid_trees(), all_trees()], ids=lambda system: system.name)


def some_arcs(seed: int, scale: float = 1.0) -> jax.Array:
    return jnp.asarray(some_tables(eisner(), seed)["arc"] * np.float32(scale))


@systems
@pytest.mark.parametrize("garbage", [0.0, 1e30, -1e30, np.inf, -np.inf])
def test_the_log_partition_does_not_depend_on_padding(system: System, garbage: float) -> None:
    scores = some_arcs(60)
    behind = jnp.asarray(some_tables(system, 60, garbage)["arc"])
    assert jnp.array_equal(sd.inside(system, behind, LENGTHS, sd.LogSum), sd.inside(system, scores, LENGTHS, sd.LogSum))
    assert jnp.array_equal(sd.marginals(system, behind, LENGTHS), sd.marginals(system, scores, LENGTHS))


@systems
def test_the_log_partition_does_not_depend_on_the_amount_of_padding(system: System) -> None:
    scores = jnp.asarray(np.random.default_rng(61).normal(size=(1, 9, 9)).astype(np.float32))
    alone = sd.inside(system, scores, semiring=sd.LogSum)
    padded = jnp.pad(scores, [(0, 0), (0, 24), (0, 24)])
    close(sd.inside(system, padded, np.array([8]), sd.LogSum), alone, rtol=1e-6)


@systems
def test_scores_are_not_clipped(system: System) -> None:
    """Far below -10 a score still counts."""
    scores = some_arcs(62)
    lower = sd.inside(system, scores.at[0, :, 1].add(-500.0), LENGTHS, sd.LogSum)
    close(lower[0], sd.inside(system, scores, LENGTHS, sd.LogSum)[0] - 500)


@systems
def test_a_forbidden_arc_has_no_probability_at_all(system: System) -> None:
    scores = some_arcs(63)
    marginals = sd.marginals(system, scores.at[:, 2, 1].set(-jnp.inf), LENGTHS)
    assert not marginals[:, 2, 1].any()
    forbidden = np.zeros(scores.shape, bool)
    forbidden[:, 2, 1] = True
    assert jnp.array_equal(sd.marginals(system, scores, LENGTHS, sd.Constraints(None, forbidden)), marginals)


@systems
def test_forbidden_arcs_give_no_nan_in_the_entropy_or_its_gradient(system: System) -> None:
    scores = some_arcs(64).at[:, 2, 1].set(-jnp.inf).at[1].set(-jnp.inf)

    def entropy(scores: jax.Array) -> jax.Array:
        return sd.TreeDistribution(system, scores, LENGTHS).entropy()

    assert np.isfinite(entropy(scores)).all()
    assert np.isfinite(jax.grad(lambda s: entropy(s).sum())(scores)).all()


@systems
def test_without_a_tree_nothing_is_nan(system: System) -> None:
    scores = some_arcs(65).at[:, :, 2].set(-jnp.inf)
    trees = sd.TreeDistribution(system, scores, LENGTHS)
    assert np.isneginf(trees.log_partition()[LENGTHS >= 2]).all()
    for value in (trees.log_partition(), trees.max(), trees.marginals(), trees.entropy()):
        assert not np.isnan(value).any()
    gradient = jax.grad(lambda s: sd.inside(system, s, LENGTHS, sd.LogSum).sum())(scores)
    assert np.isfinite(gradient).all()


@systems
@pytest.mark.parametrize("score", [0.0, 1.0, -3.5])
def test_among_ties_the_argmax_is_a_tree_of_zeros_and_ones(system: System, score: float) -> None:
    scores = jnp.full((len(LENGTHS), N + 1, N + 1), score)
    assert is_tree(sd.argmax(system, scores, LENGTHS), LENGTHS).all()
    uses = jax.grad(lambda s: sd.inside(system, s, LENGTHS, sd.MaxPlus).sum())(scores)
    assert set(np.unique(uses)) == {0, 1}
    assert jnp.array_equal(uses.sum((1, 2)), LENGTHS)


def test_lengths_count_words_without_the_root() -> None:
    values = sd.inside(eisner(), jnp.zeros((6, N + 1, N + 1)), LENGTHS, sd.Counting)
    close(jnp.exp(values), [55, 12, 3, 1, 1, 55])
    with pytest.raises(ValueError, match="the root does not count"):
        sd.inside(eisner(), jnp.zeros((1, N + 1, N + 1)), np.array([N + 1]))


def test_one_distribution_does_not_change_another() -> None:
    """Whether there is one root belongs to an object, not to its class."""
    scores = jnp.zeros((6, N + 1, N + 1))
    first = sd.TreeDistribution(eisner(), scores, LENGTHS, single_root=True)
    close(jnp.exp(first.log_partition()[0]), 30)
    second = sd.TreeDistribution(eisner(), scores, LENGTHS)
    close(jnp.exp(second.log_partition()[0]), 55)
    close(jnp.exp(first.log_partition()[0]), 30)
    assert first.single_root and not second.single_root


@systems
@pytest.mark.parametrize("scale", [20.0, 50.0, 1e3, 1e4])
def test_the_log_partition_of_spread_scores_lies_above_the_maximum_by_the_logarithm_of_the_trees_at_most(
    system: System, scale: float
) -> None:
    trees = sd.TreeDistribution(system, some_arcs(66, scale), LENGTHS)
    above = np.asarray(trees.log_partition() - trees.max())
    most = np.log([len(enumeration.trees(system, length)) for length in LENGTHS.tolist()])
    rounding = 1e-6 * np.abs(np.asarray(trees.max())) + 1e-5
    assert (above >= -rounding).all() and (above <= most + rounding).all()
    assert np.isfinite(trees.marginals()).all()


@systems
@pytest.mark.parametrize("scale", [1.0, 20.0, 1e3])
def test_log_probabilities_are_never_positive(system: System, scale: float) -> None:
    trees = sd.TreeDistribution(system, some_arcs(67, scale), LENGTHS)
    log_prob = trees.log_prob(trees.argmax())
    assert (log_prob <= 0).all() and np.isfinite(log_prob).all()
    assert log_prob[3] == 0


@systems
def test_argmax_and_entropy_are_there(system: System) -> None:
    trees = sd.TreeDistribution(system, some_arcs(68), LENGTHS)
    assert is_tree(trees.argmax(), LENGTHS).all()
    assert (trees.entropy() >= 0).all() and trees.entropy()[0] > 0


@systems
def test_the_likelihood_of_a_partial_tree_knows_of_the_single_root(system: System) -> None:
    scores = some_arcs(69)
    heads = jnp.full((len(LENGTHS), N), -1).at[:, 0].set(0)
    found = sd.TreeDistribution(system, scores, LENGTHS, single_root=True).log_prob(heads)[0]
    trees = enumeration.trees(system, N, True)
    totals = enumeration.tree_scores(system, scores[0], N, True)
    close(jnp.exp(found), enumeration.expected(totals, trees[:, 0] == 0))


@systems
def test_the_k_best_are_the_k_best(system: System) -> None:
    scores = some_arcs(70)
    found = sd.TreeDistribution(system, scores, LENGTHS).k_best(3)
    close(found.scores[:, 0], -np.sort(-enumeration.tree_scores(system, scores[0], N))[:3])
    assert len({tuple(heads) for heads in found.heads[:, 0].tolist()}) == 3


@pytest.mark.parametrize("system", [eisner(), arc_hybrid_trees(), mhk(4)], ids=lambda system: system.name)
def test_every_tree_of_the_class_is_found(system: System) -> None:
    """A decoder that leaves out some trees of its class finds worse ones where they are best."""
    members = enumeration.trees(system, N)
    for start in range(0, len(members), len(LENGTHS)):
        gold = members[np.arange(start, start + len(LENGTHS)) % len(members)]
        scores = heads_to_arcs(gold).astype(jnp.float32)
        assert jnp.array_equal(sd.argmax(system, scores, np.full(len(LENGTHS), N)), gold)


def test_a_system_says_whether_it_counts_trees_or_derivations() -> None:
    for system in (eisner(), arc_hybrid_trees(), mh4_trees(), mhk(4)):
        found = derivations(system, 4)
        assert system.unambiguous == (found.total() == len(found))
        assert ("one derivation a tree" in str(system)) == system.unambiguous
    with pytest.raises(ValueError, match="derives a tree several times"):
        sd.TreeDistribution(mhk(4), some_arcs(71), LENGTHS).log_partition()

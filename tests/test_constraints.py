"""Constraints in every query, and what is said where no tree obeys them."""

from collections.abc import Callable

import enumeration
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import LENGTHS, N, some_tables
from distributions import DRAWS, GOLD, KNOWN, K, by_trees, cases, close, constrained, marginals_of_one, slow, some_arcs

import structdep as sd
from structdep.charts import eisner, mh4_trees
from structdep.deduction import DeductionSystem


@cases
def test_constraints_leave_the_trees_that_obey_them(system: DeductionSystem, single_root: bool) -> None:
    scores = jnp.asarray(some_tables(eisner(), 45)["arc"])
    constraints, allowed = constrained()
    obeyed = jnp.where(allowed, scores, -jnp.inf)
    free, trees, masked = (
        sd.TreeDistribution(system, *given, single_root=single_root)
        for given in ((scores, LENGTHS), (scores, LENGTHS, constraints), (obeyed, LENGTHS))
    )
    close(trees.log_partition(), by_trees(lambda _, t: enumeration.log_partition(t), system, single_root, obeyed))
    close(trees.marginals(), by_trees(marginals_of_one, system, single_root, obeyed), atol=1e-4)
    close(trees.entropy(), masked.entropy(), atol=1e-4)
    for found, expected in ((trees.argmax(), masked.argmax()), (trees.minimum_risk(), masked.minimum_risk())):
        assert jnp.array_equal(found, expected)
    assert jnp.array_equal(trees.k_best(K).heads, masked.k_best(K).heads)
    drawn = np.asarray(trees.sample(jax.random.key(4), DRAWS))
    has_tree = np.asarray(trees.exists())
    assert np.take_along_axis(np.broadcast_to(allowed[:, :, 1:], (DRAWS, 6, 5, 4)), drawn[:, :, None], 2)[
        :, has_tree
    ].all()
    divergence = np.asarray(trees.kl_divergence(free))
    expected = -np.asarray(free.log_prob(KNOWN))
    assert np.isfinite(divergence).all() and (divergence >= 0).all()
    close(divergence[[3]], expected[[3]])
    assert np.isposinf(free.kl_divergence(trees)[0])
    loss = jax.grad(lambda s: -sd.TreeDistribution(system, s, LENGTHS, constraints).log_partition().sum())(scores)
    assert np.isfinite(loss).all() and not np.asarray(loss)[~allowed].any()


@cases
def test_no_tree_at_all(system: DeductionSystem, single_root: bool) -> None:
    """A flag, -inf and -1; no NaN, and finite gradients."""
    scores = jnp.asarray(some_tables(eisner(), 46)["arc"])
    forbidden = np.zeros(scores.shape, bool)
    forbidden[0] = forbidden[3] = True

    def distribution(scores: jax.Array) -> sd.TreeDistribution:
        return sd.TreeDistribution(system, scores, LENGTHS, sd.Constraints(None, forbidden), single_root=single_root)

    trees, none = distribution(scores), np.array([0, 3])
    assert not trees.exists()[none].any() and trees.exists()[1]
    for value in (trees.log_partition(), trees.max(), trees.log_prob(GOLD), trees.score(GOLD), trees.k_best(K).scores):
        assert np.isneginf(value[..., none]).all() and not np.isnan(value).any()
    for heads in (trees.argmax(), trees.minimum_risk(), trees.sample(jax.random.key(5), DRAWS), trees.k_best(K).heads):
        assert (heads[..., 0, :] == -1).all()
        assert (heads[..., 3, :] == jnp.array([-1, 0, 0, 0])).all()
    for value in (trees.marginals(), trees.entropy(), trees.expected_attachment(GOLD), trees.covariance(scores)):
        assert not np.asarray(value)[none].any() and np.isfinite(value).all()
    queries: list[Callable[[sd.TreeDistribution], jax.Array]] = [
        lambda d: d.log_partition(),
        lambda d: d.max(),
        lambda d: d.entropy(),
        lambda d: d.log_prob(GOLD),
        lambda d: d.expected_attachment(GOLD),
        lambda d: d.k_best(K).scores,
        lambda d: trees.kl_divergence(d),
    ]
    for query in queries:
        slope = np.asarray(jax.grad(lambda s, query=query: query(distribution(s)).sum())(scores))
        assert np.isfinite(slope).all() and not slope[none].any()


def test_constraints_are_checked() -> None:
    scores = some_arcs(47)
    wrong: list[tuple[sd.Constraints, type[Exception], str]] = [
        (sd.Constraints(heads=np.zeros((6, N))), TypeError, "heads must be integers"),
        (sd.Constraints(heads=np.zeros((6, N + 1), int)), ValueError, r"heads have shape \(6, 5\), expected \(6, 4\)"),
        (sd.Constraints(forbidden=np.zeros(scores.shape)), TypeError, "forbidden must be booleans"),
        (
            sd.Constraints(forbidden=np.zeros((N + 1, N + 1), bool)),
            ValueError,
            r"forbidden have shape \(5, 5\), expected \(6, 5, 5\)",
        ),
        (KNOWN, TypeError, r"constraints are structdep.Constraints\(heads=.., forbidden=..\), not array"),  # type: ignore[list-item]
    ]
    for constraints, error, message in wrong:
        with pytest.raises(error, match=message):
            sd.TreeDistribution(eisner(), scores, LENGTHS, constraints).log_partition()


def test_completions_of_partly_known_trees_obey_constraints() -> None:
    """Those of the likelihood's numerator, too."""
    scores, forbidden = some_arcs(47), np.zeros((6, N + 1, N + 1), bool)
    forbidden[:, 0, 1] = True
    known = sd.Constraints(heads=KNOWN)
    for constraints in (sd.Constraints(forbidden=forbidden), sd.Constraints(KNOWN, forbidden)):
        found = sd.losses.nll(eisner(), scores, known, LENGTHS, constraints)
        allowed = jnp.where(forbidden, -jnp.inf, scores)
        every = sd.TreeDistribution(eisner(), allowed, LENGTHS, sd.Constraints(constraints.heads))
        obeying = sd.TreeDistribution(eisner(), allowed, LENGTHS, known).log_partition()
        expected = jnp.where(jnp.isneginf(obeying), jnp.inf, every.log_partition() - obeying)
        close(found, jnp.where(LENGTHS > 0, expected, 0))


@pytest.mark.parametrize("loss", [sd.losses.hinge, sd.losses.softmax_margin, sd.losses.risk, sd.losses.nll])
def test_constrained_losses_are_those_of_masked_scores(loss: Callable[..., jax.Array]) -> None:
    """Only of the trees that compete: the gold tree keeps its score."""
    scores, (constraints, allowed) = jnp.asarray(some_tables(eisner(), 54)["arc"]), constrained()
    gold = np.asarray(sd.argmax(eisner(), scores, LENGTHS, constraints=constraints))[[0, 1, 2, 4, 5]]
    rows = np.array([0, 1, 2, 4, 5])
    own = sd.Constraints(KNOWN[rows], np.asarray(constraints.forbidden)[rows])

    def value(scores: jax.Array, constraints: sd.Constraints | None) -> jax.Array:
        return loss(eisner(), scores, gold, LENGTHS[rows], constraints=constraints)

    masked = jnp.where(allowed, scores, -jnp.inf)[rows]
    close(value(scores[rows], own), value(masked, None))
    slope, expected = (jax.grad(lambda s, c=c: value(s, c).sum())(s) for s, c in ((scores[rows], own), (masked, None)))
    assert np.isfinite(slope).all()
    close(slope, expected)


@pytest.mark.parametrize("system", [eisner(), pytest.param(mh4_trees(), marks=slow)], ids=lambda system: system.name)
def test_likelihood_of_partial_trees(system: DeductionSystem) -> None:
    """Trees known in part, by heads or by forbidden arcs, have the probability of all that complete them."""
    scores, (constraints, _) = jnp.asarray(some_tables(eisner(), 55)["arc"]), constrained()
    trees, one = (sd.TreeDistribution(system, scores, LENGTHS, c) for c in (None, constraints))
    close(sd.losses.nll(system, scores, sd.Constraints(KNOWN), LENGTHS), -trees.log_prob(KNOWN), atol=2e-4)
    loss = sd.losses.nll(system, scores, constraints, LENGTHS)
    close(loss, trees.log_partition() - one.log_partition(), atol=2e-4)
    slope = jax.grad(lambda s: sd.losses.nll(system, s, constraints, LENGTHS).sum())(scores)
    close(slope, trees.marginals() - one.marginals(), atol=2e-4)

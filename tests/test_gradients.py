"""Derivatives of charts: expected uses of scores, one best tree, covariances; finite and zero where they should be."""

from collections import Counter
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import LENGTHS, N, Tables, behind, each_chart, each_system, sentences, some_tables
from numpy.typing import NDArray

import structdep as sd
from structdep.charts import arc_hybrid, eisner, mhk
from structdep.deduction import DeductionSystem
from structdep.testing import derivation_scores, expected_counts
from structdep.trees import heads_to_arcs

pytestmark = pytest.mark.usefixtures("engine")

close = partial(np.testing.assert_allclose, rtol=1e-4, atol=2e-5)


def total(
    system: DeductionSystem, semiring: type[sd.Semiring], tables: Tables
) -> tuple[jax.Array, dict[str, jax.Array]]:
    """The sum of the batch's values, and its gradient."""

    def objective(tables: dict[str, jax.Array]) -> jax.Array:
        values = sd.inside(system, tables, LENGTHS, semiring)
        return jnp.where(jnp.isneginf(values), 0, values).sum()

    return jax.value_and_grad(objective)({name: jnp.asarray(table) for name, table in tables.items()})


@each_system
def test_the_gradient_of_log_sum_counts_expected_counts(system: DeductionSystem) -> None:
    """Nothing is expected in padding."""
    tables = some_tables(system)
    uses, marginals = total(system, sd.LogSum, tables)[1], sd.marginals(system, tables, LENGTHS)
    for row, (length, scores) in enumerate(sentences(tables)):
        expected = expected_counts(system, length, scores)
        for name, table in uses.items():
            close(table[row], expected[name], err_msg=f"{name} of {length} words")
            close(marginals[name][row], expected[name], err_msg=f"{name} of {length} words")


@each_chart
def test_the_gradient_of_max_plus_is_one_best_derivation(system: DeductionSystem) -> None:
    tables = some_tables(system, seed=1)
    value, uses = total(system, sd.MaxPlus, tables)
    best = 0.0
    for row, (length, scores) in enumerate(sentences(tables)):
        listed = [(score, derivation) for derivation, _, score in derivation_scores(system, length, scores)]
        score, derivation = max(listed, default=(0.0, ()))
        best += score
        found = {(name, tuple(at)): times for name, table in uses.items() for at, times in nonzero(table[row])}
        assert found == Counter(derivation)
    close(value, best)


def nonzero(table: jax.Array) -> list[tuple[list[int], float]]:
    array = np.asarray(table)
    return [(at.tolist(), float(array[tuple(at)])) for at in np.argwhere(array)]


SIMPLE = pytest.mark.parametrize(
    "system",
    [eisner(), arc_hybrid(), pytest.param(mhk(4), marks=pytest.mark.slow)],
    ids=lambda system: system.name,
)


def log_z(system: DeductionSystem, scores: jax.Array) -> jax.Array:
    return sd.inside(system, scores, LENGTHS, sd.LogSum).sum()


@SIMPLE
def test_forward_and_reverse_derivatives_agree(system: DeductionSystem) -> None:
    scores, direction = (jnp.asarray(some_tables(system, seed)["arc"]) for seed in (3, 4))
    _, tangent = jax.jvp(partial(log_z, system), (scores,), (direction,))
    close(tangent, jnp.vdot(jax.grad(partial(log_z, system))(scores), direction))


@pytest.mark.parametrize("system", [eisner(), pytest.param(arc_hybrid(), marks=pytest.mark.slow)], ids=lambda s: s.name)
def test_products_with_the_hessian_are_covariances_of_uses(system: DeductionSystem) -> None:
    """d² log Z = Cov(uses), from the enumerated derivations; forward over reverse and reverse over reverse."""
    scores, direction = (some_tables(system, seed)["arc"] for seed in (3, 4))
    gradient = jax.grad(partial(log_z, system))
    expected = np.stack(
        [
            covariance(system, length, s["arc"], d)
            for (length, s), d in zip(sentences({"arc": scores}), direction, strict=True)
        ]
    )
    _, forward = jax.jvp(gradient, (jnp.asarray(scores),), (jnp.asarray(direction),))
    close(forward, expected, atol=1e-4)
    reverse = jax.grad(lambda s: jnp.vdot(gradient(s), jnp.where(behind(direction), 0, direction)))(jnp.asarray(scores))
    close(reverse, expected, atol=1e-4)


def covariance(
    system: DeductionSystem, length: int, scores: NDArray[np.float32], direction: NDArray[np.float32]
) -> NDArray[np.float64]:
    """The covariance of each arc's use with Σ direction · uses."""
    listed = list(derivation_scores(system, length, scores))
    weights = np.exp([score for *_, score in listed])
    uses = np.zeros((len(listed), *scores.shape))
    for row, (derivation, *_) in enumerate(listed):
        for _, nodes in derivation:
            uses[row][nodes] += 1
    weighted = (uses * direction).sum((1, 2)) * weights / weights.sum()
    return np.tensordot(weighted, uses, 1) - weighted.sum() * np.tensordot(weights / weights.sum(), uses, 1)


def test_transformations_compose() -> None:
    scores = jnp.asarray(some_tables(eisner(), seed=5)["arc"])
    lengths = jnp.asarray(LENGTHS)

    def value_of_one(scores: jax.Array, length: jax.Array) -> jax.Array:
        return sd.inside(eisner(), scores, length, sd.LogSum)

    batched = jax.grad(partial(log_z, eisner()))(scores)
    values, gradients = jax.jit(jax.vmap(jax.value_and_grad(value_of_one)))(scores, lengths)
    close(values, sd.inside(eisner(), scores, lengths, sd.LogSum))
    close(gradients, batched)
    heads = jax.jit(jax.vmap(partial(sd.argmax, eisner())))(scores, lengths)
    assert jnp.array_equal(heads, sd.argmax(eisner(), scores, lengths))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e2, 1e4])
@SIMPLE
def test_scores_of_any_scale_give_exact_marginals(system: DeductionSystem, scale: float) -> None:
    scores = some_tables(system, seed=6)["arc"] * np.float32(scale)
    marginals = sd.marginals(system, scores, LENGTHS)
    values = sd.inside(system, scores, LENGTHS, sd.LogSum)
    for row, (length, tables) in enumerate(sentences({"arc": scores})):
        listed = [score for *_, score in derivation_scores(system, length, tables)]
        close(values[row], np.logaddexp.reduce(listed), rtol=1e-5)
        close(marginals[row], expected_counts(system, length, tables)["arc"], atol=2e-3 if scale > 1e3 else 2e-4)


@SIMPLE
def test_masks_and_sentences_without_tree_have_finite_gradients(system: DeductionSystem) -> None:
    scores = some_tables(system, seed=7)["arc"]
    scores[0, :, 2] = -np.inf  # no head for a word: no tree
    scores[1, 2:, 1] = scores[1, 0, 3] = -np.inf
    scores[2] = scores[3] = -np.inf
    scores[5, 0, :4] = scores[5, 2, 1] = -np.inf
    for kind in (sd.MaxPlus, sd.LogSum):
        value = sd.inside(system, scores, LENGTHS, kind)
        assert np.isneginf(value).tolist() == [True, False, True, True, False, False]
        gradient = np.asarray(total(system, kind, {"arc": scores})[1]["arc"])
        unmasked = np.asarray(jax.grad(lambda s, kind=kind: sd.inside(system, s, LENGTHS, kind).sum())(scores))
        for found in (gradient, unmasked):
            assert np.isfinite(found).all()
            assert not found[np.isneginf(scores)].any()
            assert not found[[0, 2, 3]].any()
            close(found[1].sum(0), [0, 1, 1, 1, 0])
    heads = np.asarray(sd.argmax(system, scores, LENGTHS))
    assert heads[0].tolist() == [-1] * 4 and heads[2].tolist() == [-1, -1, 0, 0] and heads[3].tolist() == [-1, 0, 0, 0]
    hessian = jax.jvp(jax.grad(partial(log_z, system)), (jnp.asarray(scores),), (jnp.ones_like(scores),))[1]
    assert np.isfinite(hessian).all()


GOLD = np.array([[0, 3, 4, 0], [0, 1, 1, 9], [2, 0, 5, 7], [0, 9, 9, 9], [3, 2, 1, 0], [4, 1, 2, 0]], np.int32)
"""The first tree has three derivations in arc-hybrid."""


@SIMPLE
def test_hinge_loss(system: DeductionSystem) -> None:
    scores = some_tables(system, seed=8)["arc"]
    hinge = jax.value_and_grad(lambda s: sd.losses.hinge(system, s, GOLD, LENGTHS, 0.5).sum())
    loss, gradient = hinge(scores)
    expected, slope = 0.0, np.zeros_like(scores)
    gold_arcs = np.asarray(heads_to_arcs(GOLD, LENGTHS))
    for row, (length, tables) in enumerate(sentences({"arc": scores})):
        gold = GOLD[row, :length]
        augmented = [(s + 0.5 * sum(gold != h), h) for _, h, s in derivation_scores(system, length, tables)]
        worst, heads = max(augmented)
        expected += worst - scores[row][gold_arcs[row]].sum()
        slope[row] = heads_to_arcs(np.array([*heads, *[0] * (N - length)]), length).astype(float) - gold_arcs[row]
    close(loss, expected)
    close(gradient, slope)
    winning = np.where(gold_arcs, 0.75, 0).astype(np.float32)
    assert not np.asarray(sd.losses.hinge(system, winning, GOLD, LENGTHS, 0.5)).any()
    assert not np.asarray(hinge(winning)[1]).any()
    assert (np.asarray(sd.losses.hinge(system, scores - 3 * gold_arcs, GOLD, LENGTHS)) >= 0).all()


@SIMPLE
def test_negative_log_likelihood(system: DeductionSystem) -> None:
    scores = some_tables(system, seed=9)["arc"]
    loss = np.asarray(sd.losses.nll(system, scores, GOLD, LENGTHS))
    gradient = jax.grad(lambda s: sd.losses.nll(system, s, GOLD, LENGTHS).sum())(scores)
    gold_arcs, marginals = heads_to_arcs(GOLD, LENGTHS), sd.marginals(system, scores, LENGTHS)
    close(gradient, marginals - gold_arcs)
    for row, (length, tables) in enumerate(sentences({"arc": scores})):
        listed = list(derivation_scores(system, length, tables))
        golden = [score for _, heads, score in listed if heads == tuple(GOLD[row, :length])]
        close(loss[row], np.logaddexp.reduce([s for *_, s in listed]) - np.logaddexp.reduce(golden))
    assert (loss >= -1e-5).all()


def test_losses_of_transition_scores() -> None:
    """A tree has derivations of different scores: the best counts in the hinge, all of them in the likelihood."""
    system = arc_hybrid(transitions=True)
    tables = some_tables(system, seed=10)
    nll, hinge = (loss(system, tables, GOLD, LENGTHS) for loss in (sd.losses.nll, sd.losses.hinge))
    for row, (length, scores) in enumerate(sentences(tables)):
        gold = GOLD[row, :length]
        listed = [(heads, score) for _, heads, score in derivation_scores(system, length, scores)]
        golden = [score for heads, score in listed if heads == tuple(gold)]
        close(nll[row], np.logaddexp.reduce([score for _, score in listed]) - np.logaddexp.reduce(golden))
        close(hinge[row], max(score + sum(gold != heads) for heads, score in listed) - max(golden))


@pytest.mark.parametrize("system", [eisner(), pytest.param(mhk(4), marks=pytest.mark.slow)], ids=lambda s: s.name)
def test_softmax_margin_and_risk(system: DeductionSystem) -> None:
    """Both are sums over all derivations: of exp(score + cost), and of the number of wrong heads."""
    scores = some_tables(system, seed=11)["arc"]
    margin = np.asarray(sd.losses.softmax_margin(system, scores, GOLD, LENGTHS, 0.5))
    weights = jnp.full(len(LENGTHS), 0.5).at[1].set(2.0)
    of_sentences = np.asarray(sd.losses.softmax_margin(system, scores, GOLD, LENGTHS, weights))
    assert np.allclose(np.delete(of_sentences, 1), np.delete(margin, 1)) and of_sentences[1] > margin[1]
    risk = np.asarray(sd.losses.risk(system, scores, GOLD, LENGTHS))
    for row, (length, tables) in enumerate(sentences({"arc": scores})):
        gold = GOLD[row, :length]
        listed = [(sum(gold != heads), score) for _, heads, score in derivation_scores(system, length, tables)]
        wrong, totals = np.array(listed, np.float64).T
        right = np.logaddexp.reduce(totals[wrong == 0])
        close(margin[row], np.logaddexp.reduce(totals + 0.5 * wrong) - right)
        close(risk[row], (np.exp(totals - np.logaddexp.reduce(totals)) * wrong).sum(), atol=1e-4)
    assert (margin >= -1e-5).all()
    for loss in (sd.losses.softmax_margin, sd.losses.risk):
        forbidden = jnp.asarray(scores).at[0, 1, 4].set(-jnp.inf)
        gradient = jax.grad(lambda s, loss=loss: loss(system, s, GOLD, LENGTHS).sum())(forbidden)
        assert np.isfinite(gradient).all() and not np.asarray(gradient)[behind(scores)].any()

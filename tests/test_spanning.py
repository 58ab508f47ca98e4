"""All trees: log-partition, marginals, best trees, samples and k-best against enumeration, at any scale."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import structdep as sd
from structdep.charts import mh4_trees
from structdep.spanning import SpanningTrees, all_trees
from structdep.spanning.matrix_tree import _by_determinant, _factors
from structdep.trees import all_trees as every_tree
from structdep.trees import check_trees

close = partial(np.testing.assert_allclose, rtol=1e-5, atol=2e-5)
WORDS = 6
LENGTHS = np.array([6, 5, 4, 3, 2, 1] * 4, np.int32)
DENSITY = np.repeat([1.0, 0.8, 0.5, 0.3], 6)
"""The share of arcs that are allowed in each sentence."""
slow = pytest.mark.slow
roots = pytest.mark.parametrize("single_root", [False, True], ids=["any roots", "single root"])
one_root_slow = pytest.mark.parametrize("single_root", [False, pytest.param(True, marks=slow)], ids=str)
any_root_slow = pytest.mark.parametrize("single_root", [pytest.param(False, marks=slow), True], ids=str)
scales = pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0, 1e3])


def some_scores(seed: int, scale: float = 1.0, near_ties: bool = False) -> NDArray[np.float32]:
    """Random scores, some forbidden, with large values in padding; at whole multiples of the scale, plus noise."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(len(LENGTHS), WORDS + 1, WORDS + 1)) * scale
    if near_ties:
        scores = np.round(scores / scale) * scale + rng.normal(size=scores.shape)
    scores[rng.random(scores.shape) >= DENSITY[:, None, None]] = -np.inf
    behind = np.arange(WORDS + 1) > LENGTHS[:, None]
    scores[behind[:, None] | behind[:, :, None]] = 1e4
    return scores.astype(np.float32)


def listed(row: int, scores: NDArray[np.float32], single_root: bool) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Heads and scores of the trees of one sentence that are allowed, from the best down."""
    length = int(LENGTHS[row])
    heads = every_tree(length, single_root)
    totals = scores[row].astype(np.float64)[heads, np.arange(1, length + 1)].sum(-1)
    order = np.argsort(-totals)[: np.isfinite(totals).sum()]
    return heads[order], totals[order]


def mean_arcs(heads: NDArray[np.int32], weights: NDArray[np.float64], words: int) -> NDArray[np.float64]:
    """How often trees of some weights have each arc."""
    arcs = np.zeros((words + 1, words + 1))
    for word, heads_of_word in enumerate(heads.T, start=1):
        np.add.at(arcs[:, word], heads_of_word, weights)
    return arcs


@scales
@roots
@pytest.mark.parametrize("near_ties", [False, True], ids=["", "near ties"])
def test_partition_marginals_and_entropy(scale: float, single_root: bool, near_ties: bool) -> None:
    scores = some_scores(1, scale, near_ties)
    trees = sd.TreeDistribution(all_trees(), scores, LENGTHS, single_root=single_root)
    log_partition, marginals, entropy = map(np.asarray, (trees.log_partition(), trees.marginals(), trees.entropy()))
    rounding = 1e-6 * max(scale, 10)
    for row in range(len(LENGTHS)):
        heads, totals = listed(row, scores, single_root)
        if not len(heads):
            assert np.isneginf(log_partition[row]) and not marginals[row].any() and entropy[row] == 0
            continue
        expected = np.logaddexp.reduce(totals)
        probabilities = np.exp(totals - expected)
        close(log_partition[row], expected, atol=rounding)
        close(marginals[row], mean_arcs(heads, probabilities, WORDS), atol=rounding / 5)
        close(entropy[row], -(probabilities * (totals - expected)).sum(), atol=rounding)
        assert log_partition[row] <= totals[0] + np.log(len(totals)) + rounding
    assert (marginals >= -rounding).all() and (marginals <= 1 + rounding).all() and (entropy >= 0).all()


def test_derivatives_of_entropies() -> None:
    """The covariance of an arc's use with the score, negative; finite at any scale."""
    slope = jax.jit(jax.grad(lambda scores: sd.TreeDistribution(all_trees(), scores, LENGTHS).entropy().sum()))
    for scale in (1e-3, 1.0, 1e3):
        scores = some_scores(11, scale, near_ties=scale > 1)
        found = np.asarray(slope(scores))
        assert np.isfinite(found).all()
        for row in range(len(LENGTHS)) if scale <= 1 else ():
            heads, totals = listed(row, scores, False)
            if len(heads):
                p = np.exp(totals - np.logaddexp.reduce(totals))
                close(found[row], -mean_arcs(heads, p * (totals - p @ totals), WORDS), atol=1e-4 * scale)


@scales
@roots
def test_best_trees(scale: float, single_root: bool) -> None:
    """Whole scores have many ties, and no rounding."""
    for scores in (some_scores(2, scale), np.round(some_scores(3, 2.0)) * np.float32(scale)):
        heads = np.asarray(sd.argmax(all_trees(), scores, LENGTHS, single_root=single_root))
        for row, length in enumerate(LENGTHS.tolist()):
            _, totals = listed(row, scores, single_root)
            found = heads[row, :length]
            assert not heads[row, length:].any()
            if not len(totals):
                assert (found == -1).all()
                continue
            check_trees(found)
            assert (found == 0).sum() == 1 or not single_root
            close(scores[row][found, np.arange(1, length + 1)].sum(), totals[0], atol=1e-6 * scale)


@one_root_slow
def test_k_best_trees(single_root: bool) -> None:
    scores = np.round(some_scores(4, 2.0))
    best = sd.TreeDistribution(all_trees(), scores, LENGTHS, single_root=single_root).k_best(12)
    found_heads, found_scores = np.asarray(best.heads), np.asarray(best.scores)
    for row, length in enumerate(LENGTHS.tolist()):
        heads, totals = listed(row, scores, single_root)
        totals = totals[:12]
        found = found_heads[: len(totals), row, :length].tolist()
        assert found_scores[:, row].tolist() == totals.tolist() + [-np.inf] * (12 - len(totals))
        scored = dict(zip(map(tuple, heads.tolist()), listed(row, scores, single_root)[1].tolist(), strict=True))
        assert [scored[tuple(tree)] for tree in found] == totals.tolist()
        assert len({tuple(tree) for tree in found}) == len(found)
        assert (found_heads[len(totals) :, row, :length] == -1).all()


@one_root_slow
def test_samples_of_larger_sentences_have_the_marginals_of_arcs(single_root: bool) -> None:
    rng = np.random.default_rng(5)
    scores = (rng.normal(size=(2, 13, 13)) * 2).astype(np.float32)
    scores[0, 0, 1:8] = -np.inf
    lengths, draws = np.array([12, 9]), 2000
    trees = sd.TreeDistribution(all_trees(single_root), scores, lengths)
    heads, marginals = np.asarray(trees.sample(jax.random.key(5), draws)), np.asarray(trees.marginals(), np.float64)
    for row, length in enumerate(lengths):
        check_trees(heads[:, row, :length])
        assert ((heads[:, row, :length] == 0).sum(-1) == 1).all() or not single_root
        frequency = mean_arcs(heads[:, row, :length], np.full(draws, 1 / draws), 12)
        deviation = np.sqrt(np.maximum(marginals[row] * (1 - marginals[row]), 1 / draws) / draws)
        assert (np.abs(frequency - marginals[row]) < 5 * deviation).all()
        assert not frequency[marginals[row] == 0].any()


def nested_cycles() -> NDArray[np.float32]:
    """A cycle of two words in one of three: the inner is left at a price of 200, the outer at one of 260."""
    arcs = {(1, 2): 0, (2, 1): 0, (3, 1): -200, (3, 2): -201, (1, 3): 0, (0, 3): -260, (0, 1): -263.5, (0, 2): -500}
    scores = np.full((4, 4), -np.inf, np.float32)
    for (head, dependent), score in arcs.items():
        scores[head, dependent] = score
    return scores


def test_scores_that_determinants_cannot_hold() -> None:
    scores, heads = nested_cycles(), every_tree(3)
    totals = scores.astype(np.float64)[heads, [1, 2, 3]].sum(-1)
    expected = np.logaddexp.reduce(totals)
    value, marginals = partition_and_marginals(all_trees(), scores)
    close(value, expected)
    close(marginals, mean_arcs(heads, np.exp(totals - expected), 3))


@roots
def test_sentences_without_words(single_root: bool) -> None:
    """They have a tree without arcs, in which no word depends on the root."""
    trees = sd.TreeDistribution(all_trees(single_root), np.zeros((2, 4, 4), np.float32), np.array([0, 3]))
    close(trees.log_partition(), [-np.inf if single_root else 0, np.log(9 if single_root else 16)])
    close(np.asarray(trees.marginals()).sum((1, 2)), [0, 3])


@roots
def test_determinants_hold_usual_scores(single_root: bool) -> None:
    usual = np.random.default_rng(12).normal(size=(3, 9, 9)).astype(np.float32)
    usual[:, np.arange(9), np.arange(9)] = -np.inf
    for scores, will_do in ((usual, True), (nested_cycles()[None], False)):
        given = jnp.asarray(scores), jnp.full(len(scores), scores.shape[-1] - 1), single_root
        assert _by_determinant(*given, _factors(*given))[1] == will_do


@slow
def test_second_derivatives_that_determinants_cannot_hold() -> None:
    """Those of a chart of all trees of three words."""
    scores, direction = nested_cycles(), np.random.default_rng(7).normal(size=(4, 4)).astype(np.float32)
    found, expected = (
        sd.TreeDistribution(system, scores).covariance(direction) for system in (all_trees(), mh4_trees())
    )
    close(found, expected, atol=1e-4)
    assert np.isfinite(jax.grad(lambda s: sd.TreeDistribution(all_trees(), s).entropy())(scores)).all()


@pytest.mark.parametrize("single_root", [False, True])
def test_gradients_of_marginals_that_determinants_cannot_hold(single_root: bool) -> None:
    """Where determinants do not do, nothing of them is in derivatives: not even what is infinite, times zero."""
    scores = np.random.default_rng(0).normal(size=(2, 8, 8)).astype(np.float32)
    direction = np.random.default_rng(1).normal(size=scores.shape).astype(np.float32)

    def weighed(scores: jax.Array) -> jax.Array:
        return (sd.marginals(all_trees(single_root), scores) ** 2).sum()

    for spread in (1.0, 60.0, 150.0):
        gradient = jax.grad(weighed)(spread * scores)
        _, along = jax.jvp(weighed, (spread * scores,), (direction,))
        close((gradient * direction).sum(), along, rtol=1e-3, atol=1e-4)


@any_root_slow
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_padding_changes_nothing(single_root: bool, scale: float) -> None:
    """Sentences of 5 and 9 words, alone, side by side, and far from the end of the array."""
    system = all_trees(single_root)
    scores = np.random.default_rng(6).normal(size=(2, 10, 10)).astype(np.float32) * np.float32(scale)
    lengths = np.array([9, 5])
    values, marginals = partition_and_marginals(system, scores, lengths)
    padded = np.pad(scores, [(0, 0), (0, 30), (0, 30)], constant_values=np.float32(3e4))
    again, padded_marginals = partition_and_marginals(system, padded, lengths)
    close(again, values, rtol=1e-6)
    close(padded_marginals[:, :10, :10], marginals, rtol=1e-6, atol=1e-5)
    assert not padded_marginals[:, 10:].any() and not padded_marginals[:, :, 10:].any()
    close(partition_and_marginals(system, scores[1, :6, :6])[0], values[1], rtol=1e-6)
    assert jnp.array_equal(sd.argmax(system, padded, lengths)[:, :9], sd.argmax(system, scores, lengths))


def test_losses() -> None:
    scores = some_scores(8)
    gold = np.zeros((len(LENGTHS), WORDS), np.int32)
    possible = np.array([len(listed(row, scores, False)[0]) > 0 for row in range(len(LENGTHS))])
    for row in np.flatnonzero(possible):
        gold[row, : LENGTHS[row]] = listed(row, scores, False)[0][-1]
    hinge, nll = (np.asarray(loss(all_trees(), scores, gold, LENGTHS)) for loss in (sd.losses.hinge, sd.losses.nll))
    for row in np.flatnonzero(possible):
        heads, totals = listed(row, scores, False)
        cost = (heads != gold[row, : LENGTHS[row]]).sum(-1)
        close(hinge[row], (totals + cost).max() - totals[-1])
        close(nll[row], np.logaddexp.reduce(totals) - totals[-1], atol=5e-5)


def test_sentences_mapped_one_by_one() -> None:
    """Those that determinants hold, and those that only logarithms do."""
    scores = np.stack([np.random.default_rng(9).normal(size=(4, 4)).astype(np.float32), nested_cycles()])
    values, marginals = jax.jit(jax.vmap(jax.value_and_grad(lambda s: sd.inside(all_trees(), s, semiring=sd.LogSum))))(
        scores
    )
    for row in (0, 1):
        value, own = partition_and_marginals(all_trees(), scores[row])
        close(values[row], value)
        close(marginals[row], own)
    heads = jax.vmap(lambda s: sd.argmax(all_trees(), s))(scores)
    assert heads[1].tolist() == sd.argmax(all_trees(), scores[1]).tolist()


def test_types() -> None:
    scores = np.random.default_rng(10).normal(size=(4, 4)) * 300
    value, slope = jax.value_and_grad(lambda s: sd.inside(all_trees(), s, semiring=sd.LogSum))(
        jnp.asarray(scores, jnp.bfloat16)
    )
    assert value.dtype == jnp.float32 and slope.dtype == jnp.bfloat16
    heads = every_tree(3)
    totals = scores[heads, [1, 2, 3]].sum(-1)
    with jax.enable_x64(True):
        value = sd.inside(all_trees(), scores, semiring=sd.LogSum)
        assert value.dtype == jnp.float64
        np.testing.assert_allclose(value, np.logaddexp.reduce(totals), rtol=1e-12)
        assert sd.argmax(all_trees(), scores).tolist() == heads[totals.argmax()].tolist()


@sd.semiring
class Bottleneck(sd.Semiring):
    """The tree whose weakest arc is strongest: no elimination finds it."""

    idempotent = True

    def sum(self, a: jax.Array, axis: int | tuple[int, ...]) -> jax.Array:
        return jnp.max(a, axis)


def test_semirings_without_an_algorithm_are_refused() -> None:
    message = "all trees have an algorithm for MaxPlus, LogSum, KBest, Expectation, .* none for Bottleneck"
    for query in (partial(sd.inside, semiring=Bottleneck), partial(sd.argmax, semiring=Bottleneck)):
        with pytest.raises(ValueError, match=message):
            query(all_trees(), np.zeros((3, 3), np.float32))


def partition_and_marginals(
    system: SpanningTrees, scores: NDArray[np.float32], lengths: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    values, pull = jax.vjp(lambda s: sd.inside(system, s, lengths, sd.LogSum), scores)
    return np.asarray(values), np.asarray(pull(jnp.ones_like(values))[0])

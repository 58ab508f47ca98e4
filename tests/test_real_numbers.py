"""Sums of trees by real numbers, in C++: as exact as by logarithms, which are used where these fail."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import structdep as sd
from structdep._engines.cpu import library
from structdep._engines.primitive import ask
from structdep._engines.query import Query
from structdep.deduction import DeductionSystem
from structdep.inference.scores import Problem, problem

pytestmark = pytest.mark.skipif(not library.is_there(), reason="the compiled CPU engine is not installed")
SYSTEMS = [sd.charts.one_endpoint_crossing(), sd.charts.crossing_sensitive(), sd.charts.mh4_trees()]


def sentences(scores: np.ndarray) -> np.ndarray:
    """With ever fewer words, each shorter than the one before."""
    return np.arange(scores.shape[-1] - 1, 0, -1)[: len(scores)]


def run(given: Problem, system: DeductionSystem, query: Query = Query.EXPECTED_COUNTS) -> Any:
    return ask(system, sd.LogSum(), query, given.tables, given.lengths)


def in_double_precision(system: DeductionSystem, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and marginals; one system's by XLA, whose programs of such systems take long to compile."""
    with jax.enable_x64(True):
        given = problem(system, scores.astype(np.float64), sentences(scores))
        if system.name == "one_endpoint_crossing":
            with sd.use_engine("xla"):
                values, uses = run(given, system)
        else:
            values, uses = run(given, system)
        return np.asarray(values), np.asarray(uses["arc"])


def random(scale: float, *shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(scale=scale, size=shape).astype(np.float32)


@pytest.mark.parametrize(
    "system", [pytest.param(SYSTEMS[0], marks=pytest.mark.slow), *SYSTEMS[1:]], ids=lambda system: system.name
)
def test_marginals_are_those_of_double_precision(system: DeductionSystem) -> None:
    """Of scores of any size, some of them forbidden, in sentences for which there may be no tree."""
    scores = random(1, 7, 10, 10)
    scores[::3] = np.where(np.random.default_rng(1).random((10, 10)) < 0.5, -np.inf, scores[::3])
    for scale, error in ((1e-3, 1e-6), (1, 2e-6), (5, 5e-6), (100, 1e-3)):
        expected, expected_arcs = in_double_precision(system, scores * np.float32(scale))
        given = problem(system, scores * np.float32(scale), sentences(scores))
        values, uses = run(given, system)
        np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-5)
        np.testing.assert_allclose(uses["arc"], expected_arcs, atol=error)
        np.testing.assert_allclose(run(given, system, Query.VALUE)[0], expected, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("words", [20, 45])
@pytest.mark.parametrize("scale", [1, 4])
def test_long_sentences_have_the_marginals_that_logarithms_give(words: int, scale: float) -> None:
    """Those of MH_4 whose transitions have scores, which are all 0, are found by logarithms."""
    systems = sd.charts.mh4_trees(), sd.charts.mh4_trees(transitions=True)
    scores = random(scale, 8, words + 1, words + 1)
    tables = {
        name: np.zeros((8, *[words + 1 + score.sentinel] * arity), np.float32)
        for name, (score, arity) in systems[1].declared.items()
    }
    values, uses = run(problem(systems[0], scores, sentences(scores)), systems[0])
    expected, expected_counts = run(problem(systems[1], tables | {"arc": scores}, sentences(scores)), systems[1])
    np.testing.assert_allclose(values, expected, rtol=2e-6)
    np.testing.assert_allclose(uses["arc"], expected_counts["arc"], atol=5e-5)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
@pytest.mark.parametrize("scale", [0, 1, 3])
def test_values_alone_are_those_of_double_precision(system: DeductionSystem, scale: float) -> None:
    """Up to where sums of trees are too small beside those of all choices of heads, and beyond."""
    for words in (20, 34, 40):
        scores = random(scale, 3, words + 1, words + 1)
        values = run(problem(system, scores, sentences(scores)), system, Query.VALUE)[0]
        with jax.enable_x64(True):
            given = problem(system, scores.astype(np.float64), sentences(scores))
            np.testing.assert_allclose(values, run(given, system, Query.VALUE)[0], rtol=5e-7)


@pytest.mark.parametrize("system", SYSTEMS[::2], ids=lambda system: system.name)
@pytest.mark.parametrize(("words", "scale"), [(9, 1), (25, 1), (45, 0.1), (30, 8)])
def test_samples_are_as_frequent_as_probable(system: DeductionSystem, words: int, scale: float) -> None:
    """Those of long sentences, and of scores that differ much, are found by logarithms."""
    scores = random(scale, words + 1, words + 1)
    scores[3, 5:] = -np.inf
    draws = 4000
    drawn = jax.vmap(lambda key: sd.sample(system, scores, key))(jax.random.split(jax.random.key(0), draws))
    marginals = np.asarray(sd.marginals(system, scores))
    error = np.asarray(sd.trees.heads_to_arcs(drawn)).mean(0) - marginals
    assert np.all(np.abs(error) <= 5 * np.sqrt((marginals * (1 - marginals)).clip(0, 1) / draws) + 2e-3)
    assert np.isfinite(scores[drawn, np.arange(1, words + 1)]).all()


@pytest.mark.parametrize("odds", [1.0, 100.0])
def test_likely_heads_among_many_that_are_not(odds: float) -> None:
    """What heads there are tells little of how many of them are compatible: half of the sums are of one head."""
    system, words = sd.charts.mh4_trees(), 30
    scores = np.zeros((4, words + 1, words + 1), np.float32)
    scores[:, np.arange(words), np.arange(1, words + 1)] = np.log(words * odds)
    marginals = np.asarray(sd.marginals(system, scores))
    np.testing.assert_allclose(marginals[:, :, 1:].sum(1), 1, atol=2e-6)
    with jax.enable_x64(True):
        expected = sd.marginals(system, scores.astype(np.float64))
    np.testing.assert_allclose(marginals, expected, atol=2e-6)


def test_sums_that_are_too_small() -> None:
    """By logarithms, where the heads of highest scores are in no tree together."""
    system = sd.charts.one_endpoint_crossing()
    scores = random(8, 2, 41, 41)
    marginals = sd.marginals(system, scores)
    np.testing.assert_allclose(marginals[:, :, 1:].sum(1), 1, atol=1e-3)
    with jax.enable_x64(True):
        np.testing.assert_allclose(marginals, sd.marginals(system, scores.astype(np.float64)), atol=1e-3)


def test_a_sentence_that_is_too_much_for_them_leaves_nothing_behind() -> None:
    system = sd.charts.one_endpoint_crossing()
    scores = random(1, 32, 13, 13)
    expected = sd.marginals(system, scores)
    for far in (1e30, np.inf, -np.inf, np.nan):
        spoilt = jnp.asarray(scores).at[3, 4:, 5].set(far)
        others = np.arange(32) != 3
        arcs = sd.marginals(system, spoilt)
        np.testing.assert_allclose(arcs[others], expected[others], atol=2e-6)
        np.testing.assert_array_equal(sd.marginals(system, scores), expected)


@pytest.mark.parametrize("engine", ["cpu", "xla"])
def test_an_offset_does_not_matter_with_one_root(engine: str) -> None:
    scores = jnp.round(64 * jax.random.normal(jax.random.key(1), (3, 5, 5))) / 64  # exact, also with the offset
    with sd.use_engine(engine):
        found, expected = (
            sd.marginals(sd.charts.mh4_trees(), own, jnp.array([4, 3, 2]), semiring=sd.SingleRoot(sd.LogSum))
            for own in (scores + 4096, scores)
        )
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("engine", ["cpu", "xla"])
@pytest.mark.parametrize("batch", [(5,), (3,), (3, 5), (2, 3)])
def test_values_with_one_root_may_be_vmapped(engine: str, batch: tuple[int, ...]) -> None:
    """Also where an axis of the batch is as long as those of nodes."""
    scores, one = jax.random.normal(jax.random.key(2), (*batch, 5, 5)), sd.SingleRoot(sd.LogSum)

    def answers(scores: jax.Array) -> tuple[jax.Array, jax.Array]:
        system = sd.charts.eisner()
        return sd.inside(system, scores, semiring=one), sd.marginals(system, scores, semiring=one)

    mapped = answers
    for _ in batch:
        mapped = jax.vmap(mapped)
    with sd.use_engine(engine):
        for found, expected in zip(mapped(scores), answers(scores), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-5)

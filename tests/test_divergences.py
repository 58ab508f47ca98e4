"""Entropy and divergences of distributions, with their gradients, against the enumerated trees."""

from functools import partial

import enumeration
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import LENGTHS, N
from distributions import by_trees, cases, close, slow, some_arcs
from numpy.typing import NDArray

import structdep as sd
from structdep.charts import arc_hybrid_trees, eisner, mh4_trees
from structdep.deduction import DeductionSystem


def entropy_of_one(arcs: NDArray[np.bool_], totals: jax.Array) -> jax.Array:
    return enumeration.cross_entropy(totals, totals)


@cases
def test_entropy_and_its_gradient(system: DeductionSystem, single_root: bool) -> None:
    scores = some_arcs(36)

    def entropy(scores: jax.Array) -> jax.Array:
        return sd.TreeDistribution(system, scores, LENGTHS, single_root=single_root).entropy()

    expected = partial(by_trees, entropy_of_one, system, single_root)
    close(entropy(scores), expected(scores))
    gradient = jax.grad(lambda s: entropy(s).sum())(scores)
    assert np.isfinite(gradient).all()
    close(gradient, jax.jit(jax.grad(lambda s: expected(s).sum()))(scores), atol=2e-4)


PAIRS = [
    (eisner(), eisner()),
    (eisner(), arc_hybrid_trees()),
    (arc_hybrid_trees(), eisner()),
    pytest.param(mh4_trees(), mh4_trees(), marks=slow),
]
pairs = pytest.mark.parametrize(("system", "other"), PAIRS, ids=lambda system: system.name)


@pairs
def test_divergence_of_two_distributions(system: DeductionSystem, other: DeductionSystem) -> None:
    scores = some_arcs(37), some_arcs(38)

    def divergence(p: jax.Array, q: jax.Array) -> tuple[jax.Array, jax.Array]:
        one, two = sd.TreeDistribution(system, p, LENGTHS), sd.TreeDistribution(other, q, LENGTHS)
        return one.cross_entropy(two), one.kl_divergence(two)

    def expected(p: jax.Array, q: jax.Array) -> tuple[jax.Array, jax.Array]:
        cross, entropy = (by_trees(query, system, False, p, q) for query in (cross_entropy_of_one, entropy_of_first))
        return cross, cross - entropy

    for found, value in zip(divergence(*scores), expected(*scores), strict=True):
        close(found, value, atol=2e-4)
    for place in (0, 1):
        gradient = jax.grad(lambda *s, place=place: divergence(*s)[place].sum(), (0, 1))(*scores)
        slopes = jax.jit(jax.grad(lambda *s, place=place: expected(*s)[place].sum(), (0, 1)))(*scores)
        for found, value in zip(gradient, slopes, strict=True):
            assert np.isfinite(found).all()
            close(found, value, atol=3e-4)
    same = sd.TreeDistribution(system, scores[0], LENGTHS).kl_divergence(sd.TreeDistribution(other, scores[0], LENGTHS))
    assert (same >= 0).all() and (same < 1e-5).all()


def cross_entropy_of_one(arcs: NDArray[np.bool_], totals: jax.Array, others: jax.Array) -> jax.Array:
    return enumeration.cross_entropy(totals, others)


def entropy_of_first(arcs: NDArray[np.bool_], totals: jax.Array, others: jax.Array) -> jax.Array:
    return enumeration.cross_entropy(totals, totals)


def test_divergence_is_infinite_where_the_support_is_smaller() -> None:
    scores = some_arcs(39)
    fewer = scores.at[0, 4, 3].set(-jnp.inf).at[1].set(-jnp.inf)
    p, q = (sd.TreeDistribution(eisner(), s, LENGTHS) for s in (scores, fewer))
    assert np.isposinf(p.kl_divergence(q)).tolist() == [True, True, False, False, False, False]
    assert np.isposinf(p.cross_entropy(q)).tolist() == [True, True, False, False, False, False]
    backwards = np.asarray(q.kl_divergence(p))
    assert backwards[0] > 0 and not backwards[1:].any()
    assert q.entropy()[1] == 0 and not np.asarray(q.kl_divergence(q)).any()

    def divergence(scores: jax.Array, fewer: jax.Array) -> jax.Array:
        return sd.TreeDistribution(eisner(), scores, LENGTHS).kl_divergence(
            sd.TreeDistribution(eisner(), fewer, LENGTHS)
        )

    for place in (0, 1):
        for first, second in ((scores, fewer), (fewer, scores)):
            slope = jax.grad(lambda *s, at=place: divergence(*s).sum(), place)(first, second)
            assert np.isfinite(slope).all()


def test_single_rooted_trees_are_among_all_trees_but_not_the_reverse() -> None:
    scores = some_arcs(40)
    one, any_number = (
        sd.TreeDistribution(eisner(), scores, LENGTHS, single_root=single_root) for single_root in (True, False)
    )
    rooted = LENGTHS > 0
    close(one.kl_divergence(any_number)[rooted], (any_number.log_partition() - one.log_partition())[rooted], atol=2e-4)
    with pytest.raises(ValueError, match=r"not over the same trees: eisner .projective.*, single root"):
        any_number.kl_divergence(one)


def test_distributions_over_different_trees_are_not_compared() -> None:
    scores = some_arcs(41)
    projective = sd.TreeDistribution(eisner(), scores, LENGTHS)
    for system in (mh4_trees(), eisner(single_root=True)):
        with pytest.raises(ValueError, match="not over the same trees: eisner"):
            projective.cross_entropy(sd.TreeDistribution(system, scores, LENGTHS))
    transitions = sd.TreeDistribution(arc_hybrid_trees(True), {"shift": jnp.zeros((6, N + 2, N + 2))}, LENGTHS)
    with pytest.raises(ValueError, match="scores \\['shift'\\], which eisner does not declare"):
        projective.kl_divergence(transitions)


def test_distributions_over_different_sentences_are_not_compared() -> None:
    scores, lengths = some_arcs(39), jnp.array(LENGTHS)
    trees = sd.TreeDistribution(eisner(), scores, lengths)
    with pytest.raises(ValueError, match=r"a batch of \(6,\) with up to 4 words, and one of \(6,\) with up to 3"):
        trees.kl_divergence(sd.TreeDistribution(eisner(), scores[:, :-1, :-1], jnp.minimum(lengths, 3)))
    with pytest.raises(ValueError, match=r"a batch of \(6,\) with up to 4 words, and one of \(5,\)"):
        trees.cross_entropy(sd.TreeDistribution(eisner(), scores[1:], lengths[1:]))
    with pytest.raises(ValueError, match=r"not of the same sentences: they have \[.*\] and \[4, 4, 4, 4, 4, 4\] words"):
        trees.cross_entropy(sd.TreeDistribution(eisner(), scores))


def test_an_infinite_divergence_is_no_nan_on_the_way() -> None:
    other = sd.TreeDistribution(eisner(), jnp.zeros((3, 3)).at[0, 1].set(-jnp.inf))
    with jax.debug_nans(True):
        assert jnp.isposinf(sd.TreeDistribution(eisner(), jnp.zeros((3, 3))).kl_divergence(other))

"""Distributions over trees: values, probabilities, samples, k-best, each against the enumerated trees; refusals."""

from collections.abc import Callable
from functools import partial
from typing import Any

import enumeration
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import LENGTHS, N, some_tables
from distributions import (
    DRAWS,
    GOLD,
    HAS_TREE,
    KNOWN,
    K,
    by_trees,
    cases,
    chi_square_is_low,
    close,
    constrained,
    listed,
    marginals_of_one,
    slow,
    some_arcs,
)

import structdep as sd
from structdep.charts import (
    arc_eager,
    arc_eager_trees,
    arc_hybrid,
    arc_hybrid_trees,
    arc_standard_trees,
    eisner,
    mh4_trees,
    mhk,
)
from structdep.deduction import DeductionSystem
from structdep.testing import derivation_scores, expected_counts


@cases
def test_partition_best_tree_and_marginals(system: DeductionSystem, single_root: bool) -> None:
    scores = some_arcs(30)
    trees = sd.TreeDistribution(system, scores, LENGTHS, single_root=single_root)
    log_partition, best = trees.log_partition(), trees.max()
    heads, marginals = np.asarray(trees.argmax()), np.asarray(trees.marginals())
    for row, (every, totals) in enumerate(listed(system, single_root, scores)):
        close(log_partition[row], enumeration.log_partition(totals))
        close(best[row], max(totals.tolist(), default=-np.inf))
        if len(every):
            assert heads[row].tolist() == every[np.argmax(totals)].tolist()
    close(marginals, by_trees(marginals_of_one, system, single_root, scores), atol=1e-4)
    close(trees.arc_marginals(), marginals)
    assert trees.exists().tolist() == HAS_TREE[single_root]
    assert log_partition.dtype == jnp.float32 and heads.dtype == np.int32


@cases
def test_log_probabilities_of_trees(system: DeductionSystem, single_root: bool) -> None:
    """Never above 0, and those of all trees sum to one."""
    scores = some_arcs(31)
    trees = sd.TreeDistribution(system, scores, LENGTHS, single_root=single_root)
    score, log_prob = jax.jit(trees.score), jax.jit(trees.log_prob)
    every = list(listed(system, single_root, scores))
    sums, limit = np.zeros(len(LENGTHS)), max(len(heads) for heads, _ in every)
    for number in range(limit):
        chosen = np.stack([heads[number % len(heads)] if len(heads) else np.zeros(N, int) for heads, _ in every])
        found, values = log_prob(chosen), score(chosen)
        for row, (heads, totals) in enumerate(every):
            expected = totals[number % len(heads)] if len(heads) else -jnp.inf
            close(values[row], expected)
            close(found[row], expected - enumeration.log_partition(totals) if len(heads) else -jnp.inf, atol=2e-4)
            sums[row] += np.exp(found[row]) if number < len(heads) else 0
        assert (found <= 0).all()
    close(sums, np.asarray(HAS_TREE[single_root], float))


@cases
def test_log_probabilities_of_partial_trees(system: DeductionSystem, single_root: bool) -> None:
    scores = some_arcs(32)
    trees = sd.TreeDistribution(system, scores, LENGTHS, single_root=single_root)
    unknown = jnp.full((len(LENGTHS), N), -1)
    log_prob, marginals = jax.jit(trees.log_prob), trees.arc_marginals()
    close(jnp.exp(log_prob(unknown)), np.asarray(HAS_TREE[single_root], float))
    for word, head in ((1, 2), (2, 0), (1, 0)):
        inside = word <= LENGTHS
        close(jnp.exp(log_prob(unknown.at[:, word - 1].set(head)))[inside], marginals[inside, head, word], atol=1e-4)
    two_known = unknown.at[:, 0].set(0).at[:, 2].set(2)
    for row in (0, 1, 5):
        heads, totals = list(listed(system, single_root, scores))[row]
        obeys = (heads[:, 0] == 0) & (heads[:, 2] == 2)
        close(jnp.exp(log_prob(two_known))[row], enumeration.expected(totals, obeys), atol=1e-4)


def test_many_trees_at_once() -> None:
    """Heads as `sample` draws them, with axes before those of the batch."""
    trees = sd.TreeDistribution(eisner(), some_arcs(35), LENGTHS, sd.Constraints(KNOWN), single_root=True)
    drawn = trees.sample(jax.random.key(3), 3)
    for query in (trees.score, trees.log_prob, trees.expected_attachment):
        found = query(drawn[None])
        close(found, jnp.stack([query(heads) for heads in drawn])[None])
        close(found, jax.jit(query)(drawn[None]))
    alone = sd.TreeDistribution(eisner(), [[0.0, 1.0], [0.0, 0.0]], 1)  # type: ignore[arg-type]
    close(alone.score([[0], [-1]]), jnp.ones(2))


@cases
def test_samples_are_as_frequent_as_probable(system: DeductionSystem, single_root: bool) -> None:
    scores = some_arcs(33)
    trees = sd.TreeDistribution(system, scores, LENGTHS, single_root=single_root)
    heads = np.asarray(trees.sample(jax.random.key(1), DRAWS))
    assert heads.shape == (DRAWS, len(LENGTHS), N) and heads.dtype == np.int32
    for row, (every, totals) in enumerate(listed(system, single_root, scores)):
        if not len(every):
            continue
        codes, of_trees = (found @ (N + 1) ** np.arange(N) for found in (heads[:, row], every))
        assert np.isin(codes, of_trees).all()
        observed = (codes[:, None] == of_trees).sum(0)
        assert chi_square_is_low(observed, DRAWS * np.asarray(enumeration.probabilities(totals), np.float64))
    first, last = heads[:, 0, 0], heads[:, 5, 0]
    together = np.histogram2d(first, last, bins=np.arange(N + 2) - 0.5)[0]
    independent = together.sum(1, keepdims=True) * together.sum(0) / DRAWS
    assert chi_square_is_low(together.ravel(), independent.ravel())


def test_samples_depend_on_the_key_alone() -> None:
    trees = sd.TreeDistribution(eisner(), some_arcs(34), LENGTHS)
    first, again, other = (trees.sample(jax.random.key(key), DRAWS) for key in (2, 2, 3))
    assert jnp.array_equal(first, again) and not jnp.array_equal(first, other)
    assert len(np.unique(np.asarray(first[:, 0]), axis=0)) > 1


@cases
def test_k_best_trees(system: DeductionSystem, single_root: bool) -> None:
    scores = some_arcs(35)
    best = sd.TreeDistribution(system, scores, LENGTHS, single_root=single_root).k_best(K)
    assert best.heads.shape == (K, len(LENGTHS), N) and best.scores.shape == (K, len(LENGTHS)) and best.labels is None
    for row, (every, totals) in enumerate(listed(system, single_root, scores)):
        possible = {tuple(heads): total for heads, total in zip(every.tolist(), totals.tolist(), strict=True)}
        expected = sorted((total for total in possible.values() if total > -np.inf), reverse=True)[:K]
        found = [tuple(heads) for heads in np.asarray(best.heads[:, row]).tolist()]
        close(best.scores[:, row], expected + [-np.inf] * (K - len(expected)))
        assert len(set(found[: len(expected)])) == len(expected)
        close([possible[heads] for heads in found[: len(expected)]], expected)
        missing = (-1,) * LENGTHS[row] + (0,) * (N - LENGTHS[row])
        assert found[len(expected) :] == [missing] * (K - len(expected))


TRANSITIONS = (
    arc_hybrid_trees(transitions=True),
    pytest.param(arc_eager_trees(transitions=True), marks=slow),
    pytest.param(arc_standard_trees(transitions=True), marks=slow),
    pytest.param(mh4_trees(transitions=True), marks=slow),
)


@pytest.mark.parametrize("system", TRANSITIONS, ids=lambda system: system.name)
@pytest.mark.parametrize("with_arcs", [True, False], ids=["with arcs", "alone"])
def test_scores_of_transitions(system: DeductionSystem, with_arcs: bool) -> None:
    tables = some_tables(system, 52)
    if not with_arcs:
        del tables["arc"]
    trees = sd.TreeDistribution(system, tables, LENGTHS)
    marginals, arcs, entropy = trees.marginals(), trees.arc_marginals(), trees.entropy()
    assert marginals.keys() == tables.keys()
    log_partition, best, heads = trees.log_partition(), trees.max(), trees.argmax()
    k_best = trees.k_best(K)
    log_prob = trees.log_prob(heads)
    for row, length in enumerate(LENGTHS.tolist()):
        own = {name: table[row] for name, table in tables.items()}
        scored = list(derivation_scores(system, length, own))
        totals = np.array([total for *_, total in scored])
        probabilities = np.exp(totals - np.logaddexp.reduce(totals))
        close(log_partition[row], np.logaddexp.reduce(totals))
        close(entropy[row], -(probabilities * np.log(probabilities)).sum(), atol=2e-4)
        close(best[row], totals.max())
        close(log_prob[row], np.log(probabilities.max()), atol=1e-4)
        assert tuple(heads[row].tolist()[:length]) == scored[totals.argmax()][1]
        close(k_best.scores[: len(totals), row], np.sort(totals)[::-1][:K])
        expected = expected_counts(system, length, own)
        for name, table in marginals.items():
            close(table[row], expected[name], atol=1e-4)
        every = {"arc": np.zeros((N + 1, N + 1))} | own
        close(arcs[row], expected_counts(system, length, every)["arc"], atol=1e-4)
    slope = jax.grad(lambda t: sd.TreeDistribution(system, t, LENGTHS).entropy().sum())(tables)
    assert all(np.isfinite(table).all() for table in slope.values())


def test_mh4_trees() -> None:
    """One chart of the mildly non-projective trees: log-partition, and marginals of trees."""
    scores = some_arcs(53)
    trees = sd.TreeDistribution(mh4_trees(), scores, jnp.asarray(LENGTHS))
    values, pull = jax.vjp(lambda s: sd.TreeDistribution(mh4_trees(), s, LENGTHS).log_partition(), trees.scores)
    close(values, by_trees(lambda _, totals: enumeration.log_partition(totals), mhk(4), False, scores))
    close(pull(jnp.ones_like(values))[0], by_trees(marginals_of_one, mhk(4), False, scores), atol=1e-4)


def test_a_distribution_is_a_pytree() -> None:
    scores = some_arcs(49)
    constraints, _ = constrained()
    trees = sd.TreeDistribution(eisner(), scores, jnp.asarray(LENGTHS), constraints)

    @jax.jit
    def queries(trees: sd.TreeDistribution) -> tuple[jax.Array, ...]:
        return trees.log_partition(), trees.argmax(), trees.entropy(), trees.minimum_risk()

    for found, expected in zip(
        queries(trees),
        (trees.log_partition(), trees.argmax(), trees.entropy(), trees.minimum_risk()),
        strict=True,
    ):
        close(found, expected)
    mapped = jax.vmap(lambda trees: (trees.log_partition(), trees.argmax()))(trees)
    close(mapped[0], trees.log_partition())
    assert jnp.array_equal(mapped[1], trees.argmax())
    slope = jax.grad(lambda trees: trees.log_partition().sum(), allow_int=True)(trees)
    close(slope.scores, trees.marginals())
    half = jax.tree.map(lambda leaf: leaf[:3], trees)
    assert half.system == trees.system and half.log_partition().shape == (3,)


@pytest.mark.parametrize(
    ("system", "once"),
    [
        (mhk(4), "mh4_trees"),
        (mhk(4, transitions=True), "mh4_trees"),
        (mhk(3), "arc_hybrid_trees"),
        (arc_hybrid(), "arc_hybrid_trees"),
        (arc_eager(transitions=True), "arc_eager_trees"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_sums_over_derivations_are_refused_where_trees_have_several(system: DeductionSystem, once: str) -> None:
    trees = sd.TreeDistribution(system, some_arcs(50), LENGTHS)
    queries: list[Callable[[], Any]] = [
        trees.log_partition,
        trees.marginals,
        trees.entropy,
        trees.minimum_risk,
        partial(trees.log_prob, GOLD),
        partial(trees.k_best, 2),
        partial(trees.sample, jax.random.key(0), 2),
    ]
    for query in queries:
        with pytest.raises(ValueError, match=rf'take structdep.charts.{once}\(..\), or say over="derivations"'):
            query()


def test_over_derivations_says_what_is_summed() -> None:
    scores = some_arcs(51)
    derivations = sd.TreeDistribution(arc_hybrid(), scores, LENGTHS, over="derivations")
    close(derivations.log_partition(), sd.inside(arc_hybrid(), scores, LENGTHS, sd.LogSum))
    close(derivations.marginals(), sd.marginals(arc_hybrid(), scores, LENGTHS))
    plain = sd.TreeDistribution(arc_hybrid(), scores, LENGTHS)
    assert jnp.array_equal(plain.argmax(), sd.argmax(arc_hybrid(), scores, LENGTHS))
    close(plain.max(), sd.inside(arc_hybrid(), scores, LENGTHS))
    with pytest.raises(ValueError, match="take a system that does not"):
        sd.TreeDistribution(mhk(5), scores, LENGTHS).log_partition()
    with pytest.raises(ValueError, match="not over 'arcs'"):
        sd.TreeDistribution(arc_hybrid(), scores, LENGTHS, over="arcs")

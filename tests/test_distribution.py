"""Distributions over trees: every query against the enumerated trees, with its gradient; refusals."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import enumeration
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import LENGTHS, N, some_tables
from numpy.typing import NDArray

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
from structdep.testing import derivation_scores, expected_uses

close = partial(np.testing.assert_allclose, rtol=2e-4, atol=5e-5)
slow = pytest.mark.slow
CASES = (
    pytest.param(eisner(), False, id="eisner, any roots"),
    pytest.param(arc_hybrid_trees(), True, id="arc_hybrid_trees, single root"),
    pytest.param(eisner(), True, marks=slow, id="eisner, single root"),
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


def listed(system: DeductionSystem, single_root: bool, scores: jax.Array) -> Iterator[tuple[NDArray[Any], jax.Array]]:
    """Heads, padded by 0, and scores of each sentence's trees."""
    for row, length in enumerate(LENGTHS.tolist()):
        heads = enumeration.trees(system, length, single_root)
        yield (
            np.pad(heads, [(0, 0), (0, N - length)]),
            enumeration.tree_scores(system, scores[row], length, single_root),
        )


def by_trees(
    query: Callable[..., jax.Array], system: DeductionSystem, single_root: bool, *batches: jax.Array
) -> jax.Array:
    """A query of each sentence by enumeration: `query(arcs of the trees, scores of the trees in each batch ..)`."""

    def of_one(length: int, *tables: jax.Array) -> jax.Array:
        totals = [enumeration.tree_scores(system, table, length, single_root) for table in tables]
        return query(enumeration.arcs(system, length, single_root), *totals)

    return enumeration.each(of_one, *batches)


def marginals_of_one(arcs: NDArray[np.bool_], totals: jax.Array) -> jax.Array:
    return enumeration.expected(totals, arcs)


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


def chi_square_is_low(observed: NDArray[Any], expected: NDArray[Any]) -> bool:
    """Whether counts are less than five standard deviations off, the rare ones taken together."""
    rare = expected < 5
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    freedom = max(len(expected) - 1, 1)
    statistic = ((observed - expected) ** 2 / np.maximum(expected, 1e-9))[expected > 1].sum()
    return bool(statistic < freedom + 5 * np.sqrt(2 * freedom))


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
    with pytest.raises(ValueError, match="scores \\['shift'\\], which eisner does not know"):
        projective.kl_divergence(transitions)


GOLD = np.array([[2, 0, 2, 3], [0, 1, 1, 9], [2, 0, 5, 7], [0, 9, 9, 9], [3, 2, 1, 0], [4, 1, 2, -1]], np.int32)


@cases
def test_expected_attachment_and_minimum_risk(system: DeductionSystem, single_root: bool) -> None:
    scores = some_arcs(42)
    trees = sd.TreeDistribution(system, scores, LENGTHS, single_root=single_root)
    found, risk = trees.expected_attachment(GOLD), np.asarray(trees.minimum_risk())
    for row, (every, totals) in enumerate(listed(system, single_root, scores)):
        if not len(every):
            continue
        is_word = np.arange(N) < LENGTHS[row]
        in_common = (every[:, None] == every)[..., is_word].sum(-1)
        attachment = (every == GOLD[row])[:, is_word].sum(-1)
        close(found[row], enumeration.expected(totals, attachment), atol=1e-4)
        expected = np.asarray(enumeration.expected(totals, in_common))
        (place,) = np.flatnonzero((every == risk[row]).all(-1))
        assert np.isclose(expected[place], expected[np.isfinite(totals)].max(), atol=1e-4)
    slope = jax.grad(
        lambda s: sd.TreeDistribution(system, s, LENGTHS, single_root=single_root).expected_attachment(GOLD).sum()
    )(scores)
    hits = jnp.asarray(GOLD[:, None, :] == np.arange(N + 1)[:, None]) & (np.arange(N) < LENGTHS[:, None])[:, None]
    close(slope, trees.covariance(jnp.pad(hits, [(0, 0), (0, 0), (1, 0)]).astype(jnp.float32)), atol=2e-4)


def test_the_tree_of_minimum_risk_has_no_forbidden_arc() -> None:
    scores = some_arcs(43).at[1, :, 2].set(-jnp.inf)
    heads = sd.TreeDistribution(eisner(), scores, LENGTHS).minimum_risk()
    assert heads[1].tolist() == [-1, -1, -1, 0]
    assert np.isfinite(sd.TreeDistribution(eisner(), scores, LENGTHS).score(heads)).tolist() == [1, 0, 1, 1, 1, 1]


@cases
def test_covariances(system: DeductionSystem, single_root: bool) -> None:
    scores, direction = some_arcs(44), jnp.asarray(np.random.default_rng(44).normal(size=(6, N + 1, N + 1)))
    found = sd.TreeDistribution(system, scores, LENGTHS, single_root=single_root).covariance(
        direction.astype(jnp.float32)
    )

    def of_one(arcs: NDArray[np.bool_], totals: jax.Array, along: jax.Array) -> jax.Array:
        mean = enumeration.expected(totals, along)
        return enumeration.expected(totals, (along - mean)[:, None, None] * arcs)

    close(found, by_trees(of_one, system, single_root, scores, direction), atol=2e-4)


KNOWN = np.array([[-1, 1, -1, -1], [3, -1, -1, 0], [-1] * 4, [0, -1, -1, -1], [-1] * 4, [-1, -1, 4, -1]], np.int32)


def constrained() -> tuple[sd.Constraints, NDArray[np.bool_]]:
    """Known heads and forbidden arcs, and the arcs that they leave."""
    forbidden = np.zeros((len(LENGTHS), N + 1, N + 1), bool)
    forbidden[0, 0, 4] = forbidden[2, 0, 1] = forbidden[5, 1, 2] = True
    allowed = ~forbidden
    allowed[:, :, 1:] &= (KNOWN[:, None] < 0) | (KNOWN[:, None] == np.arange(N + 1)[:, None])
    return sd.Constraints(KNOWN, forbidden), allowed


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
        (sd.Constraints(heads=np.zeros((6, N + 1), int)), ValueError, "heads of constraints have shape"),
        (sd.Constraints(forbidden=np.zeros(scores.shape)), TypeError, "forbidden must be booleans"),
        (sd.Constraints(forbidden=np.zeros((N + 1, N + 1), bool)), ValueError, "forbidden of constraints have shape"),
    ]
    for constraints, error, message in wrong:
        with pytest.raises(error, match=message):
            sd.TreeDistribution(eisner(), scores, LENGTHS, constraints).log_partition()


LABELS = 3


def labelled(system: DeductionSystem, row: int, tables: dict[str, Any], single_root: bool) -> tuple[Any, Any, Any]:
    """Heads, labels and scores of a sentence's labelled trees, padded."""
    length = int(LENGTHS[row])
    trees = enumeration.trees(system, length, single_root)
    choices = np.array(list(product(range(LABELS), repeat=length)), np.int32)
    heads, labels = np.repeat(trees, len(choices), 0), np.tile(choices, (len(trees), 1))
    words = np.arange(1, length + 1)
    scores = (tables["arc"][row][heads, words] + tables["label"][row][heads, words, labels]).sum(-1)
    padding = [(0, 0), (0, N - length)]
    return np.pad(heads, padding), np.pad(labels, padding), scores.astype(np.float64)


@cases
def test_labelled_trees(system: DeductionSystem, single_root: bool) -> None:
    rng = np.random.default_rng(48)
    tables = {"arc": np.asarray(some_arcs(48)), "label": rng.normal(size=(6, N + 1, N + 1, LABELS)).astype(np.float32)}
    tables["label"][0, 1, 2, 0] = -np.inf
    trees = sd.TreeDistribution(system, tables, LENGTHS, single_root=single_root)
    log_partition, best, chosen = trees.log_partition(), trees.max(), trees.argmax()
    marginals, entropy, k_best = trees.marginals(), trees.entropy(), trees.k_best(K)
    drawn = trees.sample(jax.random.key(6), DRAWS)
    assert isinstance(chosen, sd.distribution.Labelled) and isinstance(drawn, sd.distribution.Labelled)
    assert k_best.labels is not None and marginals["label"].shape == tables["label"].shape
    close(marginals["label"].sum(-1), marginals["arc"], atol=1e-4)
    for row in ROWS:
        heads, labels, scores = labelled(system, row, tables, single_root)
        if not len(heads):
            continue
        probabilities = np.exp(scores - np.logaddexp.reduce(scores))
        order = np.argsort(-scores, kind="stable")[:K]
        close(log_partition[row], np.logaddexp.reduce(scores))
        close(best[row], scores.max())
        close(entropy[row], -(probabilities * np.log(np.where(probabilities > 0, probabilities, 1))).sum(), atol=2e-4)
        assert (chosen.heads[row].tolist(), chosen.labels[row].tolist()) == (
            heads[order[0]].tolist(),
            labels[order[0]].tolist(),
        )
        close(k_best.scores[: len(order), row], scores[order])
        assert np.asarray(k_best.heads[: len(order), row]).tolist() == heads[order].tolist()
        assert np.asarray(k_best.labels[: len(order), row]).tolist() == labels[order].tolist()
        expected = np.zeros((N + 1, N + 1, LABELS))
        for word in range(1, LENGTHS[row] + 1):
            np.add.at(expected, (heads[:, word - 1], word, labels[:, word - 1]), probabilities)
        close(marginals["label"][row], expected, atol=1e-4)
    assert drawn.heads.shape == drawn.labels.shape == (DRAWS, 6, N)
    first = np.asarray(tables["label"])[3, 0, 1]
    counts = np.bincount(np.asarray(drawn.labels)[:, 3, 0], minlength=LABELS)
    assert chi_square_is_low(counts, DRAWS * np.exp(first) / np.exp(first).sum())
    assert np.isfinite(
        jax.grad(lambda t: sd.TreeDistribution(system, t, LENGTHS).entropy().sum())(tables)["label"]
    ).all()


def test_labels_alone_and_scores_of_labels_without_batch() -> None:
    labels = jnp.zeros((3, 3, 4)).at[2, 1, 3].set(1.0).at[0, 2, 1].set(1.0)
    trees = sd.TreeDistribution(eisner(), {"label": labels})
    heads, chosen = trees.argmax()
    assert heads.tolist() == [2, 0] and chosen.tolist() == [3, 1]
    assert sd.best_labels(labels, heads).tolist() == [3, 1]
    close(sd.TreeDistribution(eisner(), {"label": jnp.zeros((3, 3, 4))}).log_partition(), np.log(3 * 4**2))
    with pytest.raises(ValueError, match=r"expected .* labels"):
        sd.TreeDistribution(eisner(), {"label": jnp.zeros((3, 4, 2))}).log_partition()


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
        expected = expected_uses(system, length, own)
        for name, table in marginals.items():
            close(table[row], expected[name], atol=1e-4)
        every = {"arc": np.zeros((N + 1, N + 1))} | own
        close(arcs[row], expected_uses(system, length, every)["arc"], atol=1e-4)
    slope = jax.grad(lambda t: sd.TreeDistribution(system, t, LENGTHS).entropy().sum())(tables)
    assert all(np.isfinite(table).all() for table in slope.values())


def test_mh4_trees() -> None:
    """One chart of the mildly non-projective trees: log-partition, and marginals of trees."""
    scores = some_arcs(53)
    trees = sd.TreeDistribution(mh4_trees(), scores, jnp.asarray(LENGTHS))
    values, pull = jax.vjp(lambda s: sd.TreeDistribution(mh4_trees(), s, LENGTHS).log_partition(), trees.scores)
    close(values, by_trees(lambda _, totals: enumeration.log_partition(totals), mhk(4), False, scores))
    close(pull(jnp.ones_like(values))[0], by_trees(marginals_of_one, mhk(4), False, scores), atol=1e-4)

"""Semirings: the laws, and values and derivatives of charts in them against the enumerated trees."""

from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from itertools import product
from typing import Any, ClassVar

import enumeration
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import LENGTHS, N, behind, some_tables
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import structdep as sd
from structdep.charts import arc_hybrid, arc_hybrid_trees, eisner
from structdep.semirings import Entropies, Moments
from structdep.spanning import all_trees
from structdep.testing import Values, derivations, evaluate
from structdep.trees import is_tree
from structdep.trees.classes import System

close = partial(np.testing.assert_allclose, rtol=2e-4, atol=5e-5)
QUANTITIES = np.random.default_rng(20).normal(size=(len(LENGTHS), N + 1, N + 1)).astype(np.float32)
FEW = QUANTITIES[0, :3, :3]
LAWFUL = (
    sd.MaxPlus(),
    sd.LogSum(),
    sd.KBest(1),
    sd.KBest(3),
    sd.Expectation({"arc": FEW}),
    sd.Entropy(),
    sd.SingleRoot(sd.MaxPlus),
    sd.SingleRoot(sd.LogSum),
    sd.SingleRoot(sd.KBest(2)),
    sd.SingleRoot(sd.Expectation({"arc": FEW})),
    sd.Pair(sd.MaxPlus(), sd.LogSum()),
    sd.Pair(sd.KBest(2), sd.SingleRoot(sd.LogSum())),
)
some_scores = arrays(np.float32, (3, 3, 3, 3), elements=st.sampled_from([-np.inf, -2.5, -1.0, 0.0, 0.0, 1.0, 3.25]))
lawful = pytest.mark.parametrize("semiring", LAWFUL, ids=lambda s: str(s).replace("()", "").split("(quant")[0])


def elements(semiring: sd.Semiring, scores: NDArray[np.float32]) -> list[Any]:
    """Three arrays of values: sums and products of lifted scores, with ties and -inf among them."""
    lifted = [[semiring.lift("arc", jnp.asarray(table)) for table in tables] for tables in scores]
    return [semiring.times(semiring.plus([a, b]), c) for a, b, c in lifted]


def assert_same(found: Any, expected: Any) -> None:
    """Equal up to rounding, no NaN; what is impossible has any mean and variance, and entropy."""
    kinds = (Moments, Entropies)

    def possible(value: Any) -> Any:
        if not isinstance(value, kinds):
            return value
        impossible = jnp.isneginf(value.log_partition)
        return type(value)(*(jnp.where(impossible, value.log_partition, leaf) for leaf in value))

    pair = [jax.tree.map(possible, value, is_leaf=lambda v: isinstance(v, kinds)) for value in (found, expected)]
    assert jax.tree.structure(pair[0]) == jax.tree.structure(pair[1])
    for one, other in zip(*map(jax.tree.leaves, pair), strict=True):
        assert not np.isnan(one).any()
        assert one.shape == other.shape
        close(one, other)


@lawful
@settings(max_examples=12)
@given(scores=some_scores)
def test_laws(semiring: sd.Semiring, scores: NDArray[np.float32]) -> None:
    a, b, c = elements(semiring, scores)
    zero, one = semiring.zeros((3, 3), jnp.float32), semiring.ones((3, 3), jnp.float32)
    plus, times = lambda *values: semiring.plus(values), semiring.times
    assert_same(plus(plus(a, b), c), plus(a, plus(b, c)))
    assert_same(plus(a, b, c), plus(c, a, b))
    assert_same(plus(a, zero), a)
    assert_same(plus(zero, zero), zero)
    assert_same(times(times(a, b), c), times(a, times(b, c)))
    assert_same(times(a, one), a)
    assert_same(times(one, a), a)
    assert_same(times(a, zero), zero)
    assert_same(times(zero, a), zero)
    assert_same(times(a, plus(b, c)), plus(times(a, b), times(a, c)))
    assert_same(times(plus(a, b), c), plus(times(a, c), times(b, c)))
    if semiring.idempotent:
        assert_same(plus(a, a), a)


@lawful
@settings(max_examples=6)
@given(scores=some_scores)
def test_sums_along_axes_are_sums_of_elements(semiring: sd.Semiring, scores: NDArray[np.float32]) -> None:
    a = elements(semiring, scores)[0]
    rows = [jax.tree.map(lambda leaf, row=row: leaf[row], a) for row in range(3)]
    columns = [jax.tree.map(lambda leaf, column=column: leaf[:, column], a) for column in range(3)]
    cells = [jax.tree.map(lambda leaf, row=row, c=c: leaf[row, c], a) for row in range(3) for c in range(3)]
    assert_same(semiring.sum(a, 0), semiring.plus(rows))
    assert_same(semiring.sum(a, 1), semiring.plus(columns))
    assert_same(semiring.sum(a, (0, 1)), semiring.plus(cells))


@lawful
def test_zero_has_the_structure_of_a_value(semiring: sd.Semiring) -> None:
    zeros = semiring.zeros((2,), jnp.float32)
    assert jax.tree.structure(semiring.zero) == jax.tree.structure(zeros)
    for number, leaf in zip(jax.tree.leaves(semiring.zero), jax.tree.leaves(zeros), strict=True):
        assert (leaf == number).all()
    assert not jax.tree.leaves(semiring.chart())
    assert semiring.additive == isinstance(semiring, sd.MaxPlus | sd.LogSum)


@pytest.mark.parametrize("base", [*{type(one): None for one in LAWFUL}, sd.Counting, sd.CostAugmented, sd.Sample])
def test_concrete_semirings_are_final(base: type[sd.Semiring]) -> None:
    with pytest.raises(
        TypeError, match=rf"Maximum derives from {base.__name__}, which is final: .* Write class Maximum"
    ):

        class Maximum(base):  # type: ignore[misc, valid-type]
            def sum(self, a: jax.Array, axis: int | tuple[int, ...]) -> jax.Array:
                return jnp.max(a, axis)


@sd.semiring
class Numbers(sd.Semiring):
    """Weights themselves, where LogSum has their logarithms; at a temperature."""

    temperature: float = field(default=1.0, metadata={"static": True})
    zero: ClassVar[float] = 0.0

    def ones(self, shape: Sequence[int], dtype: Any) -> jax.Array:
        return jnp.ones(shape, dtype)

    def lift(self, name: str, table: jax.Array) -> jax.Array:
        return jnp.exp(table / self.temperature)

    def lower(self, value: jax.Array) -> jax.Array:
        return jnp.where(value > 0, self.temperature * jnp.log(jnp.where(value > 0, value, 1)), -jnp.inf)

    def times(self, a: jax.Array, b: jax.Array) -> jax.Array:
        return a * b

    def sum(self, a: jax.Array, axis: int | tuple[int, ...]) -> jax.Array:
        return jnp.sum(a, axis)


@sd.semiring
class Tempered(sd.Semiring):
    """Scores at a temperature, an array, in a chart of LogSum."""

    temperature: jax.Array

    def lift(self, name: str, table: jax.Array) -> jax.Array:
        return table / self.temperature

    def lower(self, value: jax.Array) -> jax.Array:
        return value * self.temperature

    def chart(self) -> sd.Semiring:
        return sd.LogSum()


@pytest.mark.parametrize("labels", [False, True], ids=["", "labels"])
def test_semirings_of_ones_own(labels: bool) -> None:
    """Values, marginals and second derivatives are those of LogSum at the same temperature."""
    arcs, along = some_arcs(30), jnp.asarray(QUANTITIES)
    more = (
        {"label": jnp.asarray(np.random.default_rng(31).normal(size=(*arcs.shape, 2)), jnp.float32)} if labels else {}
    )

    def results(semiring: sd.Semiring, scale: float) -> Any:
        def value(arcs: jax.Array) -> jax.Array:
            tables = {name: table / scale for name, table in ({"arc": arcs} | more).items()}
            return scale * finite_sum(sd.inside(eisner(), tables, LENGTHS, semiring))

        return jax.jit(lambda s: (value(s), *jax.jvp(jax.grad(value), (s,), (along,))))(arcs)

    expected = results(sd.LogSum(), 2)
    for semiring in (Numbers(2.0), Tempered(jnp.array(2.0))):
        jax.tree.map(partial(close, atol=2e-4), results(semiring, 1), expected)
    if not labels:
        close(sd.marginals(eisner(), arcs, LENGTHS, semiring=Numbers(2.0)), expected[1], atol=2e-4)


def test_semirings_of_ones_own_over_all_trees() -> None:
    scores = some_arcs(32)
    found = sd.inside(all_trees(), scores, LENGTHS, Tempered(jnp.array(2.0)))
    close(found, 2 * sd.inside(all_trees(), scores / 2, LENGTHS, sd.LogSum))
    with pytest.raises(ValueError, match=r"all trees have an algorithm for MaxPlus, .*, none for Numbers"):
        sd.inside(all_trees(), scores, LENGTHS, Numbers)


def test_semirings_that_break_their_contract_are_refused() -> None:
    def a_sum(self: sd.Semiring, a: jax.Array, axis: int) -> jax.Array:
        return jnp.max(a, axis)

    with pytest.raises(TypeError, match="Mine has a times of its own, so that it is not additive"):
        type("Mine", (sd.Semiring,), {"additive": True, "times": lambda self, a, b: jnp.minimum(a, b), "sum": a_sum})
    with pytest.raises(TypeError, match=r"Mine is not decorated: write @structdep\.semiring above class Mine"):
        sd.inside(eisner(), np.zeros((3, 3), np.float32), semiring=type("Mine", (sd.Semiring,), {"sum": a_sum}))
    with_array = sd.semiring(type("Mine", (sd.Semiring,), {"__annotations__": {"x": jax.Array}, "sum": a_sum}))
    with pytest.raises(TypeError, match=r"Mine.chart\(\) returns a semiring with arrays"):
        sd.inside(eisner(), np.zeros((3, 3), np.float32), semiring=with_array(jnp.zeros(2)))
    everything = sd.semiring(type("Mine", (sd.Semiring,), {"sum": lambda self, a, axis: jnp.max(a)}))
    with pytest.raises(ValueError, match=r"Mine: sum\(\(2, 3, 3\), axis=1\) has the shape \(\), expected \(2, 3\)"):
        sd.inside(eisner(), np.zeros((2, 3, 3), np.float32), semiring=everything)
    ranks = sd.semiring(type("Mine", (sd.Semiring,), {"zero": (0.0, 0.0), "sum": a_sum}))
    with pytest.raises(ValueError, match=r"Mine: zero has the structure .*, expected that of values, PyTreeDef\(\*\)"):
        sd.inside(eisner(), np.zeros((3, 3), np.float32), semiring=ranks)
    with pytest.raises(TypeError, match=r"Entropy\(\) has no single number as its value: take structdep.LogSum"):
        sd.marginals(eisner(), np.zeros((3, 3), np.float32), semiring=sd.Entropy)
    ranked = sd.semiring(type("Mine", (sd.Semiring,), {"idempotent": True, "zero": (0.0, 0.0), "sum": a_sum}))
    with pytest.raises(ValueError, match="argmax needs a semiring with a best derivation: MaxPlus, say, not Mine"):
        sd.argmax(eisner(), np.zeros((3, 3), np.float32), semiring=ranked)


def test_one_with_parameters_has_to_be_given_them() -> None:
    with pytest.raises(TypeError, match="k"):
        sd.inside(eisner(), np.zeros((3, 3), np.float32), None, sd.KBest)


ONCE = pytest.mark.parametrize(
    "system", [eisner(), arc_hybrid_trees(), pytest.param(all_trees(), marks=pytest.mark.slow)], ids=lambda s: s.name
)
ROOTS = pytest.mark.parametrize("single_root", [False, True], ids=["any roots", "single root"])


def some_arcs(seed: int) -> jax.Array:
    """Scores with forbidden arcs; in the second sentence no word may have a head."""
    scores = some_tables(eisner(), seed)["arc"]
    scores[:, 2, 1] = scores[5, 0, 1] = scores[1] = -np.inf
    return jnp.asarray(scores)


def graded(semiring: sd.Semiring, single_root: bool) -> sd.Semiring:
    return sd.SingleRoot(semiring) if single_root else semiring


def finite_sum(values: Any) -> jax.Array:
    return sum(jnp.where(jnp.isneginf(leaf), 0, leaf).sum() for leaf in jax.tree.leaves(values))


def assert_finite_and_only_where_allowed(gradient: jax.Array, scores: jax.Array) -> None:
    assert np.isfinite(gradient).all()
    assert not np.asarray(gradient)[np.isneginf(scores)].any()
    assert not np.asarray(gradient)[behind(np.asarray(scores))].any()


def expected_k_best(system: System, k: int, single_root: bool) -> Callable[..., jax.Array]:
    def k_best(length: int, scores: jax.Array) -> jax.Array:
        totals = enumeration.tree_scores(system, scores, length, single_root)
        return jnp.sort(jnp.concatenate([totals, jnp.full(k, -jnp.inf)]), descending=True)[:k]

    return k_best


@ONCE
@ROOTS
def test_k_best_are_the_scores_and_arcs_of_the_best_trees(system: System, single_root: bool) -> None:
    scores = some_arcs(21)
    found, pull = jax.vjp(lambda s: sd.inside(system, s, LENGTHS, graded(sd.KBest(4), single_root)), scores)
    close(found, enumeration.each(expected_k_best(system, 4, single_root), scores))
    assert jnp.isneginf(found[1]).all() and found.dtype == jnp.float32
    for rank in range(4):
        (uses,) = pull(jnp.zeros_like(found).at[:, rank].set(1))
        assert_finite_and_only_where_allowed(uses, scores)
        assert set(np.unique(uses)) <= {0, 1}
        heads = np.argmax(uses[..., 1:], axis=-2)
        possible = ~np.isneginf(found[:, rank])
        assert np.asarray(is_tree(heads, LENGTHS, single_root))[possible].all()
        close(jnp.where(uses > 0, scores, 0).sum((1, 2)), jnp.where(possible, found[:, rank], 0))


@ONCE
def test_among_ties_each_of_the_k_best_is_one_whole_tree_and_all_differ(system: System) -> None:
    scores = jnp.zeros((len(LENGTHS), N + 1, N + 1))
    found, pull = jax.vjp(lambda s: sd.inside(system, s, LENGTHS, sd.KBest(4)), scores)
    assert np.isfinite(found).sum(-1).tolist() == [4, 4, 3, 1, 1, 4]
    trees = []
    for rank in range(4):
        (uses,) = pull(jnp.zeros_like(found).at[:, rank].set(1))
        assert set(np.unique(uses)) <= {0, 1}
        heads = np.argmax(uses[..., 1:], axis=-2)
        assert np.asarray(is_tree(heads, LENGTHS))[np.isfinite(found[:, rank])].all()
        trees.append(heads)
    for first in range(4):
        for second in range(first):
            assert (trees[first] != trees[second]).any(-1)[np.isfinite(found[:, first])].all()


def test_among_ties_each_of_the_k_best_values_has_a_derivative_of_its_own() -> None:
    slopes = jax.jacobian(lambda x: jnp.stack(sd.KBest(4).fold([([(x,)], 1)])))(jnp.zeros(4))
    assert (np.sort(slopes, axis=0)[-1] == 1).all() and slopes.sum() == 4


def test_the_k_best_derivations_of_an_ambiguous_system_repeat_trees() -> None:
    (heads,) = (heads for heads, times in derivations(arc_hybrid(), 3).items() if times == 2)
    scores = np.full((len(LENGTHS), N + 1, N + 1), -np.inf, np.float32)
    scores[1, heads, [1, 2, 3]] = 1
    for system, expected in ((arc_hybrid(), [3, 3, -np.inf, -np.inf]), (arc_hybrid_trees(), [3, *[-np.inf] * 3])):
        assert sd.inside(system, scores, LENGTHS, sd.KBest(4))[1].tolist() == expected


def expected_moments(
    length: int, scores: jax.Array, quantities: jax.Array, system: System, single_root: bool
) -> Moments:
    totals, values = (enumeration.tree_scores(system, table, length, single_root) for table in (scores, quantities))
    return Moments(*enumeration.moments(totals, values))


def expectation_case(system: System, single_root: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Mean and variance of a quantity by a chart, and by enumeration."""

    def found(scores: jax.Array, quantities: jax.Array) -> Any:
        return sd.inside(system, scores, LENGTHS, graded(sd.Expectation({"arc": quantities}), single_root))

    def expected(scores: jax.Array, quantities: jax.Array) -> Any:
        return enumeration.each(partial(expected_moments, system=system, single_root=single_root), scores, quantities)

    return found, expected


@ONCE
@ROOTS
def test_expectation_is_mean_and_variance(system: System, single_root: bool) -> None:
    found, expected = expectation_case(system, single_root)
    scores, quantities = some_arcs(22), jnp.asarray(QUANTITIES)
    assert_same(found(scores, quantities), expected(scores, quantities))

    def total(of: Callable[..., Any], *tables: jax.Array) -> jax.Array:
        _, mean, variance = of(*tables)
        return mean.sum() + 0.7 * variance.sum()

    gradients = [jax.jit(jax.grad(partial(total, of), (0, 1)))(scores, quantities) for of in (found, expected)]
    for one, other in zip(*gradients, strict=True):
        assert_finite_and_only_where_allowed(one, scores)
        close(one, other, atol=2e-4)


def test_expectation_of_infinite_quantities_of_forbidden_arcs_and_overflow_beside() -> None:
    """What overflows in one sentence leaves no trace in others that come after it."""
    scores = jnp.tile(some_arcs(23), (40, 1, 1)).at[:, 0, 1].set(-jnp.inf)
    lengths = np.tile(LENGTHS, 40)
    quantities = scores.at[0].set(1e18)
    expected = sd.inside(eisner(), scores, lengths, sd.Expectation({"arc": jnp.where(jnp.isneginf(scores), 0, scores)}))
    found = sd.inside(eisner(), scores, lengths, sd.Expectation({"arc": quantities}))
    for one, other in zip(found, expected, strict=True):
        close(one[1:], other[1:])


def test_expectation_of_far_away_quantities_has_an_exact_variance() -> None:
    """The mean of squares less the square of the mean would lose all digits."""
    scores = some_arcs(23)
    near, far = (
        sd.inside(eisner(), scores, LENGTHS, sd.Expectation({"arc": QUANTITIES + shift})) for shift in (0, 1000)
    )
    close(near.variance, far.variance, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("system", [eisner(), all_trees()], ids=["eisner", "all trees"])
def test_entropies(system: System) -> None:
    """Of large scores, too, against enumeration."""
    scores = 300 * some_arcs(26)
    found = sd.inside(system, scores, LENGTHS, sd.Entropy)
    close(found.log_partition, sd.inside(system, scores, LENGTHS, sd.LogSum))
    for row, length in enumerate(LENGTHS.tolist()):
        totals = np.asarray(enumeration.tree_scores(system, scores[row], length, False), np.float64)
        p = np.exp(totals - np.logaddexp.reduce(totals)) if np.isfinite(totals).any() else np.zeros(1)
        close(found.entropy[row], -np.sum(p * np.log(np.where(p > 0, p, 1))), atol=2e-4)


@ONCE
def test_expectation_of_quantities_of_labels(system: System) -> None:
    labels, quantities = np.random.default_rng(24).normal(size=(2, 3, 3, 2)).astype(np.float32)
    found = sd.inside(system, {"label": labels}, semiring=sd.Expectation({"label": quantities}))
    labelled = [
        [(head, word, label) for word, (head, label) in enumerate(zip(heads, chosen, strict=True), start=1)]
        for heads in enumeration.trees(system, 2).tolist()
        for chosen in product(range(2), repeat=2)
    ]
    totals, values = (jnp.array([sum(table[at] for at in tree) for tree in labelled]) for table in (labels, quantities))
    assert_same(found, Moments(*enumeration.moments(totals, values)))


@ONCE
def test_single_root_sums_the_trees_with_one_root_arc(system: System) -> None:
    scores = some_arcs(25)

    def found(scores: jax.Array) -> jax.Array:
        return sd.inside(system, scores, LENGTHS, sd.SingleRoot(sd.LogSum))

    def log_partition(length: int, scores: jax.Array) -> jax.Array:
        return enumeration.log_partition(enumeration.tree_scores(system, scores, length, True))

    close(found(scores), enumeration.each(log_partition, scores))
    assert np.isneginf(found(scores)).tolist() == [False, True, False, False, True, False]
    gradient = jax.grad(lambda s: found(s).sum())(scores)
    assert_finite_and_only_where_allowed(gradient, scores)
    close(gradient[:, 0].sum(-1), [1, 0, 1, 1, 0, 1])
    possible = np.array([0, 2, 3, 5])

    def total(some: jax.Array) -> jax.Array:
        return enumeration.each(log_partition, some, lengths=LENGTHS[possible].tolist()).sum()

    close(gradient[possible], jax.jit(jax.grad(total))(scores[possible]))


def test_single_root_by_rule_and_by_semiring_agree() -> None:
    scores = jnp.asarray(some_tables(eisner(), 26)["arc"])
    for semiring in (sd.LogSum, sd.MaxPlus, sd.Counting):
        by_rule = sd.inside(eisner(single_root=True), scores, LENGTHS, semiring)
        close(sd.inside(eisner(), scores, LENGTHS, sd.SingleRoot(semiring)), by_rule)


@ONCE
def test_a_pair_is_both(system: System) -> None:
    scores = some_arcs(27)
    found = sd.inside(system, scores, LENGTHS, sd.Pair(sd.MaxPlus(), sd.LogSum()))
    apart = [sd.inside(system, scores, LENGTHS, semiring) for semiring in (sd.MaxPlus, sd.LogSum)]
    for place in (0, 1):
        close(found[place], apart[place])

    def total(scores: jax.Array, semiring: sd.Semiring) -> jax.Array:
        return finite_sum(sd.inside(system, scores, LENGTHS, semiring))

    gradient = jax.grad(total)(scores, sd.Pair(sd.MaxPlus(), sd.LogSum()))
    assert_finite_and_only_where_allowed(gradient, scores)
    close(gradient, sum(jax.grad(total)(scores, semiring) for semiring in (sd.MaxPlus(), sd.LogSum())))


def test_a_pair_of_parametrized_semirings() -> None:
    scores = some_arcs(28)
    gold = jnp.zeros((len(LENGTHS), N), jnp.int32)
    parts = (sd.CostAugmented(gold, 0.5), sd.SingleRoot(sd.Counting))
    found = sd.inside(eisner(), scores, LENGTHS, sd.Pair(*parts))
    for value, semiring in zip(found, parts, strict=True):
        close(value, sd.inside(eisner(), scores, LENGTHS, semiring))


def test_a_sample_is_the_gradient_of_the_log_partition() -> None:
    scores = some_arcs(29)

    def draw(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        value, pull = jax.vjp(lambda s: sd.inside(eisner(), s, LENGTHS, sd.Sample(key)), scores)
        return value, pull(jnp.ones_like(value))[0]

    values, uses = jax.vmap(draw)(jax.random.split(jax.random.key(0), 20))
    close(values, jnp.broadcast_to(sd.inside(eisner(), scores, LENGTHS, sd.LogSum), values.shape))
    assert set(np.unique(uses)) == {0, 1}
    assert not np.asarray(uses)[:, np.isneginf(scores)].any()
    heads = np.argmax(uses[..., 1:], axis=-2)
    assert is_tree(heads[:, [0, 2, 3, 4, 5]], np.broadcast_to(LENGTHS[[0, 2, 3, 4, 5]], (20, 5))).all()
    assert not np.asarray(uses)[:, 1].any()
    assert len(np.unique(heads[:, 0], axis=0)) > 3


SEMIRINGS = (
    sd.MaxPlus(),
    sd.LogSum(),
    sd.KBest(4),
    sd.Expectation({"arc": QUANTITIES}),
    sd.SingleRoot(sd.LogSum),
    sd.Pair(sd.MaxPlus(), sd.LogSum()),
)


@pytest.mark.parametrize("semiring", SEMIRINGS, ids=lambda s: str(s).replace("()", "").split("(quant")[0])
@ONCE
def test_without_a_tree_values_are_minus_infinity_and_gradients_zero(system: System, semiring: sd.Semiring) -> None:
    scores = jnp.full((len(LENGTHS), N + 1, N + 1), -jnp.inf)
    found, pull = jax.vjp(lambda s: sd.inside(system, s, LENGTHS, semiring), scores)
    words = LENGTHS > 0
    first = found.log_partition if isinstance(found, Moments) else jax.tree.leaves(found)[0]
    assert np.isneginf(np.asarray(first)[words]).all()
    assert not any(np.isnan(leaf).any() for leaf in jax.tree.leaves(found))
    (gradient,) = pull(jax.tree.map(jnp.ones_like, found))
    assert not np.asarray(gradient).any()


@pytest.mark.parametrize("place", range(3))
def test_a_maximum_with_nan_is_nan(place: int) -> None:
    assert jnp.isnan(sd.MaxPlus().sum(jnp.zeros(3).at[place].set(jnp.nan), 0))


@sd.semiring
class Weakest(sd.Semiring):
    """The highest value, over all trees, of the lowest score of a tree."""

    idempotent = True

    def ones(self, shape: Sequence[int], dtype: Any) -> jax.Array:
        return jnp.full(shape, jnp.inf, dtype)

    def times(self, a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.minimum(a, b)

    def sum(self, a: jax.Array, axis: Any) -> jax.Array:
        return jnp.max(a, axis)


@sd.semiring
class Worst(sd.Semiring):
    """The lowest score of a tree."""

    zero = jnp.inf
    idempotent = True

    def sum(self, a: jax.Array, axis: Any) -> jax.Array:
        return jnp.min(a, axis)


def test_nodes_that_exist_have_the_one_of_a_semiring_of_ones_own() -> None:
    """Exterior axioms exist where nodes do, which the library writes as scores of its own."""
    i, k, j, x = sd.indices("i k j x")
    inner, outer = sd.Item("I"), sd.Item("E", exterior=True)
    rule = inner[i, k] * outer[k:j, x] * sd.arc[i, k] >> inner[i, j]
    system = sd.DeductionSystem("exterior", (inner[i, i + 1], outer[i : i + 1, x]), (rule,), inner[0, sd.n + 1])
    scores = jax.random.uniform(jax.random.key(0), (4, 4), minval=1, maxval=2)
    numbers = Values(-np.inf, np.inf, max, min)
    expected = evaluate(system, 3, numbers, lambda use: float(scores[use[1]]))
    close(sd.inside(system, scores, semiring=Weakest), expected)
    close(sd.inside(system, scores, semiring=sd.Pair(Weakest(), sd.LogSum()))[0], expected)


def test_forbidden_arcs_have_the_zero_of_a_semiring_of_ones_own() -> None:
    scores = some_arcs(40).at[:, 1, 2].set(-jnp.inf)
    low = jnp.where(jnp.isneginf(scores), jnp.inf, scores)
    for system in (eisner(), arc_hybrid()):
        close(sd.inside(system, scores, LENGTHS, Worst), -sd.inside(system, -low, LENGTHS))


@pytest.mark.parametrize(
    ("scores", "semiring"),
    [
        ((3, 4, 4), sd.Expectation({"arc": jnp.ones((2, 4, 4))})),
        ((4, 4), sd.Expectation({"arc": jnp.ones((3, 3))})),
        ((4, 4, 4), sd.Expectation({"arc": jnp.ones((3, 4, 4))})),
        ((4, 4), sd.CostAugmented(jnp.array([0, 1]))),
        ((4, 4), sd.CostAugmented(jnp.array([0, 1, 0, 2]))),
    ],
)
def test_numbers_beside_scores_have_their_shape(scores: tuple[int, ...], semiring: sd.Semiring) -> None:
    for system in (eisner(), arc_hybrid()):
        with pytest.raises(ValueError, match=r"have shape .*, expected"):
            sd.inside(system, jnp.zeros(scores), semiring=semiring)


def test_variances_of_all_trees_are_not_negative() -> None:
    quantities = sd.Expectation({"arc": jnp.full((21, 21), 100.0)})
    scores = jax.random.normal(jax.random.key(0), (40, 21, 21))
    assert (sd.inside(all_trees(), scores, semiring=quantities).variance >= 0).all()

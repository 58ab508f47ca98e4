"""The value of a chart is what the declared rules say, in every system and semiring, in any batch and padding."""

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import LENGTHS, N, Tables, each_chart, each_system, sentences, some_tables
from numpy.typing import ArrayLike
from test_semirings import Numbers

import structdep as sd
from structdep._engines.xla import chart
from structdep._engines.xla.filling import empty_charts
from structdep._lowering.plan import plan
from structdep.charts import arc_eager, arc_hybrid, arc_standard, eisner, mhk
from structdep.deduction import DeductionSystem
from structdep.semirings import semiring
from structdep.testing import LOG, MAX, Values, evaluate, value

pytestmark = pytest.mark.usefixtures("engine")


def assert_close(found: ArrayLike, expected: ArrayLike) -> None:
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=2e-5, atol=2e-5)


@each_system
@pytest.mark.parametrize(("kind", "reference"), [(sd.MaxPlus, MAX), (sd.LogSum, LOG)], ids=["MaxPlus", "LogSum"])
def test_values_are_those_of_the_rules(
    system: DeductionSystem, kind: type[sd.Semiring], reference: Values[float]
) -> None:
    tables = some_tables(system)
    found = sd.inside(system, tables, LENGTHS, kind)
    assert found.dtype == jnp.float32
    assert_close(found, [value(system, length, scores, reference) for length, scores in sentences(tables)])
    assert jnp.array_equal(found, sd.inside(system, tables, LENGTHS, kind()))
    other_padding = some_tables(system, garbage=-3e4)
    assert jnp.array_equal(found, sd.inside(system, other_padding, LENGTHS, kind))


@each_system
def test_counting_counts_the_derivations_without_forbidden_scores(system: DeductionSystem) -> None:
    tables = some_tables(system)
    tables["arc"][..., 2, 1] = tables["arc"][..., 0, 2] = -np.inf
    count = Values(0, 1, lambda a, b: a + b, lambda a, b: a * b)
    counts = [
        evaluate(system, length, count, lambda use, scores=scores: int(scores[use[0]][use[1]] > -math.inf))  # type: ignore[misc]
        for length, scores in sentences(tables)
    ]
    assert 0 < counts[0] < counts[-1] * 2
    assert_close(sd.inside(system, tables, LENGTHS, sd.Counting), [math.log(c) if c else -math.inf for c in counts])
    assert_close(sd.inside(system, tables, LENGTHS, sd.Counting()), sd.inside(system, tables, LENGTHS, sd.Counting))


@each_system
@pytest.mark.parametrize("weight", [0.0, 2.5])
def test_cost_augmented_adds_the_weighted_hamming_cost(system: DeductionSystem, weight: float) -> None:
    tables = some_tables(system)
    gold = np.array([[2, 0, 2, 3], [0, 1, 1, 9], [2, 0, -5, 7], [0, 9, 9, 9], [3, 2, 1, 0], [4, 4, 4, 0]])
    found = sd.inside(system, tables, LENGTHS, sd.CostAugmented(jnp.array(gold), weight))
    for row, (length, scores) in enumerate(sentences(tables)):
        for word in range(1, length + 1):
            scores["arc"][np.arange(5) != gold[row, word - 1], word] += weight
        assert_close(found[row], value(system, length, scores, MAX))


@pytest.mark.parametrize("system", [arc_hybrid(True), arc_eager(True), arc_standard(True)], ids=lambda s: s.name)
def test_absent_tables_count_as_zero(system: DeductionSystem) -> None:
    tables = some_tables(system)
    tables = {name: table for name, table in tables.items() if name not in ("arc", "la", "ra:s1")}
    expected = [value(system, length, scores, MAX) for length, scores in sentences(tables)]
    assert_close(sd.inside(system, tables, LENGTHS, sd.MaxPlus), expected)


SLOW = pytest.mark.slow
MH4_REDUCES = ("la", "ra", "la'", "ra'", "la2", "ra2")
FEATURES: dict[str, tuple[str, ...]] = {"two": ("",), "hybrid": ("", ":s1"), "full": (":full",)}


@pytest.mark.parametrize("features", ["hybrid", pytest.param("two", marks=SLOW), pytest.param("full", marks=SLOW)])
def test_transition_features_of_mh4(features: str) -> None:
    system = mhk(4, transitions=True)
    names = {"shift", *(name + end for name in MH4_REDUCES for end in FEATURES[features])}
    tables = {name: table for name, table in some_tables(system).items() if name in names}
    expected = [value(system, length, scores, MAX) for length, scores in sentences(tables)]
    assert_close(sd.inside(system, tables, LENGTHS, sd.MaxPlus), expected)


def test_a_full_table_that_is_a_sum_of_two_gives_the_same() -> None:
    system = arc_hybrid(transitions=True)
    tables = some_tables(system)
    rest = {name: table for name, table in tables.items() if ":" not in name and name not in ("la", "ra")}
    pairs = {name: tables[name] for name in ("la", "ra", "la:s1", "ra:s1")}
    full = {f"{t}:full": pairs[f"{t}:s1"][..., :, :, None] + pairs[t][..., None, :, :] for t in ("la", "ra")}
    assert_close(sd.inside(system, rest | pairs, LENGTHS), sd.inside(system, rest | full, LENGTHS))


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (3, 2, 1), (0,), (2, 0)])
def test_batches_of_any_shape(shape: tuple[int, ...]) -> None:
    scores = np.random.default_rng(0).normal(size=(6, 4, 4)).astype(np.float32)
    batch = scores[: math.prod(shape)].reshape(*shape, 4, 4)
    lengths = np.array([3, 2, 1, 3, 0, 3])[: math.prod(shape)].reshape(shape)
    found = sd.inside(eisner(), batch, lengths, sd.LogSum)
    assert found.shape == shape
    for index in np.ndindex(shape):
        assert_close(found[index], value(eisner(), int(lengths[index]), batch[index], LOG))


def test_groups_of_sentences_give_what_one_batch_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large batches are cut into groups of equal size whose charts have room: here of 14, the last one padded."""
    scores = np.random.default_rng(1).normal(size=(41, N + 1, N + 1)).astype(np.float32)
    lengths = np.arange(41) % (N + 1)
    value, marginals = sd.inside(arc_hybrid(), scores, lengths, sd.LogSum), sd.marginals(arc_hybrid(), scores, lengths)
    heads = sd.argmax(arc_hybrid(), scores, lengths)
    in_groups(monkeypatch, 16, arc_hybrid(), {"arc"})
    assert_close(sd.inside(arc_hybrid(), scores[1:], lengths[1:], sd.LogSum), value[1:])
    assert_close(sd.marginals(arc_hybrid(), scores[1:], lengths[1:]), marginals[1:])
    assert jnp.array_equal(sd.argmax(arc_hybrid(), scores[1:], lengths[1:]), heads[1:])


def in_groups(monkeypatch: pytest.MonkeyPatch, sentences: int, system: DeductionSystem, names: Collection[str]) -> None:
    monkeypatch.setattr(chart, "GROUP_BYTES", sentences * chart.chart_bytes(system, names, N))


@pytest.mark.slow_by_xla
@each_system
@pytest.mark.parametrize("kind", [sd.MaxPlus, pytest.param(sd.LogSum, marks=pytest.mark.slow)])
def test_groups_leave_nothing_to_the_next_one(
    system: DeductionSystem, kind: type[sd.Semiring], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here two sentences come after none, NaN, and scores that overflow."""
    tables = {name: np.tile(table, (2,) + (1,) * (table.ndim - 1)) for name, table in some_tables(system).items()}
    for table in tables.values():
        table[0] = -np.inf
        table[1] = np.nan
        table[3] = 2e38
    lengths = np.full(2 * len(LENGTHS), N)

    def run() -> Any:
        value, pull = jax.vjp(lambda tables: sd.inside(system, tables, lengths, kind), tables)
        return value, pull(jnp.ones(len(lengths)))[0]

    value, uses = run()
    in_groups(monkeypatch, 2, system, tables.keys())
    jax.clear_caches()  # type: ignore[no-untyped-call]
    found, found_uses = run()
    assert_close(found, value)
    for name in tables:
        assert_close(found_uses[name], uses[name])


def test_charts_have_the_bytes_that_are_told() -> None:
    system, names = mhk(4, transitions=True), frozenset({"arc", "shift"})
    made = plan(system, names)
    charts = empty_charts(made, made.layout(9 + system.last), sd.LogSum(), 1, jnp.float32, keep=True)
    assert chart.chart_bytes(system, ["shift"], 9) == sum(one.nbytes for one in charts.values())
    with pytest.raises(TypeError, match="all_trees has no charts: give a DeductionSystem"):
        chart.chart_bytes(sd.spanning.all_trees(), ["arc"], 9)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"has no scores \['shifts'\], it declares \['arc', 'la'"):
        chart.chart_bytes(system, ["shifts"], 9)


def test_products_that_overflow_leave_nothing_to_the_next_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where scores are multiplied, they may overflow though their sum does not."""
    in_groups(monkeypatch, 1, eisner(), {"arc"})
    scores = np.stack([np.full((6, 6), 70, np.float32), np.zeros((6, 6), np.float32)])
    assert_close(sd.inside(eisner(), scores, semiring=Numbers()), [np.inf, np.log(273)])


@pytest.mark.slow
@each_chart
def test_longer_sentences(system: DeductionSystem) -> None:
    """Several blocks of widths: the forest of MH_4 with nine words is the most that the reference does in seconds."""
    words = 9 if system.complexity[0] < 5 else 6
    scores = np.random.default_rng(0).normal(size=(2, words + 1, words + 1)).astype(np.float32)
    for kind, reference in ((sd.MaxPlus, MAX), (sd.LogSum, LOG)):
        expected = [value(system, words, scores[0], reference), value(system, words - 2, scores[1], reference)]
        assert_close(sd.inside(system, scores, np.array([words, words - 2]), kind), expected)


def test_functions_named_after_systems() -> None:
    arcs, tables = some_tables(eisner())["arc"], some_tables(arc_hybrid(transitions=True))
    pairs = [
        (sd.eisner(arcs, LENGTHS, sd.LogSum), sd.inside(eisner(), arcs, LENGTHS, sd.LogSum)),
        (sd.eisner(arcs, LENGTHS, single_root=True), sd.inside(eisner(single_root=True), arcs, LENGTHS)),
        (sd.arc_hybrid(arcs, LENGTHS, sd.LogSum), sd.inside(arc_hybrid(), arcs, LENGTHS, sd.LogSum)),
        (sd.arc_hybrid(tables, LENGTHS), sd.inside(arc_hybrid(transitions=True), tables, LENGTHS)),
        (sd.arc_eager(arcs, LENGTHS), sd.inside(arc_eager(), arcs, LENGTHS)),
        (sd.arc_standard(arcs, LENGTHS), sd.inside(arc_standard(), arcs, LENGTHS)),
        (sd.mhk(scores=arcs, k=4, lengths=LENGTHS, semiring=sd.MaxPlus), sd.inside(mhk(4), arcs, LENGTHS)),
    ]
    for found, expected in pairs:
        assert jnp.array_equal(found, expected)


@semiring
class MinPlus(sd.Semiring):
    """The cheapest derivation."""

    idempotent: ClassVar[bool] = True
    zero: ClassVar[float] = np.inf

    def lift(self, name: str, table: jnp.ndarray) -> jnp.ndarray:
        return jnp.where(jnp.isneginf(table), self.zero, table)

    def sum(self, a: jnp.ndarray, axis: int | tuple[int, ...]) -> jnp.ndarray:
        return jnp.min(a, axis)


@semiring
class Bottleneck(sd.Semiring):
    """The derivation whose worst score is best."""

    idempotent: ClassVar[bool] = True

    def ones(self, shape: Sequence[int], dtype: Any) -> jnp.ndarray:
        return jnp.full(shape, np.inf, dtype)

    def times(self, a: jnp.ndarray, b: jnp.ndarray) -> jnp.ndarray:
        return jnp.minimum(a, b)

    def sum(self, a: jnp.ndarray, axis: int | tuple[int, ...]) -> jnp.ndarray:
        return jnp.max(a, axis)


MIN = Values(math.inf, 0.0, min, lambda a, b: a + b)
WIDEST = Values(-math.inf, math.inf, max, min)


def forbidding(zero: float, scores: Tables) -> Callable[[Any], float]:
    return lambda use: float(scores[use[0]][use[1]]) if scores[use[0]][use[1]] > -np.inf else zero


@pytest.mark.parametrize(("kind", "reference"), [(MinPlus, MIN), (Bottleneck, WIDEST)], ids=["MinPlus", "Bottleneck"])
@pytest.mark.parametrize("system", [eisner(), arc_hybrid()], ids=lambda system: system.name)
def test_a_semiring_of_ones_own(system: DeductionSystem, kind: type[sd.Semiring], reference: Values[float]) -> None:
    tables = some_tables(system)
    tables["arc"][..., 1, 2] = tables["arc"][..., 0, 1] = -np.inf
    expected = [
        evaluate(system, length, reference, forbidding(reference.zero, scores)) for length, scores in sentences(tables)
    ]
    assert_close(sd.inside(system, tables, LENGTHS, kind), expected)

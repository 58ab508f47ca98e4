"""The program in C++ gives what XLA's programs give, whatever the batch, and leaves to them what it does not know."""

import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import structdep as sd
from structdep._engines.cpu import library
from structdep._engines.cpu.program import is_possible
from structdep._engines.primitive import ask
from structdep._engines.query import Query
from structdep.deduction import DeductionSystem, Item, Product, arc, indices, n
from structdep.inference.scores import Problem, problem
from structdep.testing import LOG, value

WORDS = 11
needs_it = pytest.mark.skipif(not library.is_there(), reason="the compiled CPU engine is not installed")
SYSTEMS = [
    sd.charts.eisner(),
    sd.charts.arc_hybrid(transitions=True),
    sd.charts.mhk(4),
    pytest.param(sd.charts.mh4_trees(transitions=True), marks=pytest.mark.slow),
    pytest.param(sd.charts.crossing_sensitive(), marks=pytest.mark.slow),
]


def some(system: DeductionSystem, batch: int, dtype: Any = np.float32, words: int = WORDS) -> Problem:
    """Sentences of all lengths, some of them with forbidden arcs."""
    rng = np.random.default_rng(batch)
    tables = {
        name: rng.normal(size=(batch, *[words + 1 + score.sentinel] * arity)).astype(dtype)
        for name, (score, arity) in system.declared.items()
    }
    tables["arc"][: batch // 3] = np.where(
        rng.random((words + 1, words + 1)) < 0.3, -np.inf, tables["arc"][: batch // 3]
    )
    return problem(system, tables, rng.integers(0, words + 1, batch))


@needs_it
@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_values_uses_and_best_trees_are_those_of_xla(system: DeductionSystem) -> None:
    given = some(system, 37)
    for semiring, want in ((sd.LogSum(), Query.EXPECTED_COUNTS), (sd.MaxPlus(), Query.BEST)):
        expected, expected_counts = by_xla(system, semiring, want, given.tables, given.lengths)
        for batch in (slice(37), slice(8), slice(5, 6)):
            tables, lengths = {name: table[batch] for name, table in given.tables.items()}, given.lengths[batch]
            value, uses = ask(system, semiring, want, tables, lengths)
            np.testing.assert_allclose(value, expected[batch], rtol=1e-5, atol=1e-5)
            for name, table in expected_counts.items():
                np.testing.assert_allclose(uses[name], table[batch], rtol=1e-5, atol=2e-5)


@needs_it
@pytest.mark.parametrize(
    "system, words",
    [(sd.charts.mhk(4), 48), (sd.charts.mhk(4), 100), (sd.charts.mh4_trees(), 48), (sd.charts.mhk(4, True), 60)],
    ids=lambda value: getattr(value, "name", value),
)
def test_many_long_sentences_have_the_marginals_of_each_alone(system: DeductionSystem, words: int) -> None:
    """The cells that are looked at together are of one sentence, or of several, and charts fit a cache, or do not."""
    batch = min(8 * (os.cpu_count() or 1), 64)
    given = some(system, batch, words=words)
    arguments = system, sd.LogSum(), Query.EXPECTED_COUNTS
    together = ask(*arguments, given.tables, given.lengths)
    for place in (slice(m, m + 1) for m in (0, batch // 2, int(given.lengths.argmax()))):
        tables = {name: table[place] for name, table in given.tables.items()}
        value, uses = ask(*arguments, tables, given.lengths[place])
        np.testing.assert_allclose(together[0][place], value, rtol=1e-6)
        for name, table in uses.items():
            np.testing.assert_allclose(together[1][name][place], table, atol=2e-5)
        heads = uses["arc"][0, :, 1 : given.lengths[place][0] + 1].sum(0)
        np.testing.assert_allclose(heads, jnp.isfinite(value[0]).astype(float), atol=1e-4)


@needs_it
def test_many_long_sentences_have_the_best_trees_of_each_alone() -> None:
    system = sd.charts.mhk(4)
    given = some(system, min(8 * (os.cpu_count() or 1), 64), words=100)
    arguments = system, sd.MaxPlus(), Query.BEST
    values, uses = ask(*arguments, given.tables, given.lengths)
    for place in (slice(m, m + 1) for m in range(0, len(values), 4)):
        value, own = ask(*arguments, {"arc": given.tables["arc"][place]}, given.lengths[place])
        np.testing.assert_allclose(values[place], value, rtol=1e-6)
        np.testing.assert_array_equal(uses["arc"][place], own["arc"])


def by_xla(*arguments: Any) -> Any:
    with sd.use_engine("xla"):
        return ask(*arguments)


def spoilt(given: Problem, garbage: float) -> dict[str, jax.Array]:
    """The scores with this behind a sentence, and where no arc is."""
    masked = {name: jnp.isneginf(given.tables[name]) & ~jnp.isneginf(table) for name, table in given.given.items()}
    return {name: jnp.where(masked[name], garbage, table) for name, table in given.given.items()}


@needs_it
@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_what_is_behind_a_sentence_and_what_is_no_arc_is_not_read(system: DeductionSystem) -> None:
    given = some(system, 5, words=6)
    for semiring, want in ((sd.LogSum(), Query.EXPECTED_COUNTS), (sd.MaxPlus(), Query.BEST)):
        expected = ask(system, semiring, want, given.tables, given.lengths)
        for garbage in (1e30, np.inf, np.nan):
            found = ask(system, semiring, want, spoilt(given, garbage), given.lengths)
            jax.tree.map(np.testing.assert_array_equal, found, expected)


@needs_it
def test_nor_is_it_where_marginals_are_differentiated_again() -> None:
    system = sd.charts.eisner()
    given = some(system, 5, words=6)

    def derivative(tables: dict[str, jax.Array]) -> Any:
        def spread(tables: dict[str, jax.Array]) -> jax.Array:
            return (ask(system, sd.LogSum(), Query.EXPECTED_COUNTS, tables, given.lengths)[1]["arc"] ** 2).sum()

        return jax.grad(spread)(tables)

    expected = derivative(given.tables)["arc"]
    assert jnp.isfinite(expected).all() and expected.any()
    for garbage in (1e30, np.inf, np.nan):
        np.testing.assert_allclose(derivative(spoilt(given, garbage))["arc"], expected, atol=1e-6)


@needs_it
def test_scores_that_are_never_read_are_looked_at_all_the_same() -> None:
    system = sd.charts.mhk(4, transitions=True)
    given = some(system, 2)
    tables = given.tables | {"la:full": given.tables["la:full"].at[0, 5, 3, 1].set(jnp.nan)}
    value = ask(system, sd.LogSum(), Query.VALUE, tables, jnp.full(2, WORDS))[0]
    assert np.isnan(value).tolist() == [True, False]


@needs_it
def test_sums_of_what_differs_by_far_are_exact() -> None:
    """Exponentials relative to the likeliest state of a span vanish: scores are forced to states that are unlikely."""
    scores = np.random.default_rng(0).normal(scale=60, size=(5, 9, 9)).astype(np.float32)
    for scale in (1, 10):
        given = problem(sd.charts.mh4_trees(), scores * scale, np.array([8, 8, 7, 6, 8]))
        arguments = sd.charts.mh4_trees(), sd.LogSum(), Query.EXPECTED_COUNTS, given.tables, given.lengths
        expected, expected_counts = by_xla(*arguments)
        value, uses = ask(*arguments)
        np.testing.assert_allclose(value, expected, rtol=1e-6)
        np.testing.assert_allclose(uses["arc"], expected_counts["arc"], atol=1e-3)


@needs_it
def test_double_precision() -> None:
    with jax.enable_x64(True):
        given = some(sd.charts.mhk(4), 5, np.float64)
        arguments = sd.charts.mhk(4), sd.LogSum(), Query.EXPECTED_COUNTS, given.tables, given.lengths
        expected, expected_counts = by_xla(*arguments)
        value, uses = ask(*arguments)
        assert value.dtype == jnp.float64
        np.testing.assert_allclose(value, expected, rtol=1e-13)
        np.testing.assert_allclose(uses["arc"], expected_counts["arc"], atol=1e-12)


@needs_it
@pytest.mark.parametrize("batch, words", [(1, 8), (1, 17), (5, 12), (70, 9), (3, 70)])
def test_marginals_in_double_precision_are_those_of_trees(batch: int, words: int) -> None:
    """However many sentences lie beside each other, in one vector or in several."""
    with jax.enable_x64(True):
        scores = np.random.default_rng(0).normal(size=(batch, words + 1, words + 1))
        systems = sd.charts.mhk(4), sd.charts.mh4_trees(), sd.charts.one_endpoint_crossing()
        for system in systems if words < 70 else systems[:2]:
            arcs = sd.marginals(system, scores)
            np.testing.assert_allclose(arcs[:, :, 1:].sum(1), 1, rtol=1e-12)


@needs_it
@pytest.mark.parametrize("words", [20, 45])
def test_what_charts_before_left_in_memory_is_of_no_account(words: int) -> None:
    """Cells that are none hold whatever was there: numbers of any size, of another precision, or none."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(16, words + 1, words + 1)).astype(np.float32)
    systems = [sd.charts.mh4_trees(), sd.charts.mhk(4), sd.charts.eisner()]
    if words == 20:  # it takes long
        systems.append(sd.charts.one_endpoint_crossing())
    expected = [sd.marginals(system, scores) for system in systems]
    longer, long = (16, words + 6, words + 6), (16, words + 4, words + 4)
    for before in (rng.normal(size=longer) * 1e5, np.where(rng.random(long) < 0.05, np.nan, 1e3)):
        with jax.enable_x64(True):
            for system in systems:
                sd.marginals(system, before)
        for system, arcs in zip(systems, expected, strict=True):
            np.testing.assert_array_equal(sd.marginals(system, scores), arcs)


@needs_it
def test_one_score_that_is_no_number_spoils_no_other_sentence() -> None:
    given = some(sd.charts.eisner(), 8)
    arcs = given.tables["arc"].at[3, 1, 2].set(jnp.nan)
    lengths = jnp.full(8, WORDS)
    clean = ask(sd.charts.eisner(), sd.LogSum(), Query.EXPECTED_COUNTS, given.tables, lengths)
    value, uses = ask(sd.charts.eisner(), sd.LogSum(), Query.EXPECTED_COUNTS, {"arc": arcs}, lengths)
    others = np.arange(8) != 3
    assert np.isnan(value[3]) and not uses["arc"][3].any()
    assert jnp.array_equal(value[others], clean[0][others]) and jnp.array_equal(
        uses["arc"][others], clean[1]["arc"][others]
    )


@needs_it
def test_samples_of_many_sentences_are_as_frequent_as_probable() -> None:
    """Each sentence of a batch draws by itself, whichever vector it is in."""
    scores = jnp.asarray(np.random.default_rng(0).normal(size=(5, 5)), jnp.float32)
    many = jnp.broadcast_to(scores, (4000, 5, 5))
    drawn = sd.sample(sd.charts.mh4_trees(), many, jax.random.key(1))
    arcs = sd.trees.heads_to_arcs(drawn).mean(0)
    np.testing.assert_allclose(arcs, sd.marginals(sd.charts.mh4_trees(), scores), atol=0.03)
    assert len(np.unique(np.asarray(drawn), axis=0)) > 50


@needs_it
def test_samples_are_samples_where_they_are_differentiated() -> None:
    tables, lengths, key = {"arc": jnp.zeros((50, 5, 5))}, jnp.full(50, 4), jax.random.key(2)

    def arcs(tables: dict[str, jax.Array]) -> jax.Array:
        return ask(sd.charts.eisner(), sd.LogSum(), Query.SAMPLE, tables, lengths, key=key)[1]["arc"]

    drawn, change = jax.jvp(arcs, (tables,), (tables,))
    assert len(np.unique(drawn, axis=0)) > 20 and not change.any()


@needs_it
def test_what_vmap_does_not_map_is_parsed_once() -> None:
    """Scores with several lengths, lengths with several scores, keys alone: as one call for each."""
    system, given = sd.charts.arc_hybrid(transitions=True), some(sd.charts.arc_hybrid(transitions=True), 4)
    lengths = jnp.array([[3, 1, 0, 2], [1, 5, 4, 11], [0, 0, 9, 1]])
    tables = jax.tree.map(lambda table: jnp.stack([table, 2 * table]), given.tables)

    def uses(tables: Any, lengths: jax.Array) -> Any:
        return ask(system, sd.LogSum(), Query.EXPECTED_COUNTS, tables, lengths)

    found = jax.vmap(jax.vmap(uses, (None, 0)), (0, None))(tables, lengths)
    for first, second in np.ndindex(2, 3):
        alone = uses(jax.tree.map(lambda table, first=first: table[first], tables), lengths[second])
        jax.tree.map(np.testing.assert_array_equal, jax.tree.map(lambda leaf: leaf[first, second], found), alone)  # noqa: B023
    keys = jax.random.split(jax.random.key(0), 6)

    def heads(key: jax.Array) -> jax.Array:
        return sd.sample(sd.charts.mhk(4), tables["arc"][0, :, :5, :5], key, jnp.array([4, 2, 0, 3]))

    assert jnp.array_equal(jax.vmap(heads)(keys), jnp.stack([heads(key) for key in keys]))


@needs_it
def test_many_sentences_with_hundreds_of_words() -> None:
    batch, words = 32, 520
    scores = np.random.default_rng(0).normal(size=(1, words + 1, words + 1)).astype(np.float32)
    lengths = np.array([words, *[2] * (batch - 1)])
    together = sd.inside(sd.charts.eisner(), scores.repeat(batch, 0), lengths)
    np.testing.assert_allclose(together[:1], sd.inside(sd.charts.eisner(), scores), rtol=1e-5)


@needs_it
def test_charts_that_are_too_large_are_refused() -> None:
    with pytest.raises(
        Exception, match=r"there is no memory for charts, which need \d+ bytes more: parse shorter sentences"
    ):
        jax.block_until_ready(sd.inside(sd.charts.mhk(4), jnp.zeros((1501, 1501))))


@needs_it
def test_items_that_no_rule_derives_on_one_side_of_their_span() -> None:
    i, j, k, x = indices("i j k x")
    inner, outer, whole = Item("inner"), Item("outer", exterior=True), Item("whole")
    rules = (
        inner[i, k] * inner[k, j] * arc[i, k] >> inner[i, j],
        outer[i:k, x] * inner[k, j] * arc[i, x] >> whole[i, j],
    )
    system = DeductionSystem("one side", (inner[i, i + 1], outer[i : i + 1, i + 2]), rules, goal=whole[0, n])
    scores = np.random.default_rng(0).normal(size=(6, 6)).astype(np.float32)
    expected = value(system, 5, {"arc": scores}, LOG)
    assert np.isfinite(expected) and sd.inside(system, scores, semiring=sd.LogSum) == pytest.approx(expected, rel=1e-5)


def test_what_it_does_not_know_is_left_to_xla() -> None:
    """Items of four positions, products of nine factors, and semirings with other sums."""
    i, j, k = indices("i j k")
    wide = Item("wide")
    rule = wide[i, j] * wide[j, k] * arc[i, j] >> wide[i, k]
    own = DeductionSystem("own", axioms=(wide[i, i + 1],), rules=(rule,), goal=wide[0, n + 1])
    many = Product((wide[i, k], wide[k, j], *[arc[i, j]] * 7))
    factors = DeductionSystem(
        "many factors", axioms=(wide[i, i + 1],), rules=(many >> wide[i, j],), goal=wide[0, n + 1]
    )
    assert is_possible(own, frozenset({"arc"})) and not is_possible(sd.charts.mhk(5), frozenset({"arc"}))
    assert not is_possible(factors, frozenset({"arc"}))
    limits = "not cpu: the system exceeds a limit: 3 positions in an item or a score, 8 factors in a product, 7 summed"
    assert limits in sd.describe(factors, platform="cpu")
    assert "not cpu: no support for the best in KBest" in sd.describe(own, semiring=sd.KBest(2), platform="cpu")

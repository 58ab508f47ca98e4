"""Transition systems: rules against the papers' definitions, greedy parsing and beams against runs and charts."""

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from plain_transitions import Plain, first, following, is_final, reachable, trees
from transition_cases import SYSTEMS, Tables, as_arrays, as_plain, each_system, some_tables

import structdep as sd
from structdep.deduction import DeductionSystem
from structdep.testing import MAX, Use, derivations, value
from structdep.transitions import (
    Features,
    Parse,
    Transition,
    TransitionSystem,
    arc_eager,
    arc_hybrid,
    arc_standard,
    beam_search,
    best_sequences,
    dynamic_oracle,
    explore,
    greedy,
    losses,
    mh4,
    static_oracle,
    table_scorer,
    vectors,
)
from structdep.transitions.configuration import apply, legal, start
from structdep.trees import is_projective, is_tree

LENGTHS = np.array([12, 0, 1, 7, 60, 30, 2, 59], np.int32)
WORDS = 60
RUNS = {"arc_standard_swap": 7249, "arc_hybrid_swap": 3347, "mh4": 888}
"""How many runs there are over four words, where they are more than 67."""


def parse(system: TransitionSystem, width: int = 0, seed: int = 0, kind: str = "normal") -> Parse:
    tables = some_tables(system, WORDS, LENGTHS.shape, seed)
    for table in tables.values():
        if kind == "infinite":
            table[...] = np.where(table > 1, np.nan, np.sign(table) * np.inf)
        elif kind == "equal":
            table[...] = 0
    return search(system, tables, LENGTHS, WORDS, width)


def search(system: TransitionSystem, tables: Tables, lengths: Any, words: int, width: int = 0) -> Parse:
    scorer = table_scorer(system, tables)
    return beam_search(system, scorer, lengths, words, width) if width else greedy(system, scorer, lengths, words)


@each_system
def test_rules_are_those_of_the_papers(system: TransitionSystem) -> None:
    for words in (1, 2, 3, 4):
        plain = list(reachable(system.name, words))
        configurations = as_arrays(plain)
        allowed = legal(system, configurations)
        assert np.array_equal(configurations.is_final, [is_final(c) for c in plain])
        after = [as_plain(apply(system, configurations, np.where(ok, t, -1))) for t, ok in enumerate(allowed.T)]
        for row, c in enumerate(plain):
            names = {name: after[t][row] for t, name in enumerate(system.names) if allowed[row, t]}
            assert names == following(system.name, c)


def test_features_are_the_nodes_beside_the_bar() -> None:
    configurations = as_arrays([Plain((0, 2, 3), (4, 5), (2, -1, -1, -1, -1)), Plain((0,), (), (2, 0, 2, 0, 0))])
    found = [array.tolist() for array in configurations.features]
    assert found == [[0, 6], [2, 6], [3, 0], [4, 6], [5, 6]]


@each_system
def test_every_run_ends_in_a_tree(system: TransitionSystem) -> None:
    is_word = np.arange(WORDS) < LENGTHS[:, None]
    for width, kind in product((0, 4), ("normal", "equal", "infinite")):
        found = parse(system, width, kind=kind)
        heads, steps = np.asarray(found.heads), np.asarray(found.steps)
        assert is_tree(heads, LENGTHS).all() and not heads[~is_word].any()
        assert ((heads == 0) & is_word).sum(-1)[LENGTHS > 0].max() == 1 or system.trees != "single-root"
        assert is_projective(heads, LENGTHS).all() or system.trees != "projective"
        assert (2 * LENGTHS <= steps).all() and (steps <= [system.most(int(n)) for n in LENGTHS]).all()
        assert (steps == 2 * LENGTHS).all() or system.swaps


@pytest.mark.parametrize("system", [arc_standard(swap=True), arc_hybrid(swap=True)], ids=lambda s: s.name)
def test_no_run_is_longer_than_the_bound(system: TransitionSystem) -> None:
    words = np.arange(25)
    swap = {name: np.full((25, 26, 26), float(name == "swap"), np.float32) for name in ("shift", "swap")}
    found = search(system, swap, words, 24)
    assert found.steps.tolist() == [system.most(int(n)) for n in words]
    assert is_tree(found.heads, words).all()


@each_system
def test_a_beam_of_width_one_is_greedy(system: TransitionSystem) -> None:
    for alone, beam in zip(parse(system), parse(system, 1), strict=True):
        np.testing.assert_array_equal(alone, beam)


def test_the_order_of_transitions_does_not_matter() -> None:
    """Runs that have ended wait for longer ones, whichever transition comes first."""
    lengths, tables = np.array([5, 1, 3, 0]), some_tables(arc_hybrid(), 5, (4,))
    reverse = replace(arc_hybrid(), transitions=arc_hybrid().transitions[::-1])
    for one, other in zip(*(search(system, tables, lengths, 5, 3) for system in (arc_hybrid(), reverse)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_scores_that_are_normalized_are_log_probabilities_of_what_is_legal() -> None:
    """1 ← 2: a choice of three transitions, when 1 is on the stack; all else is forced, whatever its scores."""
    scorer = table_scorer(arc_hybrid(), {"la": np.full((4, 4), 2.0), "shift": np.full((4, 4), 1.0)})
    found = beam_search(arc_hybrid(), scorer, jnp.array(2), 2, 4, normalize=True)
    assert found.heads.tolist() == [2, 0]
    np.testing.assert_allclose(found.scores, 2 - np.log(np.exp(2) + np.exp(1) + 1), rtol=1e-5)


@each_system
def test_wider_beams_find_higher_scores_on_average(system: TransitionSystem) -> None:
    means = [np.mean([parse(system, width, seed).scores for seed in range(4)]) for width in (1, 4)]
    assert means[0] < means[1]


@cache
def runs(name: str, c: Plain) -> frozenset[tuple[tuple[Use, ...], tuple[int, ...]]]:
    """All runs by their uses of scores, arcs apart, with their trees."""
    if is_final(c):
        return frozenset({((), c.heads)})
    none = len(c.heads) + 1
    s1, s0, b0 = (*[none] * 2, *c.stack)[-2], (none, *c.stack)[-1], (*c.buffer, none)[0]
    return frozenset(
        ((((move, (s0, b0)), (f"{move}:s1", (s1, s0)), (f"{move}:full", (s1, s0, b0)), *uses)), heads)
        for move, after in following(name, c).items()
        for uses, heads in runs(name, after)
    )


def run_score(tables: Tables, uses: tuple[Use, ...], heads: tuple[int, ...]) -> float:
    arcs = [("arc", (head, word)) for word, head in enumerate(heads, start=1)]
    return float(sum(tables[name][nodes] for name, nodes in (*uses, *arcs) if name in tables))


CHARTS: dict[str, tuple[DeductionSystem, int]] = {
    "arc_standard": (sd.charts.arc_standard(transitions=True), 4),
    "arc_hybrid": (sd.charts.arc_hybrid(transitions=True), 4),
    "arc_eager": (sd.charts.arc_eager(transitions=True), 4),
    "mh4": (sd.charts.mhk(4, transitions=True), 3),
}
"""The chart of a system, and up to how many words it has all runs of the system."""


@each_system
def test_a_beam_wide_enough_finds_the_best_run_which_is_the_best_of_the_chart(system: TransitionSystem) -> None:
    lengths = np.array([4, 3, 3, 2, 1])
    chart, agree = CHARTS.get(system.name, (None, 0))
    tables = some_tables(system, 4, (5,), ends=("", ":s1", ":full"))
    tables = {name: table for name, table in tables.items() if not chart or name in chart.declared}
    tables["arc"] = np.random.default_rng(1).normal(size=(5, 5, 5)).astype(np.float32)
    found = search(system, tables, lengths, 4, RUNS.get(system.name, 67))
    for row, words in enumerate(lengths.tolist()):
        own = {name: table[row] for name, table in tables.items()}
        every = runs(system.name, first(system.name, words))
        score, heads = max((run_score(own, uses, heads), heads) for uses, heads in every)
        assert float(found.scores[row]) == pytest.approx(score, rel=1e-5)
        assert tuple(found.heads[row, :words].tolist()) == heads
        if chart and words <= agree:
            assert score == pytest.approx(value(chart, words, own, MAX), rel=1e-5)


def test_mh4_finds_what_its_chart_finds_up_to_the_trees_of_the_chart() -> None:
    chart, words, outside = sd.charts.mhk(4), 4, (3, 0, 0, 1)
    of_chart = set(derivations(chart, words))
    assert trees("mh4", first("mh4", words)) - of_chart == {outside}
    for bonus in (0.0, 9.0):
        arcs = np.random.default_rng(0).normal(size=(words + 1, words + 1)).astype(np.float32)
        arcs[outside, np.arange(1, 5)] += bonus
        found = search(mh4(), {"arc": arcs}, words, words, RUNS["mh4"])
        gap = float(found.scores) - value(chart, words, arcs, MAX)
        in_class = tuple(found.heads.tolist()) in of_chart
        assert in_class == (not bonus) and (abs(gap) < 1e-5 if in_class else gap > 0)


def test_the_tree_of_five_words_beyond_the_chart() -> None:
    heads = np.array([3, 0, 5, 2, 4])
    arcs = np.zeros((6, 6), np.float32)
    arcs[heads, np.arange(1, 6)] = 1
    assert search(mh4(), {"arc": arcs}, 5, 5, 64).heads.tolist() == heads.tolist()
    assert value(sd.charts.mhk(4), 5, arcs, MAX) == 4


@pytest.mark.parametrize(
    ("system", "width"), [(arc_hybrid(swap=True), 0), (arc_hybrid(swap=True), 3), (arc_eager(), 3)]
)
def test_results_do_not_depend_on_padding_and_batch(system: TransitionSystem, width: int) -> None:
    lengths = np.array([[3, 5], [0, 4]])
    tables = some_tables(system, 9, (2, 2))
    roomy = search(system, tables, lengths, 9, width)
    tight = {name: table.reshape(4, 11, 11)[::-1, :7, :7] for name, table in tables.items()}
    for here, there in zip(roomy, search(system, tight, lengths.ravel()[::-1], 5, width), strict=True):
        here = here[..., :5] if here.ndim == 3 else here
        np.testing.assert_array_equal(here.reshape(there.shape), there[::-1])


def test_forbidden_transitions_are_avoided_where_they_can_be() -> None:
    arcs = np.full((5, 5), -np.inf, np.float32)
    arcs[[0, 1, 2, 3], [1, 2, 3, 4]] = -1
    found = search(arc_eager(), {"arc": arcs}, 4, 4, 67)
    assert found.heads.tolist() == [0, 1, 2, 3] and found.scores == -4


def test_scorers_are_functions_of_features_or_pytrees() -> None:
    system, states = arc_hybrid(), jax.random.normal(jax.random.key(0), (3, 8, 5))
    weights = jax.random.normal(jax.random.key(1), (15, 3))

    def score(weights: jax.Array, states: jax.Array, features: Features) -> jax.Array:
        return vectors(states, features, ("s1", "s0", "b0")) @ weights

    lengths = jnp.array([6, 2, 5])
    partial = jax.tree_util.Partial(score, weights, states)  # type: ignore[no-untyped-call]
    pytree = beam_search(system, partial, lengths, 6, 2)
    function = beam_search(system, lambda features: score(weights, states, features), lengths, 6, 2)
    traced = jax.jit(lambda w: beam_search(system, lambda f: score(w, states, f), lengths, 6, 2))(weights)
    for other in (function, traced):
        jax.tree.map(np.testing.assert_array_equal, pytree, other)
    assert is_tree(pytree.heads, lengths).all()


def test_one_system_compiles_once() -> None:
    traces = []

    def score(weights: jax.Array, features: Features) -> jax.Array:
        traces.append(features)
        return jnp.broadcast_to(weights, (*features.s0.shape, 3))

    for weight in (0.0, 1.0):
        scorer = jax.tree_util.Partial(score, jnp.full(3, weight))  # type: ignore[no-untyped-call]
        greedy(arc_hybrid(), scorer, jnp.array([4, 3]), 4)
    assert len(traces) == 1


def test_systems_are_equal_by_value() -> None:
    assert arc_hybrid() == arc_hybrid() and hash(mh4()) == hash(mh4()) and arc_hybrid() != arc_hybrid(swap=True)
    assert len({system.name for system in SYSTEMS}) == len(set(SYSTEMS)) == 6


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("σ s0 b0 β ⊢ σ | b0 β", "not of the form"),
        ("σ s1 | b0 β ⊢ σ | b0 β", "before ⊢ stand"),
        ("σ | b1 β ⊢ σ | b1 β", "before ⊢ stand"),
        ("σ s0 | b0 β ⊢ σ s0 s0 | b0 β", "s0 is there twice"),
        ("σ s0 | b0 β ⊢ σ s1 | b0 β", "s1 comes from nowhere"),
        ("σ s0 | b0 β ⊢ σ | b0 β, s1 → s0", "s1 comes from nowhere"),
        ("σ s0 | b0 β ⊢ σ | b0 β, s0 → s0", "s0 is its own head"),
    ],
)
def test_rules_that_are_none_are_refused(rule: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"transition t: {message}.*in the rule  σ"):
        Transition("t", rule)


def test_a_system_of_ones_own_that_gets_stuck_ends_all_the_same() -> None:
    """Without shift no word leaves the buffer, and without arcs to the right the last one stays on the stack."""
    shift, left = Transition("shift", "σ | b0 β ⊢ σ b0 | β"), Transition("left", "σ s1 s0 | β ⊢ σ s0 | β, s0 → s1")
    for transitions, heads in (((left,), [-1, -1, 0]), ((shift, left), [2, -1, 0])):
        system = TransitionSystem("stuck", transitions)
        scorer = table_scorer(system, {"left": jnp.ones((5, 5))})
        for found in (greedy(system, scorer, 2, 3), beam_search(system, scorer, 2, 3, 2)):
            assert found.heads.tolist() == heads
    rules = Transition("la", "σ s0 | b0 β ⊢ σ | b0 β, b0 → s0"), Transition("shift", "σ | b0 β ⊢ σ b0 | β")
    system = TransitionSystem("no root", rules)

    def scorer_of_ones(features: Features) -> jax.Array:
        return jnp.ones((*features.s0.shape, 2))

    turns = Transition("shift", "σ | b0 β ⊢ σ b0 | β"), Transition("back", "σ s0 | β ⊢ σ | s0 β")
    for found in (
        greedy(TransitionSystem("turns", turns), scorer_of_ones, 2, 2),
        beam_search(TransitionSystem("turns", turns), scorer_of_ones, 2, 2, 2),
    ):
        assert found.heads.tolist() == [-1, -1]
    lengths = jnp.array([3, 1])
    once = greedy(system, scorer_of_ones, lengths, 3)
    assert once.heads.tolist() == [[2, 3, -1], [-1, 0, 0]] and once.steps.tolist() == [5, 1] == once.scores.tolist()
    for width in (1, 4):
        found = beam_search(system, scorer_of_ones, lengths, 3, width)
        assert jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), found, once))


def test_the_boundary() -> None:
    system = arc_standard()
    scorer = table_scorer(system, {"shift": np.zeros((2, 5, 5), np.float32)})
    with pytest.raises(ValueError, match="lengths go from 1 to 4, but there is room for 0 to 3"):
        greedy(system, scorer, np.array([1, 4]), 3)
    with pytest.raises(TypeError, match="lengths must be integers"):
        beam_search(system, scorer, np.array([1.0, 3.0]), 3, 2)
    with pytest.raises(ValueError, match="width >= 1, not 0"):
        beam_search(system, scorer, np.array([1, 3]), 3, 0)
    with pytest.raises(ValueError, match=r"scores \(2, 7\) for features \(2,\), expected \(2, 3\): .* shift, la, ra"):
        greedy(system, lambda features: jnp.zeros((*features.s0.shape, 7)), np.array([1, 3]), 3)
    with pytest.raises(TypeError, match="scores of transitions must be floating point, not int32"):
        greedy(system, lambda features: jnp.zeros((*features.s0.shape, 3), jnp.int32), np.array([1, 3]), 3)
    with pytest.raises(ValueError, match="twice has several transitions of one name: shift, shift"):
        TransitionSystem("twice", system.transitions[:1] * 2)
    with pytest.raises(ValueError, match=r"arc_standard has no scores \['swap'\]"):
        table_scorer(system, {"swap": np.zeros((5, 5))})
    with pytest.raises(ValueError, match=r"'la' have shape \(2, 5, 4\), expected \[\*batch, n\+2, n\+2\]"):
        table_scorer(system, {"la": np.zeros((2, 5, 4))})
    with pytest.raises(ValueError, match="do not fit"):
        table_scorer(system, {"la": np.zeros((5, 5)), "arc": np.zeros((5, 5))})
    with pytest.raises(ValueError, match=r"'shift' are of a batch \(2,\) of up to 3 words, but .* \(3,\), and words=3"):
        greedy(system, scorer, np.array([1, 3, 2]), 3)
    with pytest.raises(ValueError, match=r"of up to 3 words, but lengths are of a batch \(2,\), and words=4"):
        beam_search(system, scorer, np.array([1, 3]), 4, 2)
    with pytest.raises(TypeError, match="DeductionSystem is no transition system: give one of structdep"):
        greedy(sd.charts.eisner(), scorer, np.array([1, 3]), 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the scorer is of arc_standard, the runs of arc_hybrid: give both one system"):
        greedy(arc_hybrid(), scorer, np.array([1, 3]), 3)


def test_the_boundary_of_oracles() -> None:
    oracle, key = dynamic_oracle(arc_hybrid()), jax.random.key(0)
    gold = oracle.gold([2, 0, 2, 3])
    with pytest.raises(ValueError, match=r"of up to 3 words, but lengths are of a batch \(\), and words=4"):
        explore(oracle, table_scorer(arc_hybrid(), jnp.zeros((4, 4))), gold, key, 8)
    with pytest.raises(ValueError, match="steps is -1: write 0 or more"):
        explore(oracle, table_scorer(arc_hybrid(), jnp.zeros((5, 5))), gold, key, -1)
    with pytest.raises(TypeError, match="DeductionSystem is no transition system"):
        static_oracle(sd.charts.arc_hybrid())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"heads are one number, 3: expected \[\*batch, n\]"):
        oracle.gold(3)
    with pytest.raises(ValueError, match="tables hold NaN or \\+inf"):
        best_sequences(arc_hybrid(), [2, 0, 2], tables={"ra": np.full((5, 5), np.nan, np.float32)})
    arcs = np.zeros((4, 4), np.float32)
    found, same = (best_sequences(arc_hybrid(), [2, 0, 2], tables=tables) for tables in (arcs, {"arc": arcs}))
    assert np.array_equal(found.transitions, same.transitions)
    with pytest.raises(ValueError, match=r"scores have shape \(6, 4\), expected that of `legal`, \(6, 3\)"):
        losses.nll(jnp.zeros((6, 4)), found)
    with pytest.raises(TypeError, match="scores of transitions must be floating point, not int32"):
        losses.hinge(jnp.zeros((6, 3), int), found)


def test_no_words_and_no_sentences() -> None:
    for system in SYSTEMS:
        scorer = table_scorer(system, some_tables(system, 1, (0,)))
        assert greedy(system, scorer, np.zeros(0, np.int32), 1).heads.shape == (0, 1)
        assert beam_search(system, scorer, np.zeros(0, np.int32), 1, 3).heads.shape == (0, 1)
        assert start(system, np.zeros(3, np.int32), 2).is_final.all()

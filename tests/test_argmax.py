"""Decoding gives exactly one tree of the class, with the best score there is: ties, masks and narrow types included."""

import math
from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import (
    LENGTHS,
    N,
    Tables,
    each_chart,
    each_system,
    each_with_another_for_its_best,
    sentences,
    some_tables,
)
from numpy.typing import ArrayLike, NDArray
from test_values import Bottleneck, MinPlus

import structdep as sd
from structdep.charts import arc_eager, arc_hybrid, arc_standard, eisner, mhk
from structdep.deduction import DeductionSystem, Item, arc, indices, n
from structdep.testing import derivation_scores, derivations
from structdep.trees import all_trees, is_projective

pytestmark = pytest.mark.usefixtures("engine")

Heads = tuple[int, ...]


def assert_best(system: DeductionSystem, tables: Tables, found: ArrayLike) -> None:
    """Each sentence has a best tree of the class, or -1 if it has none; 0 in padding."""
    heads = np.asarray(found)
    assert heads.shape == (len(LENGTHS), N) and heads.dtype == np.int32
    for row, (length, scores) in enumerate(sentences(tables)):
        assert not heads[row, length:].any()
        best = best_scores(system, length, scores)
        top = max(best.values(), default=-math.inf)
        if top == -math.inf:
            assert heads[row, :length].tolist() == [-1] * length
        else:
            assert math.isclose(best[tuple(heads[row, :length].tolist())], top, abs_tol=1e-4)


def best_scores(system: DeductionSystem, length: int, scores: Tables) -> dict[Heads, float]:
    """The best score of each tree of the class."""
    best: dict[Heads, float] = {}
    for _, heads, score in derivation_scores(system, length, scores):
        best[heads] = max(score, best.get(heads, -math.inf))
    return best


@each_system
def test_argmax_is_the_best_tree(system: DeductionSystem) -> None:
    tables = some_tables(system, seed=11)
    assert_best(system, tables, sd.argmax(system, tables, LENGTHS))


@each_with_another_for_its_best
def test_a_system_and_that_which_finds_its_best_tree_agree(system: DeductionSystem) -> None:
    own, tables = replace(system, for_best=None), {"arc": some_tables(system, seed=11)["arc"]}
    assert np.allclose(sd.inside(own, tables, LENGTHS), sd.inside(system, tables, LENGTHS), atol=1e-5)
    assert_best(own, tables, sd.argmax(own, tables, LENGTHS))


@each_system
def test_ties_give_one_tree_always_the_same(system: DeductionSystem) -> None:
    tables = {name: np.zeros_like(table) for name, table in some_tables(system).items()}
    heads = sd.argmax(system, tables, LENGTHS)
    assert_best(system, tables, heads)
    assert jnp.array_equal(heads, sd.argmax(system, tables, LENGTHS))
    mirrored = sd.argmax(system, {name: table[::-1] for name, table in tables.items()}, LENGTHS[::-1])
    assert jnp.array_equal(heads, mirrored[::-1])


@each_system
def test_few_distinct_scores_in_bfloat16(system: DeductionSystem) -> None:
    rng = np.random.default_rng(12)
    halves = {name: rng.integers(-1, 2, table.shape) / 2 for name, table in some_tables(system).items()}
    tables = {name: table.astype(np.float32) for name, table in halves.items()}
    narrow = {name: jnp.asarray(table, jnp.bfloat16) for name, table in tables.items()}
    assert_best(system, tables, sd.argmax(system, narrow, LENGTHS))


@each_system
@pytest.mark.parametrize("forbidden", [0.3, 0.6])
def test_masked_scores(system: DeductionSystem, forbidden: float) -> None:
    tables = some_tables(system, seed=13)
    masked = np.random.default_rng(14).random(tables["arc"].shape) < forbidden
    tables["arc"] = np.where(masked, -np.inf, np.round(tables["arc"]))
    assert_best(system, tables, sd.argmax(system, tables, LENGTHS))


@pytest.mark.slow
@each_chart
def test_many_tied_and_masked_scores(system: DeductionSystem) -> None:
    for seed in range(100):
        rng = np.random.default_rng(seed)
        scores = rng.integers(-1, 2, (len(LENGTHS), N + 1, N + 1)).astype(np.float32)
        scores[rng.random(scores.shape) < seed / 150] = -np.inf
        assert_best(system, {"arc": scores}, sd.argmax(system, scores, LENGTHS))


@each_chart
def test_the_gradient_of_the_value_is_the_argmax(system: DeductionSystem) -> None:
    scores = some_tables(system, seed=15)["arc"]
    uses = jax.grad(lambda s: sd.inside(system, s, LENGTHS).sum())(jnp.round(scores))
    has_tree = np.isfinite(np.asarray(sd.inside(system, scores, LENGTHS)))
    heads = np.asarray(sd.argmax(system, np.round(scores), LENGTHS))
    assert np.array_equal(np.argmax(uses[..., 1:], axis=-2)[has_tree], heads[has_tree])


TIES = {eisner(): [0, 1, 2, 3], arc_hybrid(): [0, 1, 2, 3], arc_eager(): [0, 1, 2, 3], mhk(3): [0, 1, 2, 3]}


@pytest.mark.parametrize("system", TIES, ids=lambda system: system.name)
def test_among_ties_the_first_rule_then_the_leftmost_split_wins(system: DeductionSystem) -> None:
    scores = np.zeros((len(LENGTHS), N + 1, N + 1), np.float32)
    heads = np.asarray(sd.argmax(system, scores, LENGTHS))
    for row, length in enumerate(LENGTHS):
        assert heads[row].tolist() == TIES[system][:length] + [0] * (N - length)


def test_cost_augmented_decoding_gives_the_tree_that_the_hinge_loss_pushes_down() -> None:
    scores, gold = some_tables(eisner(), seed=16)["arc"], np.zeros((len(LENGTHS), N), np.int32)
    semiring = sd.CostAugmented(jnp.asarray(gold), 2.0)
    heads = sd.argmax(eisner(), scores, LENGTHS, semiring)
    augmented = scores + 2 * (np.arange(N + 1) > 0)[:, None]
    assert_best(eisner(), {"arc": augmented}, heads)


Summary = Callable[[list[float]], float]


@pytest.mark.parametrize(
    ("kind", "of_arcs", "of_trees"), [(MinPlus, sum, min), (Bottleneck, min, max)], ids=["MinPlus", "Bottleneck"]
)
def test_decoding_in_a_semiring_of_ones_own(kind: type[sd.Semiring], of_arcs: Summary, of_trees: Summary) -> None:
    scores = some_tables(arc_hybrid(), seed=17)["arc"]
    heads = np.asarray(sd.argmax(arc_hybrid(), scores, LENGTHS, kind))
    for row, length in enumerate(LENGTHS.tolist()):
        values = (
            {tree: of_arcs(list(arcs(scores[row], tree))) for tree in derivations(arc_hybrid(), length)}
            if length
            else {}
        )
        if values:
            assert math.isclose(
                values[tuple(heads[row, :length].tolist())], of_trees(list(values.values())), abs_tol=1e-5
            )


def arcs(scores: NDArray[np.float32], heads: Heads) -> list[float]:
    return [float(scores[head, word]) for word, head in enumerate(heads, start=1)]


@each_chart
def test_nearest_tree_has_the_most_heads_in_common(system: DeductionSystem) -> None:
    trees = all_trees(N)
    members = np.array(sorted(derivations(system, N)))
    most = (trees[:, None] == members).sum(-1).max(-1)
    batch = len(LENGTHS)
    for start in range(0, len(trees), batch):
        rows = np.arange(start, start + batch) % len(trees)
        near = np.asarray(sd.nearest_tree(system, trees[rows], np.full(batch, N)))
        assert set(map(tuple, near.tolist())) <= set(map(tuple, members.tolist()))
        assert np.array_equal((near == trees[rows]).sum(-1), most[rows])


def test_a_tree_of_the_class_is_its_own_nearest_tree_in_padded_batches() -> None:
    heads = np.array([[2, 0, 2, 3], [0, 1, 1, 9], [2, 0, 5, 7], [0, 9, 9, 9], [3, 2, 1, 0], [4, 1, 2, 0]])
    is_word = np.arange(N) < LENGTHS[:, None]
    assert is_projective(heads, LENGTHS).all()
    for system in (eisner(), arc_hybrid(), arc_eager(), arc_standard()):
        assert np.array_equal(sd.nearest_tree(system, heads, LENGTHS), np.where(is_word, heads, 0))


@each_chart
def test_the_best_tree_with_a_single_root(system: DeductionSystem) -> None:
    """Also beside scores by which arcs are masked, for which all others are but rounding."""
    scores = some_tables(system, seed=18)["arc"]
    scores[:, 0] += 3
    scores[:, 1, 2] = -1e9
    scores[3, 0, 1] = -np.inf
    found = np.asarray(sd.argmax(system, scores, LENGTHS, single_root=True))
    assert found[3].tolist() == [-1, 0, 0, 0]
    for row in (0, 1, 2, 5):
        members = np.array([heads for heads in derivations(system, int(LENGTHS[row])) if heads.count(0) == 1])
        totals = scores[row][members, np.arange(1, LENGTHS[row] + 1)].sum(-1)
        assert found[row, : LENGTHS[row]].tolist() == members[totals.argmax()].tolist()


def test_a_cost_does_not_buy_a_second_root() -> None:
    forbidden = np.zeros((3, 3), bool)
    forbidden[1, 2] = True
    semiring, constraints = sd.CostAugmented(np.array([2, 0]), 10.0), sd.Constraints(forbidden=forbidden)
    heads = sd.argmax(eisner(), np.zeros((3, 3), np.float32), None, semiring, constraints, single_root=True)
    assert heads.tolist() == [2, 0]


def test_a_single_root_is_for_max_plus() -> None:
    with pytest.raises(ValueError, match="single_root needs MaxPlus or CostAugmented, not MinPlus"):
        sd.argmax(eisner(), np.zeros((3, 3), np.float32), None, MinPlus, single_root=True)


def test_items_that_axioms_alone_make_end_a_traceback() -> None:
    i, k, j = indices("i k j")
    I, C, W = Item("I"), Item("C"), Item("W")
    flat, chunk = C[i, k] * W[k, j] * arc[i, k] >> C[i, j], I[i, k] * C[k, j] * arc[i, k] >> I[i, j]
    axioms = (I[i, i + 1], C[i, i + 1], W[i, i + 1])
    chunks = DeductionSystem("chunks", axioms, (flat, chunk), I[0, n + 1], unambiguous=True)
    scores = jnp.asarray(np.random.default_rng(0).normal(size=(3, 5, 5)), jnp.float32)
    best = sd.TreeDistribution(chunks, scores).k_best(8)
    assert len(np.unique(best.heads[:, 0], axis=0)) == 8
    np.testing.assert_allclose(best.scores[0], sd.inside(chunks, scores), rtol=1e-5)
    assert (sd.argmax(chunks, scores) == best.heads[0]).all()

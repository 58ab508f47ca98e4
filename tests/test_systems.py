"""The declared rules, by a reference interpreter: which trees they derive, how often, and what is refused."""

import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from structdep.charts import (
    arc_eager,
    arc_eager_trees,
    arc_hybrid,
    arc_hybrid_trees,
    arc_standard,
    arc_standard_trees,
    crossing_sensitive,
    eisner,
    mh4_trees,
    mhk,
    one_endpoint_crossing,
)
from structdep.deduction import DeductionSystem, Item, arc, indices, n
from structdep.testing import LOG, MAX, Values, derivation_scores, derivations, evaluate, expected_counts, value
from structdep.trees import all_trees, check_trees, is_one_endpoint_crossing, is_projective

SIZES = range(1, 6)
PROJECTIVE, SINGLE_ROOT = (1, 3, 12, 55, 273), (1, 2, 7, 30, 143)
BY_TRANSITIONS = (1, 3, 13, 67, 381)
MH4_TREES, MH4_DERIVATIONS = (1, 3, 16, 118, 1019), (1, 11, 165, 2907, 55925)
ONE_EC = (1, 3, 16, 125, 1104)
MH5_TREES, MH5_DERIVATIONS = (1, 3, 16, 125, 1276), (1, 11, 345, 13311, 559997)


class Declared(NamedTuple):
    """A system, its complexity, and how many trees and derivations it has for 1 to 5 words."""

    system: DeductionSystem
    complexity: tuple[int, int]
    trees: tuple[int, ...]
    derivations: tuple[int, ...]


SYSTEMS = (
    Declared(eisner(), (3, 2), PROJECTIVE, PROJECTIVE),
    Declared(eisner(single_root=True), (3, 2), SINGLE_ROOT, SINGLE_ROOT),
    Declared(eisner(siblings=True), (3, 2), PROJECTIVE, PROJECTIVE),
    Declared(eisner(single_root=True, siblings=True), (3, 2), SINGLE_ROOT, SINGLE_ROOT),
    Declared(eisner(grandparents=True), (4, 3), PROJECTIVE, PROJECTIVE),
    Declared(eisner(single_root=True, grandparents=True), (4, 3), SINGLE_ROOT, SINGLE_ROOT),
    Declared(eisner(siblings=True, grandparents=True), (4, 3), PROJECTIVE, PROJECTIVE),
    Declared(eisner(single_root=True, siblings=True, grandparents=True), (4, 3), SINGLE_ROOT, SINGLE_ROOT),
    Declared(arc_hybrid(), (3, 2), PROJECTIVE, BY_TRANSITIONS),
    Declared(arc_hybrid(transitions=True), (3, 2), PROJECTIVE, BY_TRANSITIONS),
    Declared(arc_eager(), (3, 2), PROJECTIVE, BY_TRANSITIONS),
    Declared(arc_eager(transitions=True), (3, 2), PROJECTIVE, BY_TRANSITIONS),
    Declared(arc_standard(), (4, 3), PROJECTIVE, BY_TRANSITIONS),
    Declared(arc_standard(transitions=True), (4, 3), PROJECTIVE, BY_TRANSITIONS),
    Declared(mhk(3), (3, 2), PROJECTIVE, BY_TRANSITIONS),
    Declared(mhk(3, transitions=True), (3, 2), PROJECTIVE, BY_TRANSITIONS),
    Declared(mhk(4), (4, 3), MH4_TREES, MH4_DERIVATIONS),
    Declared(mhk(4, transitions=True), (4, 3), MH4_TREES, MH4_DERIVATIONS),
    Declared(mhk(5), (5, 4), MH5_TREES, MH5_DERIVATIONS),
    Declared(arc_hybrid_trees(), (3, 2), PROJECTIVE, PROJECTIVE),
    Declared(arc_hybrid_trees(transitions=True), (3, 2), PROJECTIVE, PROJECTIVE),
    Declared(arc_eager_trees(), (3, 2), PROJECTIVE, PROJECTIVE),
    Declared(arc_eager_trees(transitions=True), (3, 2), PROJECTIVE, PROJECTIVE),
    Declared(arc_standard_trees(), (4, 3), PROJECTIVE, PROJECTIVE),
    Declared(arc_standard_trees(transitions=True), (4, 3), PROJECTIVE, PROJECTIVE),
    Declared(one_endpoint_crossing(), (4, 3), ONE_EC, ONE_EC),
    Declared(crossing_sensitive(), (4, 3), ONE_EC, ONE_EC),
    Declared(mh4_trees(), (4, 3), MH4_TREES, MH4_TREES),
    Declared(mh4_trees(transitions=True), (4, 3), MH4_TREES, MH4_TREES),
)
each_system = pytest.mark.parametrize("declared", SYSTEMS, ids=[declared.system.name for declared in SYSTEMS])


@each_system
def test_numbers_of_trees_and_derivations(declared: Declared) -> None:
    found = [derivations(declared.system, size) for size in SIZES]
    assert tuple(map(len, found)) == declared.trees
    assert tuple(trees.total() for trees in found) == declared.derivations
    assert declared.system.unambiguous == all(trees.total() == len(trees) for trees in found)
    for trees in found:
        check_trees(list(trees))


@each_system
def test_the_class_of_trees(declared: Declared) -> None:
    for size in SIZES:
        found, everything = set(derivations(declared.system, size)), all_trees(size)
        projective = set(map(tuple, everything[is_projective(everything)].tolist()))
        if declared.trees == SINGLE_ROOT:
            assert found == {heads for heads in projective if heads.count(0) == 1}
        elif declared.trees == PROJECTIVE:
            assert found == projective
        else:
            assert projective <= found <= set(map(tuple, everything.tolist()))


@each_system
def test_complexity(declared: Declared) -> None:
    time, space = declared.complexity
    assert declared.system.complexity == declared.complexity
    assert str(declared.system).startswith(f"{declared.system.name}: time O(n^{time}), space O(n^{space}), ")


def test_trees_of_mh4() -> None:
    trees = [np.array(sorted(derivations(mhk(4), size))) for size in SIZES]
    assert [int(((heads == 0).sum(-1) == 1).sum()) for heads in trees] == [1, 2, 9, 60, 485]
    assert [int(is_one_endpoint_crossing(heads).sum()) for heads in trees] == [1, 3, 16, 118, 949]
    assert set(derivations(mhk(4), 5)) < set(derivations(mhk(5), 5))
    assert (3, 0, 5, 2, 4) not in derivations(mhk(4), 5)  # though the transition system builds it
    assert [sum(t.count(0) == 1 for t in derivations(mhk(5), size)) for size in SIZES] == [1, 2, 9, 64, 613]


@pytest.mark.parametrize("transitions", [False, True])
def test_mh4_trees_derives_the_trees_of_mh4(transitions: bool) -> None:
    for size in SIZES:
        assert derivations(mh4_trees(transitions), size).keys() == derivations(mhk(4), size).keys()


@pytest.mark.parametrize("once", [mh4_trees, arc_hybrid_trees, arc_eager_trees, arc_standard_trees])
def test_counts_of_longer_sentences(once: Callable[[], DeductionSystem]) -> None:
    """To eight words: 920,236 trees of MH_4, as published; projective trees are C(3n, n) / (2n + 1)."""
    count = Values(0, 1, lambda a, b: a + b, lambda a, b: a * b)
    projective = [math.comb(3 * size, size) // (2 * size + 1) for size in range(1, 9)]
    expected = [*MH4_TREES, 9496, 92242, 920236] if once is mh4_trees else projective
    assert [evaluate(once(), size, count, lambda _: 1) for size in range(1, 9)] == expected


@pytest.mark.parametrize(
    ("once", "published"),
    [
        (mh4_trees, partial(mhk, 4)),
        (arc_hybrid_trees, arc_hybrid),
        (arc_eager_trees, arc_eager),
        (arc_standard_trees, arc_standard),
    ],
    ids=["mh4", "arc_hybrid", "arc_eager", "arc_standard"],
)
def test_each_tree_has_one_of_the_published_transition_sequences(
    once: Callable[..., DeductionSystem], published: Callable[..., DeductionSystem]
) -> None:
    for size in range(1, 5):
        every = {(heads, uses) for uses, heads, _ in derivation_scores(published(transitions=True), size, {})}
        chosen = [(heads, uses) for uses, heads, _ in derivation_scores(once(transitions=True), size, {})]
        assert set(chosen) <= every
        assert len(chosen) == len({heads for heads, _ in every})


def test_systems_that_split_items_by_states_leave_best_trees_to_the_system_without_states() -> None:
    for system in (declared.system for declared in SYSTEMS):
        assert (system.for_best is not None) == ("_trees" in system.name)
        assert system.for_best is None or len(system.for_best.rules) < len(system.rules)


def test_systems_that_name_one_class_have_the_same_trees() -> None:
    for name in {declared.system.trees for declared in SYSTEMS} - {""}:
        same = [declared.system for declared in SYSTEMS if declared.system.trees == name]
        assert len({frozenset(derivations(system, 4)) for system in same}) == 1
        assert any(system.unambiguous for system in same) or name == "MH_5"


def some_scores(system: DeductionSystem, size: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(size)
    return {name: rng.normal(size=(size + 1 + s.sentinel,) * arity) for name, (s, arity) in system.declared.items()}


@each_system
def test_values_sum_up_the_derivations(declared: Declared) -> None:
    scores = some_scores(declared.system, 3)
    listed = [score for *_, score in derivation_scores(declared.system, 3, scores)]
    assert len(listed) == declared.derivations[2]
    assert math.isclose(value(declared.system, 3, scores, MAX), max(listed))
    assert math.isclose(value(declared.system, 3, scores, LOG), np.logaddexp.reduce(listed))


@each_system
def test_expected_counts_are_the_derivative_of_the_log_sum(declared: Declared) -> None:
    scores = some_scores(declared.system, 2)
    expected = expected_counts(declared.system, 2, scores)
    assert np.allclose(expected["arc"].sum(0), [0, 1, 1])
    step = 1e-5
    for name, table in scores.items():
        index = np.unravel_index(np.argmax(expected[name]), table.shape)
        higher, lower = table.copy(), table.copy()
        higher[index] += step
        lower[index] -= step
        values = [value(declared.system, 2, {**scores, name: changed}, LOG) for changed in (higher, lower)]
        assert math.isclose(expected[name][index], (values[0] - values[1]) / (2 * step), abs_tol=1e-8)


def test_values_are_those_of_trees() -> None:
    scores = np.random.default_rng(0).normal(size=(5, 5))
    scores[2, 3] = -math.inf
    trees = all_trees(4)
    projective = trees[is_projective(trees)]
    totals = scores[projective, np.arange(1, 5)].sum(-1)
    assert math.isclose(value(eisner(), 4, scores, LOG), np.logaddexp.reduce(totals))
    for system in (eisner(), arc_hybrid(), arc_eager(), arc_standard(), mhk(3)):
        assert math.isclose(value(system, 4, scores, MAX), totals.max())
    heads = {score: heads for _, heads, score in derivation_scores(eisner(), 4, scores)}
    assert heads[max(heads)] == tuple(projective[totals.argmax()])
    assert expected_counts(eisner(), 4, scores)["arc"][2, 3] == 0


def test_no_tree_has_value_minus_infinity_and_no_expected_counts() -> None:
    forbidden = np.full((3, 3), -math.inf)
    assert value(eisner(), 2, forbidden, MAX) == value(mhk(4), 2, forbidden, LOG) == -math.inf
    assert not expected_counts(arc_hybrid(), 2, forbidden)["arc"].any()


@each_system
def test_systems_are_equal_by_value(declared: Declared) -> None:
    system = declared.system
    again = replace(system)
    assert again == system and hash(again) == hash(system) and again is not system
    loaded = pickle.loads(pickle.dumps(system))
    assert loaded == system and loaded in {system}
    assert b"_hash" not in pickle.dumps(system)  # which another process computes otherwise
    assert sum(system == other.system for other in SYSTEMS) == 1


def test_a_derivation_that_is_no_tree_is_reported() -> None:
    i, j, k = indices("i j k")
    I, J = Item("I"), Item("J")
    rules = (I[i, k] * I[k, j] >> I[i, j], I[i, j] * arc[i, j] >> J[i, j])
    headless = DeductionSystem("mine", (I[i, i + 1],), rules, goal=J[0, n])
    with pytest.raises(ValueError, match="does not give each of 2 words one head: its arcs are 0 -> 2"):
        derivations(headless, 2)

"""Projective trees with scores of siblings and grandparents: the parts of each tree by their definition."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import structdep as sd
from structdep.testing import Use, derivation_scores
from structdep.trees import all_trees, is_projective

ORDERS = [(True, False), (False, True), (True, True)]
each_order = pytest.mark.parametrize("siblings, grandparents", ORDERS)
each_root = pytest.mark.parametrize("single_root", [False, True])
WORDS = 5
Tables = dict[str, NDArray[np.float32]]


def parts(heads: tuple[int, ...], siblings: bool, grandparents: bool) -> list[Use]:
    """The scores that a tree uses, sorted, by their definition."""
    head_of = dict(enumerate(heads, 1))
    found: list[Use] = []
    for m, h in head_of.items():
        found.append(("arc", (h, m)))
        between = [s for s, head in head_of.items() if head == h and min(h, m) < s < max(h, m)]
        if siblings:
            found.append(("sibling", (h, m, min(between, key=lambda s: abs(s - m), default=h))))
        if grandparents:
            found.append(("grandparent", (head_of.get(h, 0), h, m)))
    return sorted(found)


def members(length: int, single_root: bool) -> list[tuple[int, ...]]:
    trees = all_trees(length, single_root)
    return sorted(tuple(heads) for heads in trees[is_projective(trees)].tolist())


@each_order
@each_root
@pytest.mark.parametrize("length", range(1, WORDS))
def test_each_tree_is_derived_once_from_its_parts(
    length: int, single_root: bool, siblings: bool, grandparents: bool
) -> None:
    system = sd.charts.eisner(single_root, siblings, grandparents)
    found = [(heads, list(used)) for used, heads, _ in derivation_scores(system, length, {})]
    assert sorted(found) == [(heads, parts(heads, siblings, grandparents)) for heads in members(length, single_root)]


@each_order
@each_root
def test_scores_by_name_select_the_system(single_root: bool, siblings: bool, grandparents: bool) -> None:
    rng = np.random.default_rng(0)
    names = ["arc", *["sibling"] * siblings, *["grandparent"] * grandparents]
    scores = {name: rng.normal(size=(WORDS + 1,) * (2 if name == "arc" else 3)).astype(np.float32) for name in names}
    trees = members(WORDS, single_root)
    of_trees = [sum(float(scores[name][at]) for name, at in parts(t, siblings, grandparents)) for t in trees]
    assert float(sd.eisner(scores, single_root=single_root)) == pytest.approx(max(of_trees), abs=1e-4)
    log_partition = sd.eisner(scores, semiring=sd.LogSum, single_root=single_root)
    assert float(log_partition) == pytest.approx(np.logaddexp.reduce(of_trees), abs=1e-4)
    best = sd.argmax(sd.charts.eisner(single_root, siblings, grandparents), scores)
    assert tuple(best.tolist()) == trees[int(np.argmax(of_trees))]


@each_order
def test_scores_of_zero_leave_the_first_order(siblings: bool, grandparents: bool) -> None:
    arcs = jax.random.normal(jax.random.key(0), (3, 13, 13))
    lengths = jnp.array([12, 7, 1])
    system = sd.charts.eisner(siblings=siblings, grandparents=grandparents)
    higher, first = sd.marginals(system, arcs, lengths), sd.marginals(sd.charts.eisner(), arcs, lengths)
    np.testing.assert_allclose(higher, first, atol=1e-5)

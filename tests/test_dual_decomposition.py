"""Dual decomposition with second-order scores against enumeration."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import structdep as sd
from structdep import greedy
from structdep.greedy import dual_decomposition
from structdep.spanning import all_trees
from structdep.trees import all_trees as every_tree
from structdep.trees import check_trees

close = partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-4)
WORDS = 5
LENGTHS = np.tile(np.array([5, 5, 5, 4, 3, 2, 1, 0], np.int32), 3)
STRENGTH = np.repeat(np.array([0.1, 0.5, 1.5]), 8)
"""Of second-order scores, beside those of arcs."""
Tables = dict[str, NDArray[np.float32]]


def some_tables(seed: int) -> Tables:
    """Random tables, large in padding and where there is no part; every third sentence lacks a fifth of its arcs."""
    rng = np.random.default_rng(seed)
    batch, nodes = len(LENGTHS), WORDS + 1
    tables = {"arc": 1.5 * rng.normal(size=(batch, nodes, nodes))}
    for name in ("grandparent", "sibling"):
        tables[name] = STRENGTH[:, None, None, None] * rng.normal(size=(batch, nodes, nodes, nodes))
    tables["arc"][::3] = np.where(rng.random((batch // 3, nodes, nodes)) < 0.2, -np.inf, tables["arc"][::3])
    tables["arc"][:, np.arange(nodes), np.arange(nodes)] = tables["arc"][:, :, 0] = tables["sibling"][:, :, 3, 2] = 1e3
    for table in tables.values():
        for row, length in enumerate(LENGTHS):
            table[row][np.max(np.indices(table.shape[1:]), axis=0) > length] = 1e3
    return {name: table.astype(np.float32) for name, table in tables.items()}


def best_scores(tables: Tables, single_root: bool) -> NDArray[np.float32]:
    """The score of the best tree of each sentence; -inf if there is none."""
    trees, rows = [], []
    for row, length in enumerate(LENGTHS.tolist()):
        own = every_tree(length) if length else np.zeros((1, 0), int)
        own = own[(own == 0).sum(1) == 1] if single_root and length else own
        trees.append(np.pad(own, [(0, 0), (0, WORDS - length)]))
        rows.append(np.full(len(own), row))
    row = np.concatenate(rows)
    scores = greedy.score({name: table[row] for name, table in tables.items()}, np.concatenate(trees), LENGTHS[row])
    best = np.full(len(LENGTHS), -np.inf, np.float32)
    np.maximum.at(best, row, np.asarray(scores))
    return best


def words_below_root(heads: NDArray[np.int32]) -> NDArray[np.int64]:
    return ((heads == 0) & (np.arange(WORDS) < LENGTHS[:, None])).sum(1)


@pytest.mark.parametrize("without", ["grandparent", "sibling", None])
@pytest.mark.parametrize("single_root", [pytest.param(False, marks=pytest.mark.slow), True], ids=["any", "single"])
def test_bounds_hold_and_certified_trees_are_the_best(without: str | None, single_root: bool) -> None:
    tables = {name: table for name, table in some_tables(1).items() if name != without}
    heads, value, bound, optimal = map(np.asarray, dual_decomposition(tables, LENGTHS, single_root=single_root))
    best = best_scores(tables, single_root)
    exists = np.isfinite(best)
    assert (bound >= best - 1e-4).all() and (value <= best + 1e-4).all()
    close(value[optimal], best[optimal])
    close(value[exists], greedy.score(tables, np.maximum(heads, 0), LENGTHS)[exists])
    check_trees(heads[exists], LENGTHS[exists])
    assert (heads[~exists] <= 0).all() and (value[~exists] == bound[~exists]).all()
    assert not single_root or (words_below_root(heads)[exists & (LENGTHS > 0)] == 1).all()
    assert optimal[:8].mean() > 0.8 and optimal[8:16].mean() > 0.7 and optimal[16:].mean() > 0.35
    assert np.isclose(value, best, atol=1e-3).mean() > 0.9


def test_arc_scores_alone_are_certified_at_once() -> None:
    arcs = some_tables(2)["arc"]
    found = dual_decomposition(arcs, LENGTHS, steps=0)
    assert found.optimal.all()
    close(found.value, sd.inside(all_trees(), arcs, LENGTHS))
    assert jnp.array_equal(found.heads, sd.argmax(all_trees(), arcs, LENGTHS))


def test_neither_padding_nor_neighbours_matter() -> None:
    tables = some_tables(3)
    together = dual_decomposition(tables, LENGTHS)
    rows = np.flatnonzero(LENGTHS == 4)
    assert not together.heads[rows, 4:].any()
    for row in rows:
        own = {name: table[(row, *[slice(5)] * (table.ndim - 1))] for name, table in tables.items()}
        alone = dual_decomposition(own)
        assert alone.heads.tolist() == together.heads[row, :4].tolist()
        assert alone.optimal == together.optimal[row]
        close([alone.value, alone.bound], [together.value[row], together.bound[row]], atol=1e-3)


def test_batch_axes_jit_and_derivatives() -> None:
    """The value's derivatives are the parts of the tree."""
    tables = some_tables(4)
    plain = dual_decomposition(tables, LENGTHS)
    shaped = {name: table.reshape(4, 6, *table.shape[1:]) for name, table in tables.items()}
    found = jax.jit(dual_decomposition)(shaped, LENGTHS.reshape(4, 6))
    assert jnp.array_equal(found.heads.reshape(plain.heads.shape), plain.heads)
    assert [leaf.shape for leaf in found] == [(4, 6, WORDS), (4, 6), (4, 6), (4, 6)]
    slopes = jax.grad(lambda t: dual_decomposition(t, LENGTHS).value.sum())(tables)
    expected = jax.grad(lambda t: greedy.score(t, plain.heads, LENGTHS).sum())(tables)
    for name in tables:
        close(slopes[name], expected[name])
    bounds = jax.grad(lambda t: dual_decomposition(t, LENGTHS).bound.sum())(tables)
    assert not any(np.asarray(table).any() for table in bounds.values())


def test_no_tree_no_number_no_sentence_and_wrong_input() -> None:
    arcs = np.zeros((3, 4, 4), np.float32)
    arcs[0, :, 2], arcs[1, 2, 3] = -np.inf, np.nan
    heads, value, bound, optimal = dual_decomposition(arcs)
    assert heads[:2].tolist() == [[-1] * 3] * 2
    assert value[0] == bound[0] == -np.inf and np.isnan(value[1]) and np.isnan(bound[1])
    assert optimal.tolist() == [True, False, True]
    assert dual_decomposition(arcs[:0]).heads.shape == (0, 3)
    with pytest.raises(ValueError, match="takes no step or more, not -1: write steps=200"):
        dual_decomposition(arcs[2], steps=-1)
    with pytest.raises(ValueError, match="second-order parts has no score 'cousin'"):
        dual_decomposition({"cousin": arcs[2]})
    with pytest.raises(ValueError, match=r"'arc' \(4, 4\) and 'sibling' \(3, 3, 3\) do not fit"):
        dual_decomposition({"arc": arcs[2], "sibling": np.zeros((3, 3, 3), np.float32)})


def test_scores_of_masks_do_not_loosen_the_certificate() -> None:
    rng = np.random.default_rng(3)
    tables = {"arc": rng.normal(size=(12, 5, 5)), "grandparent": 3 * rng.normal(size=(12, 5, 5, 5))}
    tables["sibling"] = 3 * rng.normal(size=(12, 5, 5, 5))
    tables["arc"][:, 3, 1] = -1e9
    tables = {name: table.astype(np.float32) for name, table in tables.items()}
    _, value, bound, optimal = map(np.asarray, dual_decomposition(tables))
    trees = every_tree(4)
    best = np.max([greedy.score(tables, np.broadcast_to(tree, (12, 4))) for tree in trees], axis=0)
    assert (bound >= best - 1e-3).all() and not optimal.all() and optimal.any()
    close(value[optimal], best[optimal])

"""Greedy inference with second-order parts against a plain transcription, and against the best tree by enumeration."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import plain_greedy as plain
import pytest
from numpy.typing import NDArray

import structdep as sd
from benchmarks.greedy import scored_trees
from structdep import greedy
from structdep.greedy.partial_trees import add, basic, start, values
from structdep.greedy.parts import parts
from structdep.spanning import all_trees
from structdep.trees import all_trees as every_tree
from structdep.trees import check_trees

close = np.testing.assert_allclose
WORDS = 5
LENGTHS = np.array([5, 4, 3, 2, 1, 0, 5, 5, 5, 4], np.int32)
Tables = dict[str, NDArray[np.float32]]


def some_tables(seed: int, lengths: NDArray[np.int32] = LENGTHS) -> Tables:
    """Random tables, with large values in padding, and where there is no part."""
    rng = np.random.default_rng(seed)
    shape = (len(lengths), *[WORDS + 1] * 3)
    tables = {"arc": 1.5 * rng.normal(size=shape[:3])}
    tables |= {name: rng.normal(size=shape) for name in ("grandparent", "sibling")}
    for table in tables.values():
        for row, length in enumerate(lengths):
            behind = np.max(np.indices(table.shape[1:]), axis=0) > length
            table[row][behind] = 1e3
    tables["arc"][:, :, 0] = tables["sibling"][:, :, 3, 2] = tables["grandparent"][:, 2, 1, 2] = 1e3
    tables["arc"][:, np.arange(WORDS + 1), np.arange(WORDS + 1)] = 1e3
    return {name: table.astype(np.float32) for name, table in tables.items()}


def sentences(tables: Tables) -> Iterator[tuple[int, int, plain.Parts]]:
    """The row, length and parts of each sentence with words."""
    for row, length in enumerate(LENGTHS.tolist()):
        own = {name: table[(row, *[slice(length + 1)] * (table.ndim - 1))] for name, table in tables.items()}
        if length:
            yield row, length, plain.parts_of(own)


def test_scores_of_trees() -> None:
    tables = some_tables(0)
    heads = np.array([np.pad(every_tree(n)[n * 7 % len(every_tree(n))] if n else [], (0, WORDS - n)) for n in LENGTHS])
    found = greedy.score(tables, heads.astype(int), LENGTHS)
    for row, length, own in sentences(tables):
        close(found[row], plain.score(own, plain.arcs_of(heads[row, :length].astype(int))), rtol=1e-5, atol=1e-5)
    assert found[5] == 0


PARSERS: dict[str, tuple[Callable[..., jax.Array], dict[str, Any], Callable[[plain.Parts], Any]]] = {
    "bgi": (greedy.bgi, {}, plain.Basic),
    "bgi+b": (greedy.bgi, {"beam": 3}, plain.Basic),
    "bgi-pp": (greedy.bgi_pp, {}, lambda parts: plain.PartialPredictions(parts, 1.0, 0.35)),
    "bgi-pp+b": (
        greedy.bgi_pp,
        {"beta": 0.5, "gamma": 0.2, "beam": 3},
        lambda parts: plain.PartialPredictions(parts, 0.5, 0.2),
    ),
    "bgi, single root": (greedy.bgi, {"single_root": True}, lambda parts: plain.Basic(parts, True)),
    "bgi-pp+b, single root": (
        greedy.bgi_pp,
        {"beam": 2, "single_root": True},
        lambda parts: plain.PartialPredictions(parts, 1.0, 0.35, True),
    ),
}


@pytest.mark.parametrize("name", PARSERS)
def test_parsers_do_as_published(name: str) -> None:
    parser, options, rule = PARSERS[name]
    tables = some_tables(1)
    tables["arc"][0, 2, 1] = tables["arc"][6, 1:, 3] = tables["arc"][7, 0, 1:4] = -np.inf
    heads = np.asarray(parser(tables, LENGTHS, **options))
    assert heads.dtype == np.int32
    for row, length, own in sentences(tables):
        expected = plain.search(rule(own), length, options.get("beam", 1))
        own_heads = plain.heads_of(expected) if expected else [-1] * length
        assert heads[row].tolist() == own_heads + [0] * (WORDS - length)
        assert expected is None or own_heads.count(0) == 1 or "single root" not in name
    assert (heads[0] >= 0).all()


@pytest.mark.parametrize("single_root", [False, True])
def test_swaps_are_the_best_ones(single_root: bool) -> None:
    tables = some_tables(2)
    tables["arc"][0, 2, 1] = tables["arc"][6, 1:4, 5] = -np.inf
    chain = np.where(np.arange(WORDS) < LENGTHS[:, None], np.arange(WORDS), 0)
    for times in (1, 3):
        heads = np.asarray(greedy.improve(tables, chain, LENGTHS, times, single_root=single_root))
        for row, length, own in sentences(tables):
            expected = plain.improved(own, plain.arcs_of(chain[row, :length]), times, single_root)
            assert (heads[row, :length] == 0).sum() == 1 or not single_root
            assert heads[row, :length].tolist() == plain.heads_of(expected)


def test_values_of_arcs_add_up_to_twice_what_the_tree_lacks() -> None:
    """In any order: all parts, less twice those of the tree."""
    tables = {name: table[0] for name, table in some_tables(3).items()}
    made = parts(tables)
    everything = sum(plain.parts_of(tables).values())
    rng = np.random.default_rng(3)
    for heads in every_tree(WORDS)[[5, 500, 1000, 1290]]:
        tree = start(made, basic(made))
        for word in rng.permutation(WORDS) + 1:
            value = values(made, basic(made), tree)[heads[word - 1], word]
            tree = add(made, tree, value, jnp.asarray(heads[word - 1]), jnp.asarray(word))
        score = plain.score(plain.parts_of(tables), plain.arcs_of(heads))
        close(tree.value, everything - 2 * score, rtol=1e-4, atol=1e-3)


def test_favoured_trees_win() -> None:
    tables = some_tables(4)
    trees = np.asarray(sd.argmax(all_trees(), tables["arc"] * -1, LENGTHS))
    assert jnp.array_equal(greedy.bgi_pp(greedy.favour(tables, trees, LENGTHS, 50.0, 20.0), LENGTHS), trees)
    favoured, plainly = (greedy.score(t, trees, LENGTHS) for t in (greedy.favour(tables, trees, LENGTHS), tables))
    for row, length, own in sentences(tables):
        pairs = sum(part <= plain.arcs_of(trees[row, :length]) for part in own) - length
        close(favoured[row] - plainly[row], length + 0.25 * pairs, rtol=1e-4, atol=1e-3)


def test_how_often_the_best_tree_is_found() -> None:
    """In 300 sentences of five words 26 % of the trees, 50 % with partial predictions, 79 % with a beam and swaps."""
    tables = some_tables(5, np.full(300, WORDS, np.int32))
    best = np.asarray(scored_trees(tables)[1].max(0))

    def share(parser: Callable[..., jax.Array], **options: int) -> float:
        heads = parser(tables, **options)
        check_trees(heads)
        scores = np.asarray(greedy.score(tables, heads))
        assert (scores <= best + 1e-3).all()
        return float(np.isclose(scores, best, atol=1e-3).mean())

    basic_share, share_pp = share(greedy.bgi), share(greedy.bgi_pp)
    with_beam, with_swaps = share(greedy.bgi_pp, beam=3), share(greedy.bgi_pp, swaps=5)
    both = share(greedy.bgi_pp, beam=3, swaps=5)
    assert 0.2 < basic_share < 0.45 < share_pp < 0.65 < min(with_beam, with_swaps) < 0.75 < both


def test_the_best_scores_of_the_benchmark() -> None:
    """By the plain sets of parts."""
    tables = {name: table[:2] for name, table in some_tables(6, np.full(2, 4, np.int32)).items()}
    tables = {name: table[(slice(None), *[slice(5)] * (table.ndim - 1))] for name, table in tables.items()}
    for row, found in enumerate(scored_trees(tables)[1].max(0)):
        own = plain.parts_of({name: table[row] for name, table in tables.items()})
        close(found, max(plain.score(own, plain.arcs_of(heads)) for heads in every_tree(4)), rtol=1e-5)


@pytest.mark.parametrize("single_root", [False, True])
def test_a_class_of_trees_in_the_place_of_a_system(single_root: bool) -> None:
    """Its tree is that of the parser, its value the tree's score, its gradient the tree's parts."""
    tables, system = some_tables(7), greedy.second_order(gamma=0.3, swaps=2, single_root=single_root)
    heads = greedy.bgi_pp(tables, LENGTHS, gamma=0.3, swaps=2, single_root=single_root)
    assert jnp.array_equal(sd.argmax(system, tables, LENGTHS), heads)
    value, pull = jax.vjp(lambda t: sd.inside(system, t, LENGTHS), tables)
    close(value, greedy.score(tables, heads, LENGTHS), rtol=1e-5)
    (uses,) = pull(jnp.ones_like(value))
    expected = {name: np.zeros_like(table) for name, table in tables.items()}
    for row, length, own in sentences(tables):
        tree = plain.arcs_of(heads[row, :length])
        for part in (sorted(part) for part in own if part <= tree):
            expected[_name(part)][(row, *_nodes(part))] = 1
    for name, table in expected.items():
        close(uses[name], table, atol=1e-6)


def _name(part: list[plain.Arc]) -> str:
    return "arc" if len(part) == 1 else "sibling" if part[0][0] == part[1][0] else "grandparent"


def _nodes(part: list[plain.Arc]) -> tuple[int, ...]:
    if len(part) == 1:
        return part[0]
    (g, h), (k, d) = part
    return (g, h, d) if g == k or h == k else (k, d, h)


def test_hinge_loss_against_the_tree_that_is_found() -> None:
    """Of scores plus cost; 0 where it is the gold tree, or worse."""
    tables, system = some_tables(8), greedy.second_order()
    gold = np.asarray(sd.argmax(all_trees(), tables["arc"], LENGTHS))
    wrong = np.arange(WORDS + 1)[:, None] != np.pad(gold, [(0, 0), (1, 0)])[:, None]
    costly = tables | {"arc": tables["arc"] + wrong.astype(np.float32)}
    found = greedy.bgi_pp(costly, LENGTHS, swaps=5)
    difference = greedy.score(costly, found, LENGTHS) - greedy.score(tables, gold, LENGTHS)
    loss, slope = jax.value_and_grad(lambda t: sd.losses.hinge(system, t, gold, LENGTHS).sum())(tables)
    close(sd.losses.hinge(system, tables, gold, LENGTHS), np.maximum(difference, 0), rtol=1e-4, atol=1e-4)
    close(loss, np.maximum(difference, 0).sum(), rtol=1e-4)
    assert all(np.isfinite(table).all() and np.asarray(table).any() for table in slope.values())
    favoured = greedy.favour(tables, gold, LENGTHS, 100.0, 50.0)
    assert not sd.losses.hinge(system, favoured, gold, LENGTHS).any()


def test_what_second_order_scores_have_no_algorithm_for() -> None:
    tables, system = some_tables(9), greedy.second_order()
    with pytest.raises(ValueError, match="for MaxPlus and CostAugmented alone, none for LogSum"):
        sd.inside(system, tables, LENGTHS, sd.LogSum)
    with pytest.raises(ValueError, match=r"none for SingleRoot; for single roots write second_order\(single_root=True"):
        sd.argmax(system, tables, LENGTHS, single_root=True)
    tables["grandparent"][0, 0, 1, 2] = np.nan
    assert np.isnan(sd.inside(system, tables, LENGTHS)).tolist() == [True] + [False] * 9
    for search in (greedy.bgi, greedy.bgi_pp):
        found = np.asarray(search(tables, LENGTHS))
        assert (found[0, : LENGTHS[0]] == -1).all() and (found[1:] >= 0).all()
    assert sd.argmax(system, tables, LENGTHS)[0].tolist() == [-1] * WORDS


def test_dead_ends_and_wrong_input() -> None:
    scores = np.full((4, 4), -np.inf, np.float32)
    scores[[0, 1, 2, 1], [1, 2, 1, 3]] = [1.0, -5.0, 5.0, 0.0]
    assert greedy.bgi(scores).tolist() == greedy.bgi_pp(scores).tolist() == [-1, -1, -1]
    assert greedy.bgi(scores, beam=3).tolist() == [0, 1, 1]
    assert greedy.bgi_pp(np.zeros((0, 4, 4), np.float32), beam=2, swaps=1).shape == (0, 3)
    with pytest.raises(ValueError, match=r"second-order parts has no score 'cousin', it declares .*'grandparent'"):
        greedy.bgi({"cousin": scores})
    with pytest.raises(ValueError, match="a beam holds at least one tree, not 0"):
        greedy.bgi_pp(scores, beam=0)
    with pytest.raises(ValueError, match="improved by no swap or more, not by -1"):
        greedy.bgi(scores, swaps=-1)
    with pytest.raises(ValueError, match=r"heads have shape \(2,\), expected \(3,\)"):
        greedy.score(scores, np.array([0, 1]))
    with pytest.raises(ValueError, match=r"'arc' \(4, 4\) and 'sibling' \(3, 3, 3\) do not fit"):
        greedy.bgi({"arc": scores, "sibling": np.zeros((3, 3, 3), np.float32)})

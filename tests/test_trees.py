"""Trees: conversions, checks, crossing arcs, enumeration, attachment scores."""

import math

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import structdep as sd
from structdep.trees import (
    AttachmentCounts,
    all_trees,
    arcs_to_heads,
    check_trees,
    crossing_arcs,
    find_cycle,
    heads_to_arcs,
    is_one_endpoint_crossing,
    is_projective,
    is_tree,
    projective_order,
)
from structdep_parser.data.conllu import read
from structdep_parser.data.treebank import VARIABLE, find_treebank

PADDED = np.array([[2, 0, 0, 0], [3, 4, 0, 3], [0, 0, 0, 0]], np.int32)
LENGTHS = np.array([2, 4, 1], np.int32)


@st.composite
def some_trees(draw: st.DrawFn) -> list[int]:
    """Any tree: words hung one by one, in any order, below words that hang already."""
    order = draw(st.permutations(range(1, draw(st.integers(1, 9)) + 1)))
    hung = {word: draw(st.sampled_from([0, *order[:rank]])) for rank, word in enumerate(order)}
    return [hung[word] for word in sorted(hung)]


def one_endpoint(heads: NDArray[np.int32]) -> bool:
    """The definition, arc by arc."""
    arcs = [{int(head), word} for word, head in enumerate(heads, start=1)]
    for arc in arcs:
        crossing = [other for other in arcs if cross(arc, other)]
        if crossing and not set.intersection(*crossing):
            return False
    return True


def cross(first: set[int], second: set[int]) -> bool:
    (a, b), (c, d) = sorted(first), sorted(second)
    return a < c < b < d or c < a < d < b


def test_heads_and_arcs_are_each_others_inverse_in_jitted_code() -> None:
    arcs = jax.jit(heads_to_arcs)(PADDED, LENGTHS)
    expected = [[(1, 2), (2, 0)], [(1, 3), (2, 4), (3, 0), (4, 3)], [(1, 0)]]
    found = [sorted((d, h) for h, d in np.argwhere(sentence).tolist()) for sentence in np.asarray(arcs)]
    assert found == expected and arcs.shape == (3, 5, 5) and arcs.dtype == bool
    heads = jax.jit(arcs_to_heads)(arcs, LENGTHS)
    assert heads.dtype == np.int32 and heads.tolist() == PADDED.tolist()


def test_a_word_without_head_has_head_minus_one_both_ways() -> None:
    assert not heads_to_arcs([-1, 3]).any()
    assert arcs_to_heads(heads_to_arcs([-1, 0, 2, 5])).tolist() == [-1, 0, 2, -1]


def test_is_tree_follows_the_heads_of_the_words_alone() -> None:
    assert jax.jit(is_tree)(PADDED, LENGTHS).tolist() == [True, True, True]
    assert is_tree([[[2, 1], [0, 9]], [[1, 0], [-1, 0]]], [[2, 1], [2, 2]]).tolist() == [[False, True], [False, False]]
    assert is_tree([[0, 0], [0, 1], [2, 1]], single_root=True).tolist() == [False, True, False]
    assert is_tree([[0, 0]], [1], single_root=True).tolist() == [True]
    assert is_tree([2, 0, 3], 2) and not is_tree([3, 0, 2], 2)


@given(st.lists(st.integers(0, 8), min_size=8, max_size=8))
def test_is_tree_and_find_cycle_agree_with_matrix_powers(heads: list[int]) -> None:
    step = np.zeros((9, 9), int)
    step[np.arange(1, 9), heads] = 1
    acyclic = not np.linalg.matrix_power(step, 9).any()
    assert bool(is_tree(heads)) == acyclic
    cycle = find_cycle(heads)
    assert (cycle == []) == acyclic
    assert all(heads[word - 1] == above for word, above in zip(cycle, cycle[1:] + cycle[:1], strict=True))


@pytest.mark.parametrize(
    ("heads", "lengths", "error", "message"),
    [
        ([[0, 1], [2, 1]], None, ValueError, r"sentence 1: heads \[2, 1\] are no tree: .* 1 -> 2 -> 1"),
        ([[[0, 1], [0, 3]]], None, ValueError, r"sentence 0, 1: heads \[0, 3\] .*word 2 has head 3, expected .* to 2"),
        ([0, 3, 0], 2, ValueError, r"^heads \[0, 3\] are no tree: word 2 has head 3, expected .* to 2"),
        ([0, -1], None, ValueError, "word 2 has head -1"),
        ([0, 2], None, ValueError, "word 2 is its own head"),
        ([0.0, 1.0], None, TypeError, "heads must be integers, not float64"),
        ([0, 1], 1.5, TypeError, "lengths must be integers, not float64"),
        (0, None, ValueError, "heads are one number, 0"),
        ([[0, 1]], [1, 2], ValueError, r"heads \(1, 2\) and lengths \(2,\) do not fit"),
        ([[0, 1]], [3], ValueError, "lengths go from 3 to 3, expected 0 to 2"),
    ],
)
def test_what_is_no_tree_raises_and_is_quoted(
    heads: object, lengths: object, error: type[Exception], message: str
) -> None:
    check_trees(PADDED, LENGTHS)
    with pytest.raises(error, match=message):
        check_trees(heads, lengths)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_heads_of_few_bits(dtype: type) -> None:
    chain, star = np.arange(128).astype(dtype), np.zeros(127, dtype)
    assert is_tree(chain) and is_tree(star) and is_tree([]) and not is_tree(np.append(chain[:-1], 128).astype(np.uint8))
    assert sd.greedy.improve(np.zeros((128, 128), np.float32), star, swaps=1).tolist() == star.tolist()


def test_arcs_of_a_wrong_shape_raise() -> None:
    with pytest.raises(ValueError, match=r"\(2, 3\), expected \[\*batch, n\+1, n\+1\]"):
        arcs_to_heads(np.zeros((2, 3)))


# (n+1)^(n-1) and n^(n-1) trees; the projective ones; the 1-Endpoint-Crossing ones.
COUNTS = {
    False: {
        1: (1, 1, 1),
        2: (3, 3, 3),
        3: (16, 12, 16),
        4: (125, 55, 125),
        5: (1296, 273, 1104),
        6: (16807, 1428, 10024),
    },
    True: {1: (1, 1, 1), 2: (2, 2, 2), 3: (9, 7, 9), 4: (64, 30, 64), 5: (625, 143, 545), 6: (7776, 728, 4876)},
}


@pytest.mark.parametrize("n", range(1, 7))
@pytest.mark.parametrize("single_root", [False, True])
def test_numbers_of_trees(n: int, single_root: bool) -> None:
    trees = all_trees(n, single_root)
    assert trees.dtype == np.int32 and len(np.unique(trees, axis=0)) == len(trees)
    assert ((trees == 0).sum(-1) == 1).all() or not single_root
    check_trees(trees)
    found = (len(trees), is_projective(trees).sum(), is_one_endpoint_crossing(trees).sum())
    assert found == COUNTS[single_root][n]


def test_trees_of_seven_words_and_no_more() -> None:
    assert len(all_trees(7)) == 8**6
    with pytest.raises(ValueError, match=r"1 to 7 words, not of 8 \(4782969 trees\)"):
        all_trees(8)
    with pytest.raises(ValueError, match=r"not of 8 \(2097152 trees\)"):
        all_trees(8, single_root=True)
    with pytest.raises(ValueError, match=r"not of 0$"):
        all_trees(0)


@given(some_trees())
def test_crossing_arcs_and_classes_by_definition(heads: list[int]) -> None:
    arcs = [{head, word} for word, head in enumerate(heads, start=1)]
    expected = [any(cross(arc, other) for other in arcs) for arc in arcs]
    assert crossing_arcs(heads).tolist() == expected
    assert is_projective(heads) == (not any(expected))
    assert is_one_endpoint_crossing(heads) == one_endpoint(np.array(heads))


def test_padding_crosses_nothing() -> None:
    heads, lengths = [[2, 0, 1], [0, 1, 9]], [2, 2]
    assert crossing_arcs(heads, lengths).tolist() == [[False] * 3] * 2
    assert is_projective(heads, lengths).all() and is_one_endpoint_crossing(heads, lengths).all()
    assert not is_projective(heads[0])


@given(some_trees())
def test_every_tree_is_projective_in_its_projective_order(heads: list[int]) -> None:
    order = projective_order(heads).tolist()
    assert sorted(order) == list(range(1, len(heads) + 1))
    place = {0: 0} | {word: rank for rank, word in enumerate(order, start=1)}
    assert is_projective([place[heads[word - 1]] for word in order])
    for word, head in enumerate(heads, start=1):
        assert (place[head] < place[word]) == (head < word)
    if is_projective(heads):
        assert order == sorted(order)


def test_projective_order_takes_one_tree() -> None:
    with pytest.raises(ValueError, match=r"one sentence, \[n\], not \(1, 2\)"):
        projective_order([[0, 1]])
    with pytest.raises(ValueError, match="no tree"):
        projective_order([2, 1])


def test_attachment_counts() -> None:
    gold, labels = PADDED, np.array([[1, 2, 0, 0], [1, 2, 3, 4], [5, 0, 0, 0]])
    heads, deprels = gold.copy(), labels.copy()
    heads[1, :2], deprels[1, 1:3], deprels[0, 3] = 1, 9, 9
    counts = AttachmentCounts.of(gold, labels, heads, deprels, LENGTHS)
    assert counts == AttachmentCounts(total=7, uas_correct=5, las_correct=4)
    assert (counts.uas, counts.las) == (5 / 7, 4 / 7)
    by_sentence = (
        AttachmentCounts.of(*sentence) for sentence in zip(gold, labels, heads, deprels, LENGTHS, strict=True)
    )
    assert sum(by_sentence, AttachmentCounts()) == counts
    assert math.isnan(AttachmentCounts().uas) and math.isnan(AttachmentCounts().las)
    with pytest.raises(ValueError, match=r"deprels have shape \(4,\), gold_heads \(3, 4\)"):
        AttachmentCounts.of(gold, labels, heads, deprels[0], LENGTHS)


@pytest.mark.parametrize(("lang", "projective", "one_endpoint_crossing"), [("got", 2656, 3305), ("hu", 719, 889)])
def test_classes_of_real_treebanks(lang: str, projective: int, one_endpoint_crossing: int) -> None:
    """Gómez-Rodríguez, Shi, Lee (2018), table 3: training sentences of UD 2.0."""
    try:
        train = read(find_treebank(lang, version="2.0").train)
    except FileNotFoundError:
        pytest.skip(f"UD 2.0 {lang} is not below ${VARIABLE}")
    trees = [sentence.heads for sentence in train]
    assert sum(map(bool, map(is_projective, trees))) == projective
    assert sum(map(bool, map(is_one_endpoint_crossing, trees))) == one_endpoint_crossing
    assert all(is_projective(heads) == (projective_order(heads) == 1 + np.arange(len(heads))).all() for heads in trees)

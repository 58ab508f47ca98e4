"""Pseudo-projective trees: lifting, encoding, decoding, and how many trees of treebanks come back."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structdep.trees import all_trees, crossing_arcs, is_projective, is_tree
from structdep.trees.pseudo_projective import Scheme, decode, encode, lift
from structdep_parser.data.conllu import Sentence, read
from structdep_parser.data.treebank import VARIABLE, find_treebank

SCHEMES: tuple[Scheme, ...] = ("head", "path", "head+path")
each_scheme = pytest.mark.parametrize("scheme", SCHEMES)
HEADS = [5, 3, 0, 3, 4]
"""1 belongs to 5, below 4: its arc goes over 2 and 3."""
DEPRELS = ["case", "nsubj", "root", "advcl", "obj"]


def ancestors(heads: np.ndarray, word: int) -> list[int]:
    found = [int(heads[word - 1])]
    while found[-1]:
        found.append(int(heads[found[-1] - 1]))
    return found


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5])
def test_lifting_makes_trees_projective_by_ancestors(words: int) -> None:
    for heads in all_trees(words):
        lifted = lift(heads)
        assert is_projective(lifted) and is_tree(lifted)
        assert all(head in ancestors(heads, word) for word, head in enumerate(lifted.tolist(), start=1))
        moved = lifted != heads
        assert not moved.any() if is_projective(heads) else (moved & crossing_arcs(heads)).any()


def test_the_shortest_arc_is_lifted_first() -> None:
    """4 → 2 goes over 3, which is not below 4; 1 → 4 goes over 3, which belongs to the root, and is longer."""
    assert lift([0, 4, 0, 1]).tolist() == [0, 1, 0, 0]
    assert lift(HEADS).tolist() == [3, 3, 0, 3, 4]


def test_the_marks_of_the_schemes() -> None:
    marked = {
        "head": ("case|obj", "nsubj", "root", "advcl", "obj"),
        "path": ("case|", "nsubj", "root", "advcl↓", "obj↓"),
        "head+path": ("case|obj", "nsubj", "root", "advcl↓", "obj↓"),
    }
    for scheme in SCHEMES:
        heads, deprels = encode(HEADS, DEPRELS, scheme)
        assert deprels == marked[scheme]
        restored = decode(heads, deprels, scheme)
        assert restored.heads.tolist() == HEADS and restored.deprels == tuple(DEPRELS)


@pytest.mark.parametrize("scheme", ["head", "head+path"])
@pytest.mark.parametrize("words", [3, 4, 5])
def test_every_tree_comes_back_where_relations_differ(words: int, scheme: Scheme) -> None:
    deprels = tuple(f"r{word}" for word in range(words))
    for heads in all_trees(words):
        restored = decode(*encode(heads, deprels, scheme), scheme)
        assert np.array_equal(restored.heads, heads) and restored.deprels == deprels


def test_the_nearest_word_of_a_relation_is_taken_for_the_head() -> None:
    """1 belongs to the lower of two words with the relation obj: only the marks of the path tell which."""
    heads, deprels = [5, 3, 0, 3, 4, 3], ["case", "nsubj", "root", "advcl", "obj", "obj"]
    found = {scheme: decode(*encode(heads, deprels, scheme), scheme).heads.tolist() for scheme in SCHEMES}
    assert found["head"] == [6, 3, 0, 3, 4, 3] and found["path"] == found["head+path"] == heads


@st.composite
def predictions(draw: st.DrawFn) -> tuple[list[int], list[str]]:
    """A tree with marks anywhere, as a parser may predict them."""
    order = draw(st.permutations(range(1, draw(st.integers(1, 9)) + 1)))
    heads = {word: draw(st.sampled_from([0, *order[:rank]])) for rank, word in enumerate(order)}
    deprels = [draw(st.sampled_from(["a", "b", "a|b", "b|a", "a|", "a|b↓", "b↓", "a|none"])) for _ in order]
    return [heads[word] for word in sorted(heads)], deprels


@each_scheme
@given(predicted=predictions())
def test_whatever_is_predicted_becomes_a_tree(scheme: Scheme, predicted: tuple[list[int], list[str]]) -> None:
    heads, deprels = decode(*predicted, scheme)
    assert is_tree(heads) and set(deprels) <= {"a", "b"}
    lifted = np.array(["|" in deprel for deprel in predicted[1]])
    assert np.array_equal(heads[~lifted], np.array(predicted[0])[~lifted])


@pytest.mark.parametrize(
    ("heads", "deprels", "scheme", "message"),
    [
        ([2, 1], ["a", "b"], "head", "are no tree"),
        ([2, 0], ["a"], "head", r"heads have shape \(2,\), expected \(1,\)"),
        ([2, 0], ["a", "b|c"], "head", r"must not hold \| or ↓, as 'b\|c' does"),
        ([2, 0], ["a", "b"], "tail", "no scheme 'tail', but head, path, head[+]path"),
    ],
)
def test_what_cannot_be_encoded(heads: list[int], deprels: list[str], scheme: Scheme, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode(heads, deprels, scheme)


def test_only_trees_are_lifted() -> None:
    with pytest.raises(ValueError, match="no tree"):
        lift([2, 1])
    with pytest.raises(TypeError, match="heads must be integers, not float64"):
        lift([2.7, 0.2])
    with pytest.raises(ValueError, match=r"heads have shape \(2, 2\), expected \[n\]"):
        lift([[2, 0], [0, 1]])


RESTORED = {
    "got": {"lifted": (731, 1150), "head": (705, 1110), "path": (681, 1088), "head+path": (723, 1133)},
    "hu": {"lifted": (191, 320), "head": (182, 307), "path": (179, 303), "head+path": (189, 316)},
}
"""Training sets of UD 2.0: trees that are lifted, and words in them; of these, how many come back."""


@cache
def train(lang: str) -> list[Sentence]:
    try:
        return read(find_treebank(lang, version="2.0").train)
    except FileNotFoundError:
        pytest.skip(f"UD 2.0 {lang} is not below ${VARIABLE}")


@each_scheme
@pytest.mark.parametrize("lang", ["hu", pytest.param("got", marks=pytest.mark.slow)])
def test_most_trees_of_treebanks_come_back(lang: str, scheme: Scheme) -> None:
    trees = words = restored_trees = restored_words = 0
    for sentence in train(lang):
        encoded = encode(sentence.heads, sentence.deprels, scheme)
        decoded = decode(*encoded, scheme)
        lifted, right = encoded.heads != sentence.heads, decoded.heads == sentence.heads
        assert decoded.deprels == sentence.deprels and lifted.any() != is_projective(sentence.heads)
        trees, words = trees + int(lifted.any()), words + int(lifted.sum())
        restored_trees += int(lifted.any() and right.all())
        restored_words += int((lifted & right).sum())
    assert (trees, words) == RESTORED[lang]["lifted"]
    assert (restored_trees, restored_words) == RESTORED[lang][scheme]

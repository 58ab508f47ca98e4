"""Grafted subtrees: what they are, where they stand, that trees stay trees of their class, and epochs are repeated."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from training_cases import TINY, experiment, small_treebank

import structdep as sd
from structdep.deduction import DeductionSystem
from structdep_parser.data.augmentation import GROW, MOST_WORDS, SHRINK, SLACK, Grafts, Subtree
from structdep_parser.data.conllu import Heads, Sentence, stream
from structdep_parser.data.corpus import nearest_trees, padded
from structdep_parser.data.treebank import Treebank, read
from structdep_parser.data.vocabulary import Vocabulary

RELATIONS = "forms", "lemmas", "upos", "xpos", "feats", "deprels"


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Treebank:
    return small_treebank(tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("part"))


@pytest.fixture(scope="module")
def sentences(treebank: Treebank) -> list[Sentence]:
    return read(treebank.train)


def made(sentences: list[Sentence], trees: Heads, rate: float, epochs: int) -> list[tuple[list[Sentence], Heads]]:
    grafts, rng = Grafts(sentences, trees, rate), np.random.default_rng(0)
    return [grafts(rng) for _ in range(epochs)]


def parsed(*words: str) -> Sentence:
    """Of words "form/UPOS/features/head/relation"."""
    rows = []
    for number, word in enumerate(words, start=1):
        form, upos, feats, head, deprel = word.split("/")
        rows.append("\t".join([str(number), form, form.lower(), upos, "x", feats, head, deprel, "_", "_"]))
    (sentence,) = stream([f"{row}\n".encode() for row in rows], "test")
    return sentence


TWO = [
    parsed("the/DET/_/2/det", "dog/NOUN/Case=Nom/3/nsubj", "saw/VERB/_/0/root", "me/PRON/_/3/obj"),
    parsed("old/ADJ/_/3/amod", "grey/ADJ/_/3/amod", "cats/NOUN/Case=Nom|Gender=F/4/nsubj", "ran/VERB/_/0/root"),
]
LONG = parsed("oh/INTJ/_/0/root", *["oh/INTJ/_/1/discourse"] * 6)


def test_a_subtree_stands_where_one_of_its_kind_stood() -> None:
    """With its own words and arcs, hanging where the other one hung."""
    three = [*TWO, LONG]
    results = {
        (new.forms, tuple(new.heads.tolist()), new.deprels, new.feats)
        for sentences, _ in made(three, [s.heads for s in three], 1.0, 40)
        for new in sentences[:2]
    }
    assert (
        ("old", "grey", "cats", "saw", "me"),
        (3, 3, 4, 0, 4),
        ("amod", "amod", "nsubj", "root", "obj"),
        ("_", "_", "Case=Nom|Gender=F", "_", "_"),
    ) in results
    assert {forms for forms, *_ in results} == {
        ("the", "dog", "saw", "me"),
        ("old", "grey", "cats", "saw", "me"),
        ("old", "grey", "cats", "ran"),
        ("the", "dog", "ran"),
    }


def test_other_cases_and_what_has_gaps_stay() -> None:
    other = parsed("her/PRON/_/2/det", "cats/NOUN/Case=Acc/3/nsubj", "ran/VERB/_/0/root")
    # "a b c" with a's dependent c beyond b.
    gap = parsed("a/NOUN/Case=Nom/2/nsubj", "b/VERB/_/0/root", "c/ADJ/_/1/amod")
    for pair in ([TWO[0], other], [TWO[0], gap]):
        for sentences, trees in made(pair, [s.heads for s in pair], 1.0, 20):
            for old, new, tree in zip(pair, sentences, trees, strict=True):
                assert new.forms == old.forms and (new.heads == old.heads).all() and (tree == old.heads).all()


@pytest.mark.parametrize(
    "system",
    [sd.charts.eisner(), pytest.param(sd.charts.mhk(4), marks=pytest.mark.slow)],
    ids=lambda system: system.name,
)
def test_trees_stay_in_their_class(sentences: list[Sentence], system: DeductionSystem) -> None:
    """Gold trees are changed where those to be learned are, and differ from them in as many heads as before."""
    vocabulary = Vocabulary.of(sentences, 1)
    trees = nearest_trees(sentences, vocabulary, system)
    apart = [(tree != s.heads).sum() for tree, s in zip(trees, sentences, strict=True)]
    changed = 0
    for new, grown in made(sentences, trees, 0.5, 3):
        changed += sum(a.forms != b.forms for a, b in zip(sentences, new, strict=True))
        assert apart == [(tree != s.heads).sum() for tree, s in zip(grown, new, strict=True)]
        of_class = [replace(s, heads=tree) for s, tree in zip(new, grown, strict=True)]
        for tree, nearest in zip(grown, nearest_trees(of_class, vocabulary, system), strict=True):
            assert np.array_equal(tree, nearest)
    assert changed > len(sentences)


def test_all_that_comes_in_is_of_the_treebank_and_of_bounded_length(sentences: list[Sentence]) -> None:
    words = {word for s in sentences for word in zip(*(getattr(s, name) for name in RELATIONS), strict=True)}
    grafts = Grafts(sentences, [s.heads for s in sentences], 1.0)
    assert all(len(subtree) <= MOST_WORDS for pool in grafts.pool.values() for subtree in pool)
    new, trees = grafts(np.random.default_rng(0))
    for old, own, tree in zip(sentences, new, trees, strict=True):
        assert set(zip(*(getattr(own, name) for name in RELATIONS), strict=True)) <= words
        assert SHRINK * len(old) <= len(own) <= GROW * len(old) + SLACK and len(own) <= max(map(len, sentences))
        assert np.array_equal(own.heads, tree) and (np.array(own.deprels)[own.heads == 0] == "root").all()


def test_more_give_way_at_a_higher_rate_and_single_words_less_often() -> None:
    grafts = Grafts(TWO, [s.heads for s in TWO], 0.5)
    rng, times = np.random.default_rng(0), 4000
    taken = [old for _ in range(times) for old, _ in grafts._chosen(TWO[1], grafts.places[1], rng)]

    def share(words: int, subtrees: list[Subtree]) -> float:
        return sum(len(subtree) == words for subtree in subtrees) / times

    assert share(3, taken) == pytest.approx(0.5, abs=0.03)
    # Two words that give way at 0.5 x 0.3 where the whole has not.
    assert share(1, taken) == pytest.approx(2 * 0.5 * 0.15, abs=0.03)


def test_epochs_differ_and_are_repeated(treebank: Treebank, tmp_path: Path) -> None:
    trainer = experiment(treebank, tmp_path / "run", replace(TINY, graft=0.5)).trainer

    def words(epoch: int) -> list[list[list[int]]]:
        return [batch.lines.words.tolist() for batch in trainer.material(epoch)[0]]

    assert words(1) == words(1) != words(2)
    batches, targets = trainer.material(3)
    assert {batch.trees.heads.shape for batch in batches} <= {(s.sentences, s.words) for s in trainer.shapes}
    assert trainer.grafts
    _, trees = trainer.grafts(np.random.default_rng([TINY.seed, 3]))
    assert all((targets(batch.trees) == padded(batch.trees, trees)).all() for batch in batches)

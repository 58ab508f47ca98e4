"""Words exchanged in training: what they are, how many, and that an epoch's are always the same."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from training_cases import TINY, experiment, small_treebank

from experiments.augmentation import OPEN, Exchange
from experiments.batches import Batch
from experiments.treebank import Sentence, Treebank, read
from experiments.vocabulary import full_tags


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Treebank:
    return small_treebank(tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("part"))


@pytest.fixture(scope="module")
def sentences(treebank: Treebank) -> list[Sentence]:
    return read(treebank.train)


def kinds(sentence: Sentence) -> list[tuple[str, ...]]:
    return list(zip(sentence.upos, full_tags(sentence), sentence.deprels, strict=True))


def test_words_are_exchanged_for_words_of_their_kind(sentences: list[Sentence]) -> None:
    rng, exchange = np.random.default_rng(0), Exchange(sentences, 1.0)
    there = {(kind, *word) for s in sentences for kind, *word in zip(kinds(s), s.forms, s.lemmas, strict=True)}
    for old in sentences:
        new = exchange(old, rng)
        assert {(kind, *word) for kind, *word in zip(kinds(new), new.forms, new.lemmas, strict=True)} <= there
        assert kinds(new) == kinds(old) and new.heads is old.heads and new.tokens is old.tokens
        closed = [place for place, tag in enumerate(old.upos) if tag not in OPEN]
        assert [new.forms[place] for place in closed] == [old.forms[place] for place in closed]


def test_all_words_of_a_kind_are_drawn_as_often(sentences: list[Sentence]) -> None:
    """However often they stand in the treebank."""
    rng, exchange = np.random.default_rng(1), Exchange(sentences, 1.0)
    places = (exchange.words.get(kind, []) for kind in kinds(sentences[0]))
    place, words = next((place, words) for place, words in enumerate(places) if len(words) > 3)
    drawn = [exchange(sentences[0], rng).forms[place] for _ in range(200 * len(words))]
    assert all(140 < drawn.count(form) < 260 for form, _ in words)


def test_as_many_are_drawn_as_the_rate_says(sentences: list[Sentence]) -> None:
    """The one drawn may be the one that was there."""
    counts = []
    for rate in (0.0, 0.25, 1.0):
        rng, exchange = np.random.default_rng(2), Exchange(sentences, rate)
        made = [(old, exchange(old, rng)) for _ in range(20) for old in sentences]
        counts.append(sum(a != b for old, new in made for a, b in zip(old.forms, new.forms, strict=True)))
    none, quarter, all_ = counts
    assert none == 0 and quarter / all_ == pytest.approx(0.25, abs=0.02)


def test_epochs_differ_and_are_repeated(treebank: Treebank, tmp_path: Path) -> None:
    trainer = experiment(treebank, tmp_path / "run", replace(TINY, exchange=0.5)).trainer

    def words(batches: list[Batch]) -> list[list[list[int]]]:
        return [batch.words.tolist() for batch in batches]

    assert words(trainer.batches(1)) == words(trainer.batches(1)) != words(trainer.batches(2))
    assert {batch.words.shape for batch in trainer.batches(3)} <= {(s.sentences, s.words) for s in trainer.shapes}

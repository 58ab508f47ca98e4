"""Charts over real trees: what the classes cover, and that values do not depend on the company a sentence is in."""

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import structdep as sd
from structdep.charts import arc_eager, arc_hybrid, arc_standard, eisner, mhk, one_endpoint_crossing
from structdep.deduction import DeductionSystem
from structdep.testing import MAX, value
from structdep.trees import heads_to_arcs, is_projective, is_tree
from structdep_parser.data.conllu import Sentence, read
from structdep_parser.data.treebank import VARIABLE, find_treebank

FIRST = 50


def train(lang: str) -> list[Sentence]:
    try:
        return read(find_treebank(lang, version="2.0").train)
    except FileNotFoundError:
        pytest.skip(f"UD 2.0 {lang} is not below ${VARIABLE}")


class Batch(NamedTuple):
    heads: NDArray[np.int32]
    lengths: NDArray[np.int32]

    @classmethod
    def of(cls, sentences: list[Sentence]) -> "Batch":
        lengths = np.array([len(sentence) for sentence in sentences], np.int32)
        heads = np.zeros((len(sentences), lengths.max()), np.int32)
        for row, sentence in zip(heads, sentences, strict=True):
            row[: len(sentence)] = sentence.heads
        return cls(heads, lengths)


@pytest.fixture(scope="module")
def gothic() -> Batch:
    return Batch.of(train("got")[:FIRST])


@pytest.mark.parametrize("system", [eisner(), arc_hybrid(), arc_eager(), arc_standard()], ids=lambda s: s.name)
def test_projective_charts_keep_projective_trees_and_no_others(gothic: Batch, system: DeductionSystem) -> None:
    near = np.asarray(sd.nearest_tree(system, *gothic))
    kept = (near == gothic.heads).all(-1)
    assert np.array_equal(kept, is_projective(*gothic)) and 0 < kept.sum() < FIRST
    assert is_tree(near, gothic.lengths).all() and is_projective(near, gothic.lengths).all()


def test_mh4_covers_what_its_rules_derive(gothic: Batch) -> None:
    near = np.asarray(sd.nearest_tree(mhk(4), *gothic))
    shared = near == gothic.heads
    kept, projective = shared.all(-1), is_projective(*gothic)
    assert kept[projective].all() and is_tree(near, gothic.lengths).all()
    assert (shared.sum(-1) >= (np.asarray(sd.nearest_tree(eisner(), *gothic)) == gothic.heads).sum(-1)).all()
    assert kept.sum() > projective.sum() + (FIRST - projective.sum()) / 2
    for heads, length, is_kept in zip(*gothic, kept, strict=True):
        if length < 9 and not is_projective(heads[:length]):
            only_gold = np.where(heads_to_arcs(heads[:length]), 0.0, -np.inf)
            assert is_kept == (value(mhk(4), int(length), only_gold, MAX) == 0)


@pytest.mark.parametrize("system", [arc_hybrid(), pytest.param(mhk(4), marks=pytest.mark.slow)], ids=lambda s: s.name)
def test_log_partitions_do_not_depend_on_the_batch(gothic: Batch, system: DeductionSystem) -> None:
    heads, lengths = gothic
    words = heads.shape[1]
    scores = np.random.default_rng(0).normal(size=(FIRST, words + 1, words + 1)).astype(np.float32)
    together = np.asarray(sd.inside(system, scores, lengths, sd.LogSum))
    short = lengths <= 10
    apart = sd.inside(system, scores[short, :11, :11], lengths[short], sd.LogSum)
    np.testing.assert_allclose(apart, together[short], rtol=2e-6)
    backwards = sd.inside(system, scores[::-1], lengths[::-1], sd.LogSum)
    np.testing.assert_allclose(backwards[::-1], together, rtol=2e-6)


COVERAGE = {
    "got": {"words": 35024, "eisner": (2656, 33987), "mh4": (3294, 34928), "one_endpoint_crossing": (3305, 34938)},
    "hu": {"words": 20166, "eisner": (719, 19866), "mh4": (895, 20150), "one_endpoint_crossing": (889, 20144)},
}
"""Training sets of UD 2.0: trees of the class, right heads of nearest trees (Gómez-Rodríguez, Shi, Lee 2018)."""


@pytest.mark.slow
@pytest.mark.parametrize("system", [eisner(), mhk(4), one_endpoint_crossing()], ids=lambda s: s.name)
@pytest.mark.parametrize("lang", COVERAGE)
def test_published_coverage(lang: str, system: DeductionSystem) -> None:
    sentences = sorted(train(lang), key=len)
    covered = shared = 0
    for low, high in ((0, 16), (16, 32), (32, 64), (64, 1000)):
        batch = Batch.of([s for s in sentences if low < len(s) <= high])
        matches = np.asarray(sd.nearest_tree(system, *batch)) == batch.heads
        is_word = np.arange(batch.heads.shape[1]) < batch.lengths[:, None]
        covered += int((matches | ~is_word).all(-1).sum())
        shared += int((matches & is_word).sum())
    assert (covered, shared) == COVERAGE[lang][system.name]
    assert sum(map(len, sentences)) == COVERAGE[lang]["words"]

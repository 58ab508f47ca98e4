"""Training sentences in which some words have no head: parsers learn from the other words."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from training_cases import TINY, experiment, losses, small_treebank

from structdep_parser.data.conllu import read
from structdep_parser.data.corpus import Partial, nearest_trees
from structdep_parser.data.treebank import Treebank
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.parsers.charts import CHARTS
from structdep_parser.parsers.transition_parsers import SYSTEMS

PARTIAL = """\
# sent_id = part:100:1
1\tthe\t_\t_\t_\t_\t2\tdet\t_\t_
2\tdog\t_\t_\t_\t_\t3\tnsubj\t_\t_
3\tsaw\t_\t_\t_\t_\t_\t_\t_\t_
4\ther\t_\t_\t_\t_\t3\tobj\t_\t_

"""


@pytest.fixture
def treebank(tmp_path: Path) -> Treebank:
    """With a partial tree in front of the others."""
    made = small_treebank(tmp_path / "whole", tmp_path)
    whole = made.train.read_text(encoding="utf-8")
    made.train.write_text(PARTIAL + PARTIAL.replace("\t3\tobj", "\t_\tobj") + whole, encoding="utf-8")
    return made


slow = pytest.mark.slow


@pytest.mark.parametrize(
    ("parser", "loss"),
    [
        ("eisner", "hinge"),
        ("mst", "nll"),
        *(pytest.param(parser, "hinge", marks=slow) for parser in CHARTS),
        *(pytest.param(parser, "nll", marks=slow) for parser, chart in CHARTS.items() if chart.has_probabilities),
    ],
)
def test_what_is_known_is_learned(parser: str, loss: str, treebank: Treebank, tmp_path: Path) -> None:
    treebank.train.write_text(PARTIAL, encoding="utf-8")
    config = replace(TINY, parser=parser, loss=loss, tags="off", graft=0.0, epochs=30)
    found = losses(treebank, tmp_path / "run", config, steps=30)
    assert np.isfinite(found).all() and found[-1] < 0.5 * found[0]


def test_partial_trees_are_learned_among_others(treebank: Treebank, tmp_path: Path) -> None:
    made = experiment(treebank, tmp_path / "run")
    batches, targets = made.trainer.material(0)
    assert {type(targets(batch.trees)) for batch in batches} == {Partial, np.ndarray}
    assert sum(int((batch.trees.heads < 0).sum()) for batch in batches) == 3
    assert "_" not in made.corpus.vocabulary.deprels


def test_known_heads_are_those_of_a_tree_of_the_class(treebank: Treebank) -> None:
    sentence = replace(read(treebank.train, "partial")[0], heads=np.array([3, 4, -1, -1], np.int32))
    (tree,) = nearest_trees([sentence], Vocabulary.of([sentence]), CHARTS["eisner"].arcs)
    assert tree.tolist()[2:] == [-1, -1] and sorted((tree == sentence.heads).tolist()[:2]) == [False, True]


@pytest.mark.parametrize("parser", SYSTEMS)
def test_parsers_that_cannot_are_named(parser: str, treebank: Treebank, tmp_path: Path) -> None:
    message = (
        rf"line 4, sentence 1 \(sent_id = part:100:1\), word 3 \(saw\) has no head, and {parser} learns from whole"
    )
    with pytest.raises(ValueError, match=message):
        experiment(treebank, tmp_path / "run", replace(TINY, parser=parser, positions=2))
    assert not (tmp_path / "run").exists()


def test_lifted_trees_are_whole(treebank: Treebank, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"word 3 \(saw\) has no head, and --pseudo-projective learns from whole"):
        experiment(treebank, tmp_path / "run", replace(TINY, pseudo_projective="head"))


def test_trees_to_compare_with_are_whole(treebank: Treebank, tmp_path: Path) -> None:
    treebank.dev.write_text(PARTIAL, encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 4, sentence 1 .*: the head of word 3 \(saw\) is '_', expected"):
        experiment(treebank, tmp_path / "run")

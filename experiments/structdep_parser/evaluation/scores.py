"""How good predicted trees are, overall and by kind of arc."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from structdep.trees import AttachmentCounts, crossing_arcs
from structdep_parser.data.treebank import Sentence
from structdep_parser.data.vocabulary import full_tags
from structdep_parser.evaluation.conll18 import METRICS, outcomes, percentages
from structdep_parser.parsers.prediction import Predictions, Tags

LENGTHS = {"length 1": (1, 1), "length 2": (2, 2), "length 3-6": (3, 6), "length 7-": (7, np.inf)}


@dataclass(frozen=True)
class Evaluation:
    """Attachment counts of groups of words, by their gold arc, and how many sentences have their whole tree right.

    `conll18` has UAS, LAS and CLAS by the rules of that shared task, `tags` the shares of right tags, in per cent.
    """

    groups: dict[str, AttachmentCounts]
    sentences: int
    exact: int
    conll18: dict[str, float]
    tags: dict[str, float] = field(default_factory=dict)

    @property
    def all(self) -> AttachmentCounts:
        return self.groups["all"]

    def to_dict(self) -> dict[str, object]:
        """Percentages and counts, fit for JSON."""
        groups = {
            name: {"words": c.total, "uas": 100 * c.uas if c.total else None, "las": 100 * c.las if c.total else None}
            for name, c in self.groups.items()
        }
        exact = 100 * self.exact / self.sentences
        return {
            "sentences": self.sentences,
            "exact": exact,
            "conll18": self.conll18,
            "tags": self.tags,
            "groups": groups,
        }


def evaluate(sentences: Sequence[Sentence], predictions: Predictions) -> Evaluation:
    """Compare predicted trees with the sentences' own; punctuation counts, and so do subtypes of relations.

    Groups: all words; those but punctuation; those whose gold arc crosses another, or none; the root's; by the length
    of the gold arc; and by the treebank, where sentences have its name.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from structdep_parser.data.demo_treebank import write_demo_treebank
        >>> from structdep_parser.data.treebank import read
        >>> with TemporaryDirectory() as folder:
        ...     dev = read(write_demo_treebank(folder).dev)
        >>> evaluate(dev, Predictions.of(dev)).groups["crossing"].las
        1.0
    """
    (gold, gold_deprels), (heads, deprels) = _columns(Predictions.of(sentences)), _columns(predictions)
    crossing = np.concatenate([crossing_arcs(sentence.heads) for sentence in sentences])
    words = np.concatenate([np.arange(1, len(sentence) + 1) for sentence in sentences])
    lengths = np.where(gold == 0, 0, abs(gold - words))
    punct = np.char.partition(gold_deprels, ":")[:, 0] == "punct"
    groups = {"all": gold >= 0, "without punctuation": ~punct}
    groups |= {"crossing": crossing, "not crossing": ~crossing, "root": gold == 0}
    groups |= {name: (low <= lengths) & (lengths <= high) for name, (low, high) in LENGTHS.items()}
    treebanks = np.repeat([sentence.treebank for sentence in sentences], list(map(len, sentences)))
    groups |= {f"treebank {name}": treebanks == name for name in dict.fromkeys(treebanks.tolist()) if name}
    counts = {name: AttachmentCounts.of(gold[g], gold_deprels[g], heads[g], deprels[g]) for name, g in groups.items()}
    exact = sum(bool((s.heads == tree).all()) for s, tree in zip(sentences, predictions.heads, strict=True))
    conll18 = percentages(outcomes(gold, gold_deprels, heads, deprels).sum(-1))
    return Evaluation(counts, len(sentences), exact, dict(zip(METRICS, conll18.tolist(), strict=True)))


def tag_accuracies(sentences: Sequence[Sentence], predicted: Sequence[Tags]) -> dict[str, float]:
    """Shares of words, in per cent, whose universal tag is right, and whose language-specific one and features are."""
    pairs = {
        "UPOS": [(s.upos, tags.upos) for s, tags in zip(sentences, predicted, strict=True)],
        "XPOS and features": [
            (full_tags(s), tuple(map("\t".join, zip(tags.xpos, tags.feats, strict=True))))
            for s, tags in zip(sentences, predicted, strict=True)
        ],
    }
    return {
        name: 100 * float(np.mean([own == other for pair in both for own, other in zip(*pair, strict=True)]))
        for name, both in pairs.items()
    }


def by_relation(sentences: Sequence[Sentence], predictions: Predictions) -> dict[str, AttachmentCounts]:
    """Attachment counts of the words of each gold relation, the most frequent first."""
    gold_heads, gold_deprels = _columns(Predictions.of(sentences))
    heads, deprels = _columns(predictions)
    names, counts = np.unique(gold_deprels, return_counts=True)
    groups = {str(name): gold_deprels == name for name in names[np.argsort(-counts, kind="stable")]}
    return {
        name: AttachmentCounts.of(gold_heads[g], gold_deprels[g], heads[g], deprels[g]) for name, g in groups.items()
    }


def _columns(trees: Predictions) -> tuple[NDArray[np.int32], NDArray[np.str_]]:
    """The heads and relations of all words, one sentence after the other."""
    return np.concatenate(trees.heads), np.array([deprel for entry in trees.deprels for deprel in entry])

"""How good predicted trees are, overall and by kind of arc."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from structdep.trees import AttachmentCounts, crossing_arcs
from structdep_parser.data.treebank import Sentence
from structdep_parser.evaluation.conll18 import METRICS, outcomes, percentages
from structdep_parser.parsers.prediction import Predictions

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

    Groups: all words; those whose gold arc crosses another, or none; the root's; and by the length of the gold arc.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from structdep_parser.data.demo_treebank import write_demo_treebank
        >>> from structdep_parser.data.treebank import read
        >>> with TemporaryDirectory() as folder:
        ...     dev = read(write_demo_treebank(folder).dev)
        >>> evaluate(dev, Predictions([s.heads for s in dev], [s.deprels for s in dev])).groups["crossing"].las
        1.0
    """
    gold = np.concatenate([sentence.heads for sentence in sentences])
    heads = np.concatenate(predictions.heads)
    gold_deprels, deprels = (
        np.array([deprel for entry in entries for deprel in entry])
        for entries in ([sentence.deprels for sentence in sentences], predictions.deprels)
    )
    crossing = np.concatenate([crossing_arcs(sentence.heads) for sentence in sentences])
    words = np.concatenate([np.arange(1, len(sentence) + 1) for sentence in sentences])
    lengths = np.where(gold == 0, 0, abs(gold - words))
    groups = {"all": gold >= 0, "crossing": crossing, "not crossing": ~crossing, "root": gold == 0}
    groups |= {name: (low <= lengths) & (lengths <= high) for name, (low, high) in LENGTHS.items()}
    counts = {name: AttachmentCounts.of(gold[g], gold_deprels[g], heads[g], deprels[g]) for name, g in groups.items()}
    exact = sum(bool((s.heads == tree).all()) for s, tree in zip(sentences, predictions.heads, strict=True))
    conll18 = percentages(outcomes(gold, gold_deprels, heads, deprels).sum(-1))
    return Evaluation(counts, len(sentences), exact, dict(zip(METRICS, conll18.tolist(), strict=True)))

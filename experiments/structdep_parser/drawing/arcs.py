"""What is drawn of dependency trees: arcs between nodes, of a kind each, and the levels on which they lie."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from structdep_parser.data.conllu import Sentence

KINDS = {
    "plain": "of one tree",
    "right": "right",
    "relation": "right head, other relation (gold in brackets)",
    "wrong": "wrong head",
    "missed": "gold, not predicted",
}


@dataclass(frozen=True)
class Arc:
    """From `head` (0 is the root) to `dependent`, with a label, one of `KINDS`, and how opaque it is, 0..1."""

    head: int
    dependent: int
    label: str = ""
    kind: str = "plain"
    opacity: float = 1.0

    @property
    def left(self) -> int:
        return min(self.head, self.dependent)

    @property
    def right(self) -> int:
        return max(self.head, self.dependent)


def arcs_of(sentence: Sentence) -> list[Arc]:
    """The arcs of its tree; as opaque as they are probable where the column MISC has `ArcProb`."""
    arcs = zip(sentence.heads.tolist(), sentence.deprels, _probabilities(sentence), strict=True)
    return [
        Arc(head, word, deprel, opacity=probability) for word, (head, deprel, probability) in enumerate(arcs, start=1)
    ]


def _probabilities(sentence: Sentence) -> list[float]:
    entries = (misc.split("|") for misc in sentence.misc)
    found = (dict(entry.split("=", 1) for entry in word if "=" in entry) for word in entries)
    return [_probability(word.get("ArcProb", "1"), sentence) for word in found]


def _probability(text: str, sentence: Sentence) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value <= 1:
        raise ValueError(f"ArcProb={text}: expected a probability, in {sentence.where}")
    return value


def compared(predicted: Sequence[Arc], gold: Sequence[Arc]) -> list[Arc]:
    """Two trees in one: each predicted arc is right or not, and gold arcs that are not predicted are missed.

    Example:
        >>> gold, predicted = [Arc(2, 1, "det"), Arc(0, 2, "root")], [Arc(2, 1, "amod"), Arc(1, 2, "obj")]
        >>> [(arc.head, arc.dependent, arc.label, arc.kind) for arc in compared(predicted, gold)]
        [(2, 1, 'amod (det)', 'relation'), (1, 2, 'obj', 'wrong'), (0, 2, 'root', 'missed')]
    """
    by_dependent = {arc.dependent: arc for arc in gold}
    found = [_judged(arc, by_dependent[arc.dependent]) for arc in predicted]
    wrong = {arc.dependent for arc in found if arc.kind == "wrong"}
    return found + [Arc(arc.head, arc.dependent, arc.label, "missed") for arc in gold if arc.dependent in wrong]


def _judged(arc: Arc, gold: Arc) -> Arc:
    kind = "wrong" if arc.head != gold.head else "right" if arc.label == gold.label else "relation"
    label = f"{arc.label} ({gold.label})" if kind == "relation" else arc.label
    return Arc(arc.head, arc.dependent, label, kind, arc.opacity)


def likely(marginals: ArrayLike, least: float = 0.05) -> list[Arc]:
    """All arcs that are at least so probable, from `[n+1, n+1]` marginals of one sentence, labelled in per cent.

    Example:
        >>> import structdep as sd
        >>> [(arc.head, arc.dependent, arc.label) for arc in likely(sd.marginals(sd.charts.eisner(), np.eye(3)))]
        [(0, 1, '67'), (0, 2, '67'), (1, 2, '33'), (2, 1, '33')]
    """
    table = np.asarray(marginals)
    if table.ndim != 2 or table.shape[0] != table.shape[1]:
        raise ValueError(f"marginals have shape {table.shape}, expected [n+1, n+1], [head, dependent], of one sentence")
    found = ((head, word, float(table[head, word])) for head, word in np.argwhere(table >= least).tolist())
    return [Arc(head, word, f"{100 * p:.0f}", opacity=p) for head, word, p in found]


def levels(arcs: Sequence[Arc], apart: int = 0) -> dict[Arc, int]:
    """How high each arc lies, from 1: above shorter ones that it shares a gap between two words with.

    Arcs on one level are `apart` words from each other, at least.

    Example:
        >>> list(levels([Arc(0, 3), Arc(1, 2), Arc(2, 3)]).values())
        [2, 1, 1]
    """
    found: dict[Arc, int] = {}
    for arc in sorted(arcs, key=lambda arc: (arc.right - arc.left, arc.left)):
        near = (o for o in found if arc.left < o.right + apart and o.left < arc.right + apart)
        found[arc] = 1 + max((found[other] for other in near), default=0)
    return {arc: found[arc] for arc in arcs}


def legend(arcs: Sequence[Arc]) -> Mapping[str, str]:
    """The kinds that there are, with what they mean; nothing where all are of one tree."""
    kinds = {arc.kind for arc in arcs}
    return {} if kinds <= {"plain"} else {kind: meaning for kind, meaning in KINDS.items() if kind in kinds}

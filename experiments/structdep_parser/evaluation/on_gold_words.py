"""The trees of a file with other tokens, words or sentences than the gold file, as trees of the gold words."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from structdep_parser.data.conllu import Sentence
from structdep_parser.evaluation.alignment import align, of_same_text
from structdep_parser.parsers.prediction import Predictions

LOST = -1
"""In place of a head that is no word of the gold sentence."""


def on_gold_words(gold: Sequence[Sentence], system: Sequence[Sentence]) -> Predictions:
    """For each gold sentence, the heads and relations of the words that its words are aligned with.

    A gold word that is aligned with none has the head -1 and the relation _, and so counts as wrong; a head that is
    aligned with no word of the same gold sentence is -1.

    Raises:
        ValueError: the files are not of the same text.
    """
    there, here = of_same_text(gold, system)
    pairs = align(there.words, here.words)
    gold_of = {other: one for one, other in pairs}
    starts, ends = _bounds(gold)
    firsts = np.repeat(starts, np.subtract(ends, starts))
    heads, relations = np.full(len(there.words), LOST, np.int32), ["_"] * len(there.words)
    words = [(start, *word) for start, s in zip(_bounds(system)[0], system, strict=True) for word in _words(s)]
    for one, other in pairs:
        first, head, relations[one] = words[other]
        place = gold_of.get(first + head - 1, LOST) if head else LOST
        if head == 0:
            heads[one] = 0
        elif place >= 0 and firsts[place] == firsts[one]:
            heads[one] = place - firsts[one] + 1
    bounds = list(zip(starts, ends, strict=True))
    return Predictions([heads[a:b] for a, b in bounds], [tuple(relations[a:b]) for a, b in bounds])


def _words(sentence: Sentence) -> list[tuple[int, str]]:
    return list(zip(sentence.heads.tolist(), sentence.deprels, strict=True))


def _bounds(sentences: Sequence[Sentence]) -> tuple[list[int], list[int]]:
    """The place of each sentence's first word in the file, and the place behind its last."""
    ends = list(accumulate(map(len, sentences)))
    return [0, *ends[:-1]], ends

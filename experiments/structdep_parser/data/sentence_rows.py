"""Which rows of a table are those of a sentence, where a file has an array for each sentence."""

from collections.abc import Container
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from structdep_parser.data.conllu import Sentence


class NoFeatures(ValueError):
    """A file has no features of a sentence, or of other words."""


def name_of(sentence: Sentence, names: Container[str], path: Path) -> str:
    """The name of a sentence's array: its `sent_id`, or its number in its file, from 1.

    Raises:
        ValueError: the file has neither.
    """
    for name in (sentence.sent_id, str(sentence.number)):
        if name and name in names:
            return name
    raise NoFeatures(f"{sentence.where}: {path} has no features of this sentence, by sent_id or number")


def rows_of(sentence: Sentence, first: int, words: int, path: Path) -> NDArray[np.int64]:
    """The numbers of its rows; ValueError where they are not as many as its words."""
    if words != len(sentence):
        raise NoFeatures(f"{sentence.where} has {len(sentence)} words, its features in {path} are of {words}")
    return first + np.arange(words)

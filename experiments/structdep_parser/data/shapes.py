"""The few static shapes that a treebank's batches are padded to, so that a training step is compiled few times."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from structdep import batching
from structdep_parser.data.sentences import Sentence

LONGEST_FORM = 14
LONG = 50
"""Words from which on room, not the number of calls, is what counts in parsing."""


@dataclass(frozen=True, order=True)
class Shape(batching.Shape):
    """Words a row, rows, distinct forms (padding is one of them) and characters a form of a batch."""

    types: int
    characters: int


def plan(
    sentences: Sequence[Sentence], words_per_batch: int = 1000, max_shapes: int = 8, growth: float = 2.0
) -> tuple[Shape, ...]:
    """At most `max_shapes` shapes, shortest first, in which these sentences fit with little padding.

    Work is taken to grow with this power of the length (between the encoder's linear and the charts' cubic time; 3
    where theirs is quartic), so the few very long sentences get a shape of few rows. A shape has about
    `words_per_batch` words, and one row at least. Raises ValueError where there is no sentence.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from structdep_parser.data.demo_treebank import write_demo_treebank
        >>> from structdep_parser.data.sentences import read
        >>> with TemporaryDirectory() as folder:
        ...     shapes = plan(read(write_demo_treebank(folder).train), words_per_batch=200, max_shapes=3)
        >>> [shape.words for shape in shapes]
        [8, 12, 16]
    """
    if not sentences:
        raise ValueError("no sentences to plan batches for")
    characters = min(LONGEST_FORM, max(len(form) for sentence in sentences for form in sentence.forms))
    lengths = [len(sentence) for sentence in sentences]
    made = batching.plan(
        lengths,
        words_per_batch,
        lambda words: min(words, words_per_batch),
        growth=growth,
        max_shapes=max_shapes,
        multiple=4,
    )
    types = _most_types(sentences, lengths, made)
    return tuple(Shape(shape.words, shape.sentences, types[shape], characters) for shape in made)


@cache
def ladder(words_per_batch: int = 2000, longest: int = 2**14) -> tuple[Shape, ...]:
    """Shapes for sentences that are not known beforehand, each at most a quarter (or 8 words) longer than the last.

    Example:
        >>> [shape.words for shape in ladder(longest=100)], len(ladder())
        ([8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112], 40)
    """
    shapes, words = [], 0
    while words < longest:
        words += max(8, 2 ** (words.bit_length() - 3))
        rows = max(1, min(words_per_batch, LONG**2 * words_per_batch // max(words, LONG) ** 2) // words)
        shapes.append(Shape(words, rows, round_up(1 + max(words, words * rows // 2), 16), LONGEST_FORM))
    return tuple(shapes)


def _most_types(
    sentences: Sequence[Sentence], lengths: Sequence[int], shapes: Sequence[batching.Shape]
) -> dict[batching.Shape, int]:
    """Room for the forms of any sentence and of random batches, with a margin; fuller batches are closed early."""
    most = dict.fromkeys(shapes, 0)
    for seed in range(4):
        for shape, places in batching.batches(lengths, shapes, seed):
            types = frozenset[str]().union(*(sentences[place].forms for place in places))
            most[shape] = max(most[shape], len(types))
    return {shape: round_up(1 + max(shape.words, math.ceil(1.02 * number)), 16) for shape, number in most.items()}


def round_up(number: int, unit: int) -> int:
    """The least multiple of `unit` that is not below `number`."""
    return -(-number // unit) * unit

"""The few static shapes that a treebank's batches are padded to, so that a training step is compiled few times."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    """Full batches for sentences that are not known beforehand: each shape is at most half longer than the last.

    Example:
        >>> [shape.words for shape in ladder(longest=100)], len(ladder())
        ([8, 16, 24, 32, 48, 64, 96, 128], 22)
    """
    shapes: list[Shape] = []
    words = 8
    while not shapes or shapes[-1].words < longest:
        rows = max(1, min(words_per_batch, LONG**2 * words_per_batch // max(words, LONG) ** 2) // words)
        shapes.append(Shape(words, rows, _room(words, rows), LONGEST_FORM))
        words += max(8, 2 ** (words.bit_length() - 2))
    return tuple(shapes)


def with_rows(shape: Shape, sentences: int) -> Shape:
    """The shape with as many rows as this many sentences need: 1, 4, 16, .., or all.

    Example:
        >>> [with_rows(ladder()[2], sentences).sentences for sentences in (1, 2, 17, 90)]
        [1, 4, 64, 83]
    """
    rows = 1
    while rows < min(sentences, shape.sentences):
        rows = min(4 * rows, shape.sentences)
    return replace(shape, sentences=rows, types=min(shape.types, _room(shape.words, rows)))


def _room(words: int, rows: int) -> int:
    """Distinct forms: half of the words, but those of any one sentence."""
    return round_up(1 + max(words, words * rows // 2), 16)


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

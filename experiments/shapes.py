"""The few static shapes that a treebank's batches are padded to, so that a training step is compiled few times."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from experiments.sentences import Sentence

LONGEST_FORM = 14
LONG = 50
"""Words from which on room, not the number of calls, is what counts in parsing."""


@dataclass(frozen=True, order=True)
class Shape:
    """Words a row, rows, distinct forms (padding is one of them) and characters a form of a batch."""

    words: int
    sentences: int
    types: int
    characters: int


def plan(sentences: Sequence[Sentence], words_per_batch: int = 1000, max_shapes: int = 8) -> tuple[Shape, ...]:
    """At most `max_shapes` shapes, shortest first, in which these sentences fit with little padding.

    The limits on length minimize the sum of squares of padded lengths (between the encoder's linear and the charts'
    cubic or quartic time), so the few very long sentences get a shape of few rows. A shape has about `words_per_batch`
    words. Raises ValueError where there is no sentence.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from experiments.demo_treebank import write_demo_treebank
        >>> from experiments.sentences import read
        >>> with TemporaryDirectory() as folder:
        ...     shapes = plan(read(write_demo_treebank(folder).train), words_per_batch=200, max_shapes=3)
        >>> [shape.words for shape in shapes]
        [8, 12, 16]
    """
    if not sentences:
        raise ValueError("no sentences to plan batches for")
    characters = min(LONGEST_FORM, max(len(form) for sentence in sentences for form in sentence.forms))
    shapes, shorter = [], 0
    for words in _limits([len(sentence) for sentence in sentences], max_shapes):
        members = [sentence for sentence in sentences if shorter < len(sentence) <= words]
        rows = _rows(len(members), words, words_per_batch)
        shapes.append(Shape(words, rows, _most_types(members, rows), characters))
        shorter = words
    return tuple(shapes)


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


def _limits(lengths: Iterable[int], max_shapes: int) -> list[int]:
    """The upper ends, multiples of four, of at most `max_shapes` intervals of length, by dynamic programming."""
    rounded = [round_up(length, 4) for length in lengths]
    ends = [0, *sorted(set(rounded))]
    below = [sum(length <= end for length in rounded) for end in ends]

    @cache
    def best(last: int, shapes: int) -> tuple[float, tuple[int, ...]]:
        """The least cost of the sentences up to `ends[last]`, and the limits that have it."""
        if last == 0 or shapes == 0:
            return (0.0 if last == 0 else math.inf), ()
        return min(extended(first, last, shapes) for first in range(last))

    def extended(first: int, last: int, shapes: int) -> tuple[float, tuple[int, ...]]:
        cost, limits = best(first, shapes - 1)
        return cost + (below[last] - below[first]) * ends[last] ** 2, (*limits, ends[last])

    return list(best(len(ends) - 1, max_shapes)[1])


def _rows(sentences: int, words: int, words_per_batch: int) -> int:
    """Rows a batch, such that the last batch is nearly as full as the others."""
    batches = math.ceil(sentences / max(1, words_per_batch // words))
    return math.ceil(sentences / batches)


def _most_types(sentences: Sequence[Sentence], rows: int) -> int:
    """Room for the distinct forms of random batches, with a margin; fuller batches are closed early."""
    forms = [frozenset(sentence.forms) for sentence in sentences]
    orders = [np.arange(len(forms)), *(np.random.default_rng(seed).permutation(len(forms)) for seed in range(3))]
    groups = [order[start : start + rows] for order in orders for start in range(0, len(forms), rows)]
    most = max(len(frozenset[str]().union(*(forms[member] for member in group))) for group in groups)
    return round_up(1 + (most if rows == 1 else math.ceil(1.02 * most)), 16)


def round_up(number: int, unit: int) -> int:
    """The least multiple of `unit` that is not below `number`."""
    return -(-number // unit) * unit

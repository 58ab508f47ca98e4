"""The few static shapes that sentences are padded to, so that programs are compiled few times."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np

from structdep import batching
from structdep_parser.data.conllu import Sentence
from structdep_parser.data.lines import Room

LONGEST_FORM = 14
FORM_WIDTH = 3 * LONGEST_FORM
"""Places in a line of characters, which has several forms behind one another."""
LONG = 50
"""Words from which on room, not the number of calls, is what counts in parsing."""
PLACES_A_WORD = 1.2
"""In the lines of a batch, for each word that it has at most."""
USUAL, TREES, WIDE = 20, 0.05, 1.7
"""Scores and chart of this many places take this share of what reading them takes; wide lines take so much longer."""
ROWS = 1.15
"""Sentences of a batch, for each that its lines have room for on average."""
SHARES = 0.7, 0.95
"""Of the words, how many at least, and at most, are in sentences that fit into narrow lines."""


@dataclass(frozen=True, order=True)
class Shape:
    """The sizes of a batch: its trees, and the lines that its sentences are read in.

    Args:
        words: at most, of a tree.
        sentences: trees.
        lines: in which the sentences lie behind one another, each between two places of its own.
        width: places in a line.
        types: distinct forms, and one.
        form_lines: in which the characters of the forms lie.
        alone: each sentence has a line of its own.
    """

    words: int
    sentences: int
    lines: int
    width: int
    types: int
    form_lines: int
    alone: bool = False


def plan(
    sentences: Sequence[Sentence],
    words_per_batch: int = 1000,
    max_shapes: int = 8,
    growth: float = 2.0,
    alone: bool = False,
) -> tuple[Shape, ...]:
    """At most `max_shapes` shapes, shortest first, in which these sentences fit with little padding.

    Lines have about `words_per_batch` places in all, and one of two widths: a wide one for the few long sentences. A
    shape is for sentences of which one, two, three, .. fit into a line. The work of scores and charts is taken to grow
    with this power of the length (3 where charts take quartic time). Raises ValueError where there is no sentence.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from structdep_parser.data.demo_treebank import write_demo_treebank
        >>> from structdep_parser.data.conllu import read
        >>> with TemporaryDirectory() as folder:
        ...     shapes = plan(read(write_demo_treebank(folder).train), words_per_batch=200, max_shapes=3)
        >>> [(shape.words, shape.sentences, shape.lines, shape.width) for shape in shapes]
        [(6, 38, 15, 16), (14, 27, 15, 16)]
    """
    if not sentences:
        raise ValueError("no sentences to plan batches for")
    lengths = np.array([len(sentence) for sentence in sentences])
    choices = (some for narrow in _narrow(lengths) for some in _choices(lengths, narrow, max_shapes))
    best = min(choices, key=lambda some: _work(lengths, some, growth))
    shapes, shorter = [], 0
    for words, width in best:
        lines = max(1, words_per_batch // words if alone else int(PLACES_A_WORD * words_per_batch) // width)
        own = lengths[(lengths > shorter) & (lengths <= words)]
        rows = lines if alone else math.ceil(ROWS * lines * width / (own.mean() + 2))
        rows, lines = min(rows, len(own)), min(lines, len(own))
        shapes.append(Shape(words, rows, lines, words + 2 if alone else width, 0, 0, alone))
        shorter = words
    return _with_forms(sentences, lengths, shapes)


def _narrow(lengths: np.ndarray) -> range:
    """Widths of lines that most words have room in."""
    order = np.sort(lengths)
    least, most = (int(order[np.searchsorted(np.cumsum(order), share * order.sum())]) for share in SHARES)
    return range(round_up(least + 2, 4), round_up(most + 2, 4) + 1, 4)


def _choices(lengths: np.ndarray, narrow: int, most: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Numbers of words, shortest first, with the width of their lines; the last is the longest."""
    wide = round_up(int(lengths.max()) + 2, 4)
    found = {narrow // share - 2: narrow for share in range(1, 2 + most) if narrow // share > 4 and narrow < wide}
    found |= {wide // share - 2: wide for share in range(2, 2 + most) if wide // share > (narrow if found else 4)}
    found[wide - 2] = wide
    *others, longest = sorted(found.items())
    for number in range(min(most, len(found))):
        yield from ((*some, longest) for some in combinations(others, number))


def _work(lengths: np.ndarray, ends: Sequence[tuple[int, int]], growth: float) -> float:
    """About what sentences take in shapes of these words and widths, in places of narrow lines."""
    words, widths = np.array(ends)[np.searchsorted([words for words, _ in ends], lengths)].T
    reading = (lengths + 2) * np.where(widths > ends[0][1], WIDE, 1)
    return float((reading + USUAL * TREES * ((words + 2) / USUAL) ** growth).sum())


@cache
def ladder(words_per_batch: int = 2000, longest: int = 2**14) -> tuple[batching.Shape, ...]:
    """Full batches of trees that are not known beforehand: each shape is at most half longer than the last.

    Example:
        >>> [shape.words for shape in ladder(longest=100)], len(ladder())
        ([8, 16, 24, 32, 48, 64, 96, 128], 22)
    """
    shapes: list[batching.Shape] = []
    words = 8
    while not shapes or shapes[-1].words < longest:
        rows = max(1, min(words_per_batch, LONG**2 * words_per_batch // max(words, LONG) ** 2) // words)
        shapes.append(batching.Shape(words, rows))
        words += max(8, 2 ** (words.bit_length() - 2))
    return tuple(shapes)


def rung(words: int) -> batching.Shape:
    """The shape of the ladder for sentences of this length; ValueError for those that are too long.

    Example:
        >>> rung(9).words, rung(64).words
        (16, 64)
    """
    if words > (longest := ladder()[-1].words):
        raise ValueError(f"a sentence has {words} words, and {longest} are the most: split it")
    return next(shape for shape in ladder() if shape.words >= words)


def few(number: int, most: int) -> int:
    """What holds this many: 1, 4, 16, .., or `most`.

    Example:
        >>> [few(number, 83) for number in (1, 2, 17, 90)]
        [1, 4, 64, 83]
    """
    found = 1
    while found < min(number, most):
        found = min(4 * found, most)
    return found


def _with_forms(sentences: Sequence[Sentence], lengths: np.ndarray, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """Room for the forms of any sentence and of random batches, with a margin; fuller batches are closed early."""
    types, form_lines = 0, 1
    for seed in range(2):
        for members in _random_groups(lengths, shapes, np.random.default_rng(seed)):
            forms = frozenset[str]().union(*(sentences[member].forms for member in members))
            types = max(types, len(forms))
            room = Room(FORM_WIDTH)
            for form in sorted(forms):
                room.put(min(len(form), LONGEST_FORM))
            form_lines = max(form_lines, room.lines)
    longest = {shape.width: shape.words for shape in shapes}
    return tuple(
        replace(
            shape,
            types=round_up(1 + max(longest[shape.width], math.ceil(1.02 * types)), 16),
            form_lines=max(form_lines + 1, longest[shape.width] // 3 + 1),
        )
        for shape in shapes
    )


def _random_groups(lengths: np.ndarray, shapes: Sequence[Shape], rng: np.random.Generator) -> Iterator[list[int]]:
    numbers = np.searchsorted([shape.words for shape in shapes], lengths)
    for number, shape in enumerate(shapes):
        group, room = list[int](), Room(shape.width, shape.lines, shape.alone)
        for member in rng.permutation(np.flatnonzero(numbers == number)).tolist():
            if len(group) == shape.sentences or room.put(lengths[member] + 2) is None:
                yield group
                group, room = [], Room(shape.width, shape.lines, shape.alone)
                room.put(lengths[member] + 2)
            group.append(member)
        if group:
            yield group


def round_up(number: int, unit: int) -> int:
    """The least multiple of `unit` that is not below `number`."""
    return -(-number // unit) * unit

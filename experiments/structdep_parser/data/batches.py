"""Batches of sentences as arrays of numbers, in few static shapes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from structdep_parser.data.batch import Batch, TreeBatch, typed
from structdep_parser.data.conllu import Sentence
from structdep_parser.data.encoding import Encoded, in_lines, spelled
from structdep_parser.data.features import Features
from structdep_parser.data.lines import Room
from structdep_parser.data.shapes import FORM_WIDTH, Shape, few, plan, rung
from structdep_parser.data.vocabulary import Vocabulary

PASSED = 8
"""Sentences for which a batch has no room, before it is closed."""


def batches(
    sentences: Sequence[Sentence],
    vocabulary: Vocabulary,
    words_per_batch: int = 1000,
    rng: np.random.Generator | None = None,
    shapes: Sequence[Shape] | None = None,
    features: Features | None = None,
) -> list[Batch]:
    """Every sentence in one batch, with sentences of similar length; each batch has one of `shapes`.

    `shapes` is `plan(sentences, words_per_batch)` where it is not given; plan once for all epochs (or for dev and test
    together). `rng` shuffles the sentences and the batches; without it they are in order of length. Raises ValueError
    where a sentence fits in no shape.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from structdep_parser.data.demo_treebank import write_demo_treebank
        >>> from structdep_parser.data.batch import padding_share
        >>> from structdep_parser.data.conllu import read
        >>> with TemporaryDirectory() as folder:
        ...     train = read(write_demo_treebank(folder).train)
        >>> made = batches(train, Vocabulary.of(train), 200, np.random.default_rng(1))
        >>> sum(int((batch.trees.index >= 0).sum()) for batch in made), padding_share(made) < 0.5
        (600, True)
    """
    shapes = sorted(shapes or plan(sentences, words_per_batch))
    encoded, made = Encoded.of(sentences, vocabulary, features), []
    lengths, longest = np.array([len(sentence) for sentence in sentences]), [shape.words for shape in shapes]
    if lengths.max() > longest[-1]:
        raise ValueError(
            f"sentence {lengths.argmax()} has {lengths.max()} words, the largest shape {longest[-1]}; "
            "write shapes=plan(all sentences that are to be batched)"
        )
    numbers = np.searchsorted(longest, lengths)
    for number, shape in enumerate(shapes):
        members = np.flatnonzero(numbers == number)
        order = np.argsort(lengths[members], kind="stable") if rng is None else rng.permutation(len(members))
        rest = members[order].tolist()
        while rest:
            group = _Group(shape, encoded, rest)
            seen = len(group.roots) + PASSED + 1
            rest = [member for member in rest[:seen] if member not in group.roots] + rest[seen:]
            made.append(group.batch())
    return made if rng is None else [made[number] for number in rng.permutation(len(made))]


class _Group:
    """As many of these sentences as a batch of this shape has room for, those that do not fit being passed over.

    No more than `PASSED` are.

    Raises:
        ValueError: not even for the first.
    """

    def __init__(self, shape: Shape, encoded: Encoded, members: Iterable[int]) -> None:
        self.shape, self.encoded = shape, encoded
        self.lines, self.form_lines = Room(shape.width, shape.lines, shape.alone), Room(FORM_WIDTH, shape.form_lines)
        self.roots: dict[int, int] = {}
        self.forms: dict[int, int] = {}
        passed = 0
        for member in members:
            passed += not self._adds(member)
            if len(self.roots) == shape.sentences or passed > PASSED or not self.roots:
                break
        if not self.roots:
            words, forms = encoded.rows[member].shape[1], len(set(encoded.rows[member][1].tolist()))
            raise ValueError(
                f"sentence {member} has {words} words and {forms} distinct forms, more than fit into {shape}; write "
                "shapes=plan(all sentences that are to be batched)"
            )

    def _adds(self, member: int) -> bool:
        """Whether there is room for a sentence; its forms may take some even if not."""
        row = self.encoded.rows[member]
        new = dict.fromkeys(set(row[1].tolist()) - self.forms.keys(), -1)
        if len(self.forms) + len(new) >= self.shape.types:
            return False
        for form in sorted(new):
            if (place := self.form_lines.put(len(self.encoded.characters[form]))) is None:
                return False
            new[form] = place
        if (root := self.lines.put(row.shape[1] + 2)) is None:
            return False
        self.forms.update(new)
        self.roots[member] = root
        return True

    def batch(self) -> Batch:
        shape = self.shape
        lines, gold = in_lines(self.encoded, self.roots, shape.lines, shape.width)
        number = np.zeros(len(self.encoded.characters), np.int32)
        number[list(self.forms)] = range(1, len(self.forms) + 1)
        forms = spelled(self.encoded, self.forms, shape.form_lines, shape.types)
        places = np.zeros(shape.sentences, np.int32)
        places[: len(self.roots)] = list(self.roots.values())
        (root,) = typed(places)
        heads = {member: self.encoded.rows[member][-1] for member in self.roots}
        lines = replace(lines, form=number[np.asarray(lines.form)])
        return Batch(lines, forms, gold, root, _padded(heads, shape.sentences, shape.words))


def tree_batches(sentences: Sequence[Sentence]) -> Iterator[TreeBatch]:
    """Batches of trees alone, longest first, each full but for the last one.

    A batch has the shape of its longest tree in `ladder`, and few rows where few trees are left.

    Example:
        >>> from structdep_parser.data.conllu import from_text
        >>> text = list(from_text([b"a b c\\n", b"a b c d e f g h i\\n"], "text"))
        >>> [(batch.heads.shape, batch.index.tolist()) for batch in tree_batches(text)]
        [((4, 16), [1, 0, -1, -1])]
    """
    rest = sorted(range(len(sentences)), key=lambda place: -len(sentences[place]))
    while rest:
        shape = rung(len(sentences[rest[0]]))
        rows = few(len(rest), shape.sentences)
        yield _padded({member: sentences[member].heads for member in rest[:rows]}, rows, shape.words)
        rest = rest[rows:]


def _padded(trees: Mapping[int, NDArray[np.int32]], rows: int, words: int) -> TreeBatch:
    """A batch of trees, by the places of their sentences."""
    heads, lengths, index = np.zeros((rows, words), np.int32), np.ones(rows, np.int32), np.full(rows, -1, np.int32)
    for row, (member, own) in enumerate(trees.items()):
        heads[row, : len(own)], lengths[row], index[row] = own, len(own), member
    return TreeBatch(*typed(heads, lengths, index))

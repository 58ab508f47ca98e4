"""Batches of sentences as arrays of numbers, in few static shapes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import jax
import numpy as np
from numpy.typing import NDArray

from structdep_parser.data.features import Features
from structdep_parser.data.lines import Room, empty
from structdep_parser.data.sentences import Sentence
from structdep_parser.data.shapes import FORM_WIDTH, LONGEST_FORM, Shape, few, ladder, plan
from structdep_parser.data.vocabulary import Vocabulary, full_tags


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Forms:
    """The distinct forms of a batch, whose characters lie in lines (see `data.lines`), so that each is read once.

    `characters` and `start` [form lines, FORM_WIDTH] are the characters' numbers, 0 in padding, and where forms begin;
    `first` and `last` [T] are the places of each form's first and last character. Row 0 is no form.
    """

    characters: jax.Array
    start: jax.Array
    first: jax.Array
    last: jax.Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Lines:
    """What the encoder reads: sentences in lines (see `data.lines`), each with a place for the root before its words,
    and one for the sentinel behind them.

    `words`, `form` (the number of each word's), `treebank` (that of its treebank, 0 where they have no names) and
    `start` [lines, width]; `features` [lines, width, features] are float32, of no width where there are none.
    """

    words: jax.Array
    form: jax.Array
    treebank: jax.Array
    start: jax.Array
    features: jax.Array


AnyLines = TypeVar("AnyLines", Forms, Lines)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Gold:
    """What words are, at their places in lines: [lines, width], -1 where it is not known, or no word is.

    `heads` are places, too. `upos`, `xpos` and `lemmas` are numbers in the vocabulary, as `deprels`.
    """

    heads: jax.Array
    deprels: jax.Array
    upos: jax.Array
    xpos: jax.Array
    lemmas: jax.Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TreeBatch:
    """B trees of at most n words.

    `heads` [B, n] are 0 in padding, -1 where a head is not known; `lengths` [B] count words. `index` [B] is the place
    in the list of sentences; it is -1 in a row that only fills the batch, which has one word of padding, attached to
    the root. Arrays are numpy's, int32, and jax's within jitted code.
    """

    heads: jax.Array
    lengths: jax.Array
    index: jax.Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Batch:
    """Sentences to train on: in lines, and their trees, with the places of their roots, `root` [B]."""

    lines: Lines
    forms: Forms
    gold: Gold
    root: jax.Array
    trees: TreeBatch

    @property
    def words(self) -> int:
        """How many words there are."""
        return int(np.sum(np.where(np.asarray(self.trees.index) >= 0, self.trees.lengths, 0)))


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
        >>> from structdep_parser.data.sentences import read
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
            made.append(batch := _Group(shape, encoded, rest).batch())
            rest = rest[int((batch.trees.index >= 0).sum()) :]
    return made if rng is None else [made[number] for number in rng.permutation(len(made))]


def filled(batch: Batch, multiple: int) -> Batch:
    """The batch with lines, rows, and room for forms, in multiples of a number; they are like others that only fill it.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from structdep_parser.data.demo_treebank import write_demo_treebank
        >>> from structdep_parser.data.sentences import read
        >>> with TemporaryDirectory() as folder:
        ...     train = read(write_demo_treebank(folder).train)[:3]
        >>> (batch,) = batches(train, Vocabulary.of(train), shapes=plan(train, max_shapes=1))
        >>> filled(batch, 4).trees.index.tolist(), filled(batch, 4).trees.lengths.tolist()
        ([1, 0, 2, -1], [7, 9, 10, 1])
    """

    def fill(table: Any, value: int = 0) -> Any:
        missing = [(0, -len(table) % multiple)] + [(0, 0)] * (table.ndim - 1)
        return np.pad(table, missing, constant_values=value)

    def longer(part: AnyLines) -> AnyLines:
        start = empty(len(fill(part.start)), part.start.shape[1])
        start[: len(part.start)] = part.start
        return replace(jax.tree.map(fill, part), start=cast("Any", start))

    trees = batch.trees
    return Batch(
        longer(batch.lines),
        longer(batch.forms),
        jax.tree.map(lambda table: fill(table, -1), batch.gold),
        fill(batch.root),
        TreeBatch(fill(trees.heads), fill(trees.lengths, 1), fill(trees.index, -1)),
    )


def padding_share(made: Sequence[Batch]) -> float:
    """The share of places in the lines of these batches that hold no word."""
    return 1 - sum(batch.words for batch in made) / sum(batch.lines.words.size for batch in made)


@dataclass(frozen=True)
class Encoded:
    """Sentences as numbers: for each, words, forms (rows of `characters`, from 1), treebank, deprels, upos, xpos,
    lemmas and heads, as [8, n]."""

    rows: list[NDArray[np.int32]]
    characters: list[list[int]]
    features: Features | None
    feature_rows: list[NDArray[np.int64]]

    @classmethod
    def of(cls, sentences: Sequence[Sentence], vocabulary: Vocabulary, features: Features | None) -> "Encoded":
        forms = {form: number for number, form in enumerate(sorted({f for s in sentences for f in s.forms}), start=1)}
        characters = [vocabulary.form(shortened(form, LONGEST_FORM)) for form in forms]
        found = [features.rows(s) if s.rows is None else s.rows for s in sentences] if features else []
        return cls([_row(s, vocabulary, forms) for s in sentences], [[], *characters], features, found)


def _row(sentence: Sentence, vocabulary: Vocabulary, forms: dict[str, int]) -> NDArray[np.int32]:
    return np.array(
        [
            [vocabulary.word(form) for form in sentence.forms],
            [forms[form] for form in sentence.forms],
            [vocabulary.treebank(sentence.treebank) if vocabulary.treebanks else 0] * len(sentence),
            [vocabulary.deprel(deprel) for deprel in sentence.deprels],
            [vocabulary.upos_tag(tag) for tag in sentence.upos],
            [vocabulary.xpos_tag(tag) for tag in full_tags(sentence)],
            [vocabulary.lemma(lemma) for lemma in sentence.lemmas],
            sentence.heads,
        ],
        np.int32,
    )


def shortened(form: str, characters: int) -> str:
    """At most this many characters of a form, from both its ends.

    Example:
        >>> shortened("gasaiƕaina", 10), shortened("gasaiƕaina", 7)
        ('gasaiƕaina', 'gasaina')
    """
    tail = characters // 2
    return form if len(form) <= characters else form[: characters - tail] + form[len(form) - tail :]


class _Group:
    """As many of these sentences, from the first on, as a batch of this shape has room for.

    Raises:
        ValueError: not even for the first.
    """

    def __init__(self, shape: Shape, encoded: Encoded, members: Iterable[int]) -> None:
        self.shape, self.encoded = shape, encoded
        self.lines, self.form_lines = Room(shape.width, shape.lines, shape.alone), Room(FORM_WIDTH, shape.form_lines)
        self.roots: dict[int, int] = {}
        self.forms: dict[int, int] = {}
        for member in members:
            if len(self.roots) == shape.sentences or not self._adds(member):
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
        heads = np.zeros((shape.sentences, shape.words), np.int32)
        root, lengths, index = (np.full(shape.sentences, value, np.int32) for value in (0, 1, -1))
        for row, (member, place) in enumerate(self.roots.items()):
            own = self.encoded.rows[member][-1]
            heads[row, : len(own)], root[row], lengths[row], index[row] = own, place, len(own), member
        lines = replace(lines, form=number[np.asarray(lines.form)])
        return Batch(lines, forms, gold, cast("Any", root), TreeBatch(*_typed(heads, lengths, index)))


def in_lines(encoded: Encoded, roots: Mapping[int, int], lines: int, width: int) -> tuple[Lines, Gold]:
    """Sentences whose roots have these places, with the numbers of their forms among all."""
    tables = np.full((8, lines * width), -1, np.int32)
    tables[:3] = 0
    start, table_rows = empty(lines, width), np.full(lines * width, -1, np.int64)
    for member, place in roots.items():
        row = encoded.rows[member]
        words = slice(place + 1, place + 1 + row.shape[1])
        tables[:, words], start.reshape(-1)[place : words.stop + 1] = row, place
        tables[-1, words] += np.where(row[-1] < 0, 0, place)
        if encoded.features is not None:
            table_rows[words] = encoded.feature_rows[member]
    features = (
        np.zeros((lines * width, 0), np.float32) if encoded.features is None else encoded.features.values(table_rows)
    )
    numbers, form, treebank, *gold = tables.reshape(8, lines, width)
    deprels, upos, xpos, lemmas, heads = gold
    made = Lines(*_typed(numbers, form, treebank, start, features.reshape(lines, width, -1)))
    return made, Gold(*_typed(heads, deprels, upos, xpos, lemmas))


def spelled(encoded: Encoded, places: Mapping[int, int], lines: int, types: int) -> Forms:
    """Forms whose first characters have these places, in rows from the second on."""
    characters, start = np.zeros((lines, FORM_WIDTH), np.int32), empty(lines, FORM_WIDTH)
    first, last = (np.zeros(types, np.int32) for _ in range(2))
    for number, (form, place) in enumerate(places.items(), start=1):
        own = encoded.characters[form]
        end = place + len(own)
        characters.reshape(-1)[place:end], start.reshape(-1)[place:end] = own, place
        first[number], last[number] = place, end - 1
    return Forms(*_typed(characters, start, first, last))


def tree_batches(sentences: Sequence[Sentence]) -> Iterator[TreeBatch]:
    """Batches of trees alone, longest first, each full but for the last one.

    A batch has the shape of its longest tree in `ladder`, and few rows where few trees are left.

    Example:
        >>> from structdep_parser.data.sentences import from_text
        >>> text = list(from_text([b"a b c\\n", b"a b c d e f g h i\\n"], "text"))
        >>> [(batch.heads.shape, batch.index.tolist()) for batch in tree_batches(text)]
        [((4, 16), [1, 0, -1, -1])]
    """
    rest = sorted(range(len(sentences)), key=lambda place: -len(sentences[place]))
    while rest:
        shape = next(shape for shape in ladder() if shape.words >= len(sentences[rest[0]]))
        rows = few(len(rest), shape.sentences)
        heads, lengths = np.zeros((rows, shape.words), np.int32), np.ones(rows, np.int32)
        index = np.full(rows, -1, np.int32)
        for row, member in enumerate(rest[:rows]):
            own = sentences[member].heads
            heads[row, : len(own)], lengths[row], index[row] = own, len(own), member
        yield TreeBatch(*_typed(heads, lengths, index))
        rest = rest[rows:]


def _typed(*tables: NDArray[Any]) -> tuple[jax.Array, ...]:
    """numpy's arrays, which become jax's."""
    return cast("tuple[jax.Array, ...]", tables)

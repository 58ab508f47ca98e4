"""Batches of sentences as arrays of numbers, in few static shapes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, cast

import jax
import numpy as np
from numpy.typing import NDArray

from structdep import batching
from structdep_parser.data.features import Features
from structdep_parser.data.sentences import Sentence
from structdep_parser.data.shapes import LONGEST_FORM, Shape, ladder, plan, with_rows
from structdep_parser.data.vocabulary import Vocabulary, full_tags


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Batch:
    """B rows of at most n words, with at most T distinct forms of at most c characters.

    Every array is int32, but `features` [B, n, width], which are float32; the width is 0 where there are none.

    Arrays come as numpy's, and are jax's within jitted code.

    `words`, `upos`, `xpos`, `lemmas`, `heads`, `deprels` [B, n] are 0 in padding; `lengths` [B] counts words.
    `word_types` [B, n] gives each word's row in `type_chars` [T, c] and `type_lengths` [T], so that what depends on the
    form alone is computed once a form; row 0 is the padding's (one character 0), and unused rows are like it. `index`
    [B] is the place in the list of sentences; it is -1 in a row that only fills the batch, which has one word of
    padding, attached to the root. `treebanks` [B] are the numbers of treebanks, 0 where there are no names.
    """

    words: jax.Array
    word_types: jax.Array
    type_chars: jax.Array
    type_lengths: jax.Array
    upos: jax.Array
    xpos: jax.Array
    lemmas: jax.Array
    heads: jax.Array
    deprels: jax.Array
    lengths: jax.Array
    index: jax.Array
    features: jax.Array
    treebanks: jax.Array


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
        >>> sum(int((batch.index >= 0).sum()) for batch in made), padding_share(made) < 0.3
        (600, True)
    """
    shapes = shapes or plan(sentences, words_per_batch)
    encoded = _encode(sentences, vocabulary, shapes[0].characters, features)
    made = []
    for shape, places in batching.batches([len(sentence) for sentence in sentences], shapes, rng):
        made += [_batch(shape, group, encoded) for group in _groups(places.tolist(), encoded, shape)]
    return made


def free_batches(
    sentences: Sequence[Sentence], vocabulary: Vocabulary, features: Features | None = None
) -> Iterator[Batch]:
    """Batches of sentences that no shapes were planned for, longest first, each full but for the last one.

    A batch has the shape of its longest sentence in `ladder`, and few rows where few sentences are left.

    Example:
        >>> from structdep_parser.data.sentences import from_text
        >>> text = list(from_text([b"a b c\\n", b"a b c d e f g h i\\n"], "text"))
        >>> [batch.words.shape for batch in free_batches(text, Vocabulary.of(text))]
        [(4, 16)]
    """
    encoded = _encode(sentences, vocabulary, LONGEST_FORM, features)
    order = sorted(range(len(sentences)), key=lambda place: -len(sentences[place]))
    while order:
        shape = next(shape for shape in ladder() if shape.words >= len(sentences[order[0]]))
        shape = with_rows(shape, len(order))
        group = next(_groups(order[: shape.sentences], encoded, shape))
        yield _batch(shape, group, encoded)
        order = order[len(group) :]


def filled(batch: Batch, multiple: int) -> Batch:
    """The batch with rows, and room for forms, in multiples of a number; they are like others that only fill it.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from structdep_parser.data.demo_treebank import write_demo_treebank
        >>> from structdep_parser.data.sentences import read
        >>> with TemporaryDirectory() as folder:
        ...     train = read(write_demo_treebank(folder).train)[:3]
        >>> (batch,) = batches(train, Vocabulary.of(train), shapes=plan(train, max_shapes=1))
        >>> filled(batch, 4).index.tolist(), filled(batch, 4).lengths.tolist()
        ([1, 0, 2, -1], [7, 9, 10, 1])
    """

    def fill(table: NDArray[Any], value: int) -> NDArray[Any]:
        missing = [(0, -len(table) % multiple)] + [(0, 0)] * (table.ndim - 1)
        return np.pad(table, missing, constant_values=value)

    values = {"lengths": 1, "type_lengths": 1, "index": -1}
    tables = {field.name: fill(getattr(batch, field.name), values.get(field.name, 0)) for field in fields(batch)}
    return Batch(**cast("dict[str, jax.Array]", tables))


def padding_share(made: Sequence[Batch]) -> float:
    """The share of word positions in these batches that hold no word."""
    words = sum(int(np.sum(np.where(batch.index >= 0, batch.lengths, 0))) for batch in made)
    return 1 - words / sum(batch.words.size for batch in made)


@dataclass(frozen=True)
class _Encoded:
    """Sentences as numbers: for each, words, forms (rows of `characters`), upos, xpos, lemmas,
    heads and deprels, as [7, n]."""

    rows: list[NDArray[np.int32]]
    characters: NDArray[np.int32]
    lengths: NDArray[np.int32]
    features: Features | None
    feature_rows: list[NDArray[np.int64]]
    treebanks: NDArray[np.int32]


def _encode(
    sentences: Sequence[Sentence], vocabulary: Vocabulary, characters: int, features: Features | None
) -> _Encoded:
    forms = {form: number for number, form in enumerate(sorted({f for s in sentences for f in s.forms}), start=1)}
    table = np.zeros((len(forms) + 1, characters), np.int32)
    lengths = np.ones(len(forms) + 1, np.int32)
    for form, number in forms.items():
        ids = vocabulary.form(shortened(form, characters))
        table[number, : len(ids)], lengths[number] = ids, len(ids)
    found = [features.rows(s) if s.rows is None else s.rows for s in sentences] if features else []
    treebanks = np.array([vocabulary.treebank(s.treebank) if vocabulary.treebanks else 0 for s in sentences], np.int32)
    return _Encoded([_row(s, vocabulary, forms) for s in sentences], table, lengths, features, found, treebanks)


def _row(sentence: Sentence, vocabulary: Vocabulary, forms: dict[str, int]) -> NDArray[np.int32]:
    return np.array(
        [
            [vocabulary.word(form) for form in sentence.forms],
            [forms[form] for form in sentence.forms],
            [vocabulary.upos_tag(tag) for tag in sentence.upos],
            [vocabulary.xpos_tag(tag) for tag in full_tags(sentence)],
            [vocabulary.lemma(lemma) for lemma in sentence.lemmas],
            sentence.heads,
            [vocabulary.deprel(deprel) for deprel in sentence.deprels],
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


def _groups(members: list[int], encoded: _Encoded, shape: Shape) -> Iterator[list[int]]:
    """The members of a batch, in several where they have more forms than it has room for."""
    group: list[int] = []
    types: set[int] = {0}
    for member in members:
        more = types.union(encoded.rows[member][1].tolist())
        if group and len(more) > shape.types:
            yield group
            group, more = [], {0}.union(encoded.rows[member][1].tolist())
        if len(more) > shape.types:
            raise ValueError(
                f"sentence {member} has {len(more) - 1} distinct forms, {shape} has room for {shape.types - 1}; "
                "write shapes=plan(all sentences that are to be batched)"
            )
        group, types = [*group, member], more
    yield group


def _batch(shape: Shape, group: list[int], encoded: _Encoded) -> Batch:
    rows = np.zeros((7, shape.sentences, shape.words), np.int32)
    lengths, index = np.ones(shape.sentences, np.int32), np.full(shape.sentences, -1, np.int32)
    for place, member in enumerate(group):
        row = encoded.rows[member]
        rows[:, place, : row.shape[1]], lengths[place], index[place] = row, row.shape[1], member
    words, forms, upos, xpos, lemmas, heads, deprels = rows
    used, types = np.unique(np.append(forms, 0), return_inverse=True)
    type_chars, type_lengths = np.zeros((shape.types, shape.characters), np.int32), np.ones(shape.types, np.int32)
    type_chars[: len(used)], type_lengths[: len(used)] = encoded.characters[used], encoded.lengths[used]
    word_types = types[:-1].reshape(forms.shape).astype(np.int32)
    features = _features(shape, group, encoded)
    treebanks = np.where(index >= 0, encoded.treebanks[index], 0).astype(np.int32)
    forms_of, trees = (words, word_types, type_chars, type_lengths, upos, xpos, lemmas), (heads, deprels)
    arrays = *forms_of, *trees, lengths, index, features, treebanks
    return Batch(*cast("tuple[jax.Array, ...]", arrays))


def _features(shape: Shape, group: list[int], encoded: _Encoded) -> NDArray[np.float32]:
    if encoded.features is None:
        return np.zeros((shape.sentences, shape.words, 0), np.float32)
    rows = np.full((shape.sentences, shape.words), -1, np.int64)
    for place, member in enumerate(group):
        own = encoded.feature_rows[member]
        rows[place, : len(own)] = own
    return encoded.features.values(rows)

"""What a batch is: sentences in lines, for the network, and their trees."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import jax
import numpy as np
from numpy.typing import NDArray

from structdep_parser.data.lines import empty


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


def filled(batch: Batch, multiple: int) -> Batch:
    """The batch with lines, rows, and room for forms, in multiples of a number; they are like others that only fill it.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from structdep_parser.data.demo_treebank import write_demo_treebank
        >>> from structdep_parser.data.batches import batches
        >>> from structdep_parser.data.conllu import read
        >>> from structdep_parser.data.shapes import plan
        >>> from structdep_parser.data.vocabulary import Vocabulary
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


def typed(*tables: NDArray[Any]) -> tuple[jax.Array, ...]:
    """numpy's arrays, which become jax's."""
    return cast("tuple[jax.Array, ...]", tables)

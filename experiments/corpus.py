"""What a run reads: a treebank's sentences and the vocabulary of its training set."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

import structdep as sd
from experiments.batches import Batch, batches
from experiments.config import Config
from experiments.lifting import encoded
from experiments.sentences import Heads, Sentence, read
from experiments.shapes import plan
from experiments.treebank import Treebank
from experiments.vocabulary import Vocabulary
from structdep.systems import System
from structdep.trees import is_projective


@dataclass(frozen=True)
class Corpus:
    """The sentences of each split, and the vocabulary of `train`; `test` may be missing."""

    splits: dict[str, list[Sentence]]
    vocabulary: Vocabulary

    @classmethod
    def of(cls, treebank: Treebank, config: Config) -> "Corpus":
        paths = {"train": treebank.train, "dev": treebank.dev, "test": treebank.test}
        splits = {name: read(path) for name, path in paths.items() if path is not None}
        if config.pseudo_projective:
            splits["train"] = encoded(splits["train"], config.pseudo_projective)
        return cls(splits, Vocabulary.of(splits["train"], config.min_count))


def nearest_trees(sentences: Sequence[Sentence], vocabulary: Vocabulary, system: System) -> Heads:
    """For each sentence, the tree of the system's class that has the most of its heads: its own where that is one.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from experiments.demo_treebank import write_demo_treebank
        >>> with TemporaryDirectory() as folder:
        ...     dev = read(write_demo_treebank(folder).dev)
        >>> trees = nearest_trees(dev, Vocabulary.of(dev), sd.charts.eisner())
        >>> wrong = [int((tree != sentence.heads).sum()) for tree, sentence in zip(trees, dev)]
        >>> sum(map(bool, wrong)), max(wrong)
        (29, 1)
    """
    trees = [sentence.heads for sentence in sentences]
    # Projective trees are in every class.
    crossing = [place for place, heads in enumerate(trees) if not is_projective(heads)]
    members = [sentences[place] for place in crossing]
    nearest = jax.jit(sd.nearest_tree, static_argnums=0)
    shapes = plan(members, words_per_batch=2000, max_shapes=4, growth=3) if members else ()
    for batch in batches(members, vocabulary, shapes=shapes) if members else ():
        for member, heads in rows(batch, np.asarray(nearest(system, batch.heads, batch.lengths))):
            trees[crossing[member]] = heads
    return trees


def rows(batch: Batch, table: NDArray[Any]) -> list[tuple[int, NDArray[Any]]]:
    """The sentences' places in the list that was batched, and their rows of `table` [B, n] without padding."""
    places = zip(np.asarray(batch.index).tolist(), np.asarray(batch.lengths).tolist(), table, strict=True)
    return [(index, row[:length]) for index, length, row in places if index >= 0]


@dataclass(frozen=True)
class Trees:
    """What is to be found in batches of a corpus, where it is these trees themselves: `[B, n]`."""

    trees: Heads

    def of(self, trees: Heads) -> "Trees":
        """Other trees."""
        return Trees(trees)

    def __call__(self, batch: Batch) -> NDArray[np.int32]:
        return padded(batch, self.trees)


def padded(batch: Batch, heads: Heads) -> NDArray[np.int32]:
    """The heads of a batch's sentences, `[B, n]`, 0 in padding."""
    table = np.zeros(batch.heads.shape, np.int32)
    for row, index in enumerate(np.asarray(batch.index).tolist()):
        if index >= 0:
            table[row, : len(heads[index])] = heads[index]
    return table

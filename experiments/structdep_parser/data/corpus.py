"""What a run reads: a treebank's sentences and the vocabulary of its training set."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

import structdep as sd
from structdep.spanning import SpanningTrees
from structdep.trees import heads_to_arcs, is_projective
from structdep.trees.classes import System
from structdep_parser.config import Config
from structdep_parser.data.batch import TreeBatch
from structdep_parser.data.batches import tree_batches
from structdep_parser.data.conllu import Heads, Sentence
from structdep_parser.data.features import Features, checksum, open_features
from structdep_parser.data.pseudo_projective import encoded
from structdep_parser.data.treebank import Treebank
from structdep_parser.data.vocabulary import Vocabulary


@dataclass(frozen=True)
class Corpus:
    """The sentences of each split, and the vocabulary of `train`; `test` may be missing."""

    splits: dict[str, list[Sentence]]
    vocabulary: Vocabulary
    features: Features | None = None

    @classmethod
    def of(cls, treebank: Treebank, config: Config, learns_parts: bool) -> tuple["Corpus", Config]:
        """The corpus, and the configuration with the treebank's checksum and the width and checksum of features.

        Raises ValueError where a training sentence is known in part, and the parser does not learn from such.
        """
        config = replace(config, treebank=treebank.checksum)
        splits = treebank.read()
        if config.pseudo_projective or not learns_parts:
            _check_whole(splits["train"], "--pseudo-projective" if config.pseudo_projective else config.parser)
        if config.pseudo_projective:
            splits["train"] = encoded(splits["train"], config.pseudo_projective)
        vocabulary = Vocabulary.of(splits["train"], config.min_count)
        features = open_features(config.vectors, config.features_file)
        if features:
            # Grafted sentences take the rows of their words along.
            splits = {split: [replace(s, rows=features.rows(s)) for s in own] for split, own in splits.items()}
            trained = [sentence.rows for sentence in splits["train"] if sentence.rows is not None]
            if all((rows < 0).all() for rows in trained):
                raise ValueError(
                    f"{config.vectors} has no vector of any training word: expected its words, and in text files "
                    "lines of a word and its numbers, separated by spaces"
                )
            config = replace(config, feature_width=features.width, feature_checksum=checksum(features, trained))
        return cls(splits, vocabulary, features), config


def completed(config: Config, treebank: Treebank) -> Config:
    """The configuration of a run on this treebank, with what is filled in when the run begins."""
    if config.vectors or config.features_file:
        return Corpus.of(treebank, config, learns_parts=True)[1]
    return replace(config, treebank=treebank.checksum)


def _check_whole(sentences: Sequence[Sentence], learner: str) -> None:
    """Raise ValueError where a word has no head, which the learner has to know."""
    for sentence in sentences:
        if len(unknown := np.flatnonzero(sentence.heads < 0)):
            word = int(unknown[0])
            raise ValueError(
                f"{sentence.at(word)} ({sentence.forms[word]}) has no head, and {learner} learns from whole trees "
                "alone: write a --parser with a chart, such as mst or mh4, or leave the sentence out"
            )


def nearest_trees(
    sentences: Sequence[Sentence], vocabulary: Vocabulary, system: System, one_root: bool = True
) -> Heads:
    """For each sentence, the tree of the system's class that has the most of its heads: its own where that is one.

    With `one_root`, among trees with one root. Heads that are not known, -1, stay so.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from structdep_parser.data.demo_treebank import write_demo_treebank
        >>> from structdep_parser.data.conllu import read
        >>> with TemporaryDirectory() as folder:
        ...     dev = read(write_demo_treebank(folder).dev)
        >>> trees = nearest_trees(dev, Vocabulary.of(dev), sd.charts.eisner())
        >>> wrong = [int((tree != sentence.heads).sum()) for tree, sentence in zip(trees, dev)]
        >>> sum(map(bool, wrong)), max(wrong)
        (29, 1)
    """
    trees = [sentence.heads for sentence in sentences]
    outside = [place for place, heads in enumerate(trees) if not _is_inside(heads, system, one_root)]
    members = [sentences[place] for place in outside]

    @jax.jit
    def nearest(heads: jax.Array, lengths: jax.Array) -> jax.Array:
        own = heads_to_arcs(heads, lengths).astype(jnp.float32)
        return sd.argmax(system, own, lengths, single_root=one_root)

    for batch in tree_batches(members):
        for member, heads in rows(batch, np.asarray(nearest(batch.heads, batch.lengths))):
            trees[outside[member]] = np.where(members[member].heads < 0, -1, heads)
    return trees


def _is_inside(heads: NDArray[np.int32], system: System, one_root: bool) -> bool:
    """Whether a tree is in the class for sure: projective ones are in every class."""
    if (heads < 0).any() or (one_root and (heads == 0).sum() > 1):
        return False
    return isinstance(system, SpanningTrees) or bool(is_projective(heads))


def rows(batch: TreeBatch, table: NDArray[Any]) -> list[tuple[int, NDArray[Any]]]:
    """The sentences' places in the list that was batched, and their rows of `table` [B, n] without padding."""
    places = zip(np.asarray(batch.index).tolist(), np.asarray(batch.lengths).tolist(), table, strict=True)
    return [(index, row[:length]) for index, length, row in places if index >= 0]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Partial:
    """What is known of a batch's trees: heads `[B, n]`, -1 where nothing is."""

    heads: jax.Array


@dataclass(frozen=True)
class Trees:
    """What is to be found in batches of a corpus, where it is these trees themselves: `[B, n]`, or `Partial` ones."""

    trees: Heads

    def of(self, trees: Heads) -> "Trees":
        """Other trees."""
        return Trees(trees)

    def __call__(self, batch: TreeBatch) -> NDArray[np.int32] | Partial:
        heads = padded(batch, self.trees)
        return heads if (heads >= 0).all() else Partial(cast("jax.Array", heads))


def padded(batch: TreeBatch, heads: Heads) -> NDArray[np.int32]:
    """The heads of a batch's sentences, `[B, n]`, 0 in padding."""
    table = np.zeros(batch.heads.shape, np.int32)
    for row, index in enumerate(np.asarray(batch.index).tolist()):
        if index >= 0:
            table[row, : len(heads[index])] = heads[index]
    return table

"""Parsing sentences with a trained model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from structdep_parser.data.batch import TreeBatch
from structdep_parser.data.batches import tree_batches
from structdep_parser.data.conllu import Heads, Sentence
from structdep_parser.nn.compiled import Compiled
from structdep_parser.nn.model import ArcEnds, Model
from structdep_parser.nn.stored_programs import part
from structdep_parser.parsers.decoding import Decoded, Decoder, Decoding
from structdep_parser.parsers.reading import Reader, Reading


@dataclass(frozen=True)
class Confidence:
    """The probabilities of a tree, of each of its arcs, and of each relation given its arc."""

    arcs: NDArray[np.float32]
    tree: float
    relations: NDArray[np.float32]

    def misc(self) -> list[dict[str, str]]:
        """Entries for the column MISC of each word; the tree's is in the first."""
        pairs = zip(self.arcs.tolist(), self.relations.tolist(), strict=True)
        entries = [{"ArcProb": f"{arc:.4f}", "DeprelProb": f"{relation:.4f}"} for arc, relation in pairs]
        entries[0]["TreeProb"] = f"{self.tree:.4g}"
        return entries


class Tags(NamedTuple):
    """A sentence's predicted tags, features and lemmas, one a word."""

    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    feats: tuple[str, ...]
    lemmas: tuple[str, ...]


class Tree(NamedTuple):
    """A sentence's heads and relations, its confidence and the words' tags where these were asked for."""

    heads: NDArray[np.int32]
    relations: tuple[str, ...]
    confidence: Confidence | None = None
    tags: Tags | None = None

    @property
    def probability(self) -> float | None:
        """Of the whole tree, where it was asked for."""
        return None if self.confidence is None else self.confidence.tree

    @property
    def deprels(self) -> tuple[str, ...]:
        """An earlier name of `relations`."""
        return self.relations


@dataclass(frozen=True)
class Predictions:
    """A tree for each sentence: heads and relations, one entry a word; confidences and tags where asked for."""

    heads: Heads
    deprels: list[tuple[str, ...]]
    confidences: list[Confidence] = field(default_factory=list)
    tags: list[Tags] = field(default_factory=list)

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> "Predictions":
        """The trees that sentences have."""
        return cls([sentence.heads for sentence in sentences], [sentence.deprels for sentence in sentences])


class Predictor:
    """Reads sentences, and scores, decodes and labels batches of trees; counts the seconds of each.

    Args:
        merge: makes the model of its weights.
        decoder: finds trees by the scores.
        reader: reads sentences.
        select: takes from the scorer's scores what the decoder needs.
        identity: what model, decoder and `select` depend on, if compiled programs are to be kept for other processes.
    """

    def __init__(
        self,
        merge: Callable[[Any], Model],
        decoder: Decoder,
        reader: Reader,
        select: Callable[[Any], Any] = lambda scores: scores,
        identity: str = "",
    ) -> None:
        self.decoder, self.reader, self.vocabulary = decoder, reader, reader.vocabulary

        def score(parameters: Any, words: Any, lengths: jax.Array) -> Any:
            scorer = merge(parameters).scorer
            return select(scorer(scorer.weighted(words), lengths))

        def label(parameters: Any, arcs: ArcEnds, heads: jax.Array, start: jax.Array) -> jax.Array:
            return jax.nn.softmax(merge(parameters).labeler(arcs, heads, start))

        def tag(parameters: Any, tags: jax.Array) -> jax.Array:
            scores = merge(parameters).tag_scorer(tags)
            return jnp.stack([jnp.argmax(logits, axis=-1) for logits in scores[:3]], axis=-1)

        self.score, self.label, self.tag = Compiled(score), Compiled(label), Compiled(tag)
        for number, program in enumerate([self.score, self.label, self.tag, *decoder.programs]):
            program.identity = part(identity, str(number))

    def __call__(self, parameters: Any, sentences: Sequence[Sentence], decoding: Decoding | None = None) -> Predictions:
        """The best tree of each sentence."""
        best = [trees[0] for trees in self.trees(parameters, sentences, decoding or Decoding())]
        confidences = [tree.confidence for tree in best if tree.confidence is not None]
        tags = [tree.tags for tree in best if tree.tags is not None]
        return Predictions([tree.heads for tree in best], [tree.relations for tree in best], confidences, tags)

    def trees(self, parameters: Any, sentences: Sequence[Sentence], decoding: Decoding) -> list[list[Tree]]:
        """As many trees of each sentence as `decoding` asks for, best first; heads are -1 where there are fewer."""
        found: list[list[Decoded]] = [[] for _ in sentences]
        reading = self.reader(parameters, sentences)
        for batch in tree_batches(sentences):
            scores = self.score(parameters, reading.of_trees(batch), batch.lengths)
            known = batch.heads if decoding.known else None
            for decoded in self.decoder(scores, batch.lengths, decoding, known):
                for place, tree in _each(batch, decoded):
                    found[place].append(tree)
        tags = self._tags(parameters, reading) if decoding.tags else [None] * len(sentences)
        made: list[list[Tree]] = [[] for _ in sentences]
        for trees in zip(*found, strict=True):
            labels = self.relations(parameters, reading, [tree.heads for tree in trees])
            for own, tree, probabilities, tag in zip(made, trees, labels, tags, strict=True):
                own.append(self._tree(tree, probabilities, tag))
        return made

    def relations(self, parameters: Any, reading: Reading, heads: Heads) -> list[NDArray[np.float32]]:
        """The probabilities of the relations of each sentence's arcs, `[n, relations]`."""
        return reading.by_sentence(
            lambda chunk: self.label(parameters, chunk.read.arcs, chunk.places(heads), chunk.start)
        )

    def _tree(self, found: Decoded, labels: NDArray[np.float32], tags: Tags | None) -> Tree:
        heads, confidence = np.asarray(found.heads), None
        if found.arcs is not None and found.trees is not None:
            confidence = Confidence(np.asarray(found.arcs), float(found.trees), labels.max(-1))
        return Tree(heads, self.vocabulary.relations(heads, labels), confidence, tags)

    def _tags(self, parameters: Any, reading: Reading) -> list[Tags]:
        names = self.vocabulary.upos, self.vocabulary.xpos, self.vocabulary.lemmas
        found = []
        for numbers in reading.by_sentence(lambda chunk: self.tag(parameters, chunk.read.tags)):
            upos, full, lemmas = (
                tuple(entries[number] for number in column) for entries, column in zip(names, numbers.T, strict=True)
            )
            xpos, feats = zip(*(tag.split("\t") for tag in full), strict=True)
            found.append(Tags(upos, xpos, feats, lemmas))
        return found

    @property
    def compiling(self) -> float:
        """Seconds spent so far in compiling."""
        programs = *self.reader.programs, self.score, self.label, self.tag, *self.decoder.programs
        return sum(program.seconds for program in programs)

    @property
    def scoring(self) -> float:
        """Seconds spent so far in reading, scoring and labelling."""
        return sum(program.spent for program in (*self.reader.programs, self.score, self.label))

    @property
    def decoding(self) -> float:
        """Seconds spent so far in finding trees and their probabilities."""
        return sum(program.spent for program in self.decoder.programs)


def _each(batch: TreeBatch, decoded: Decoded) -> Iterator[tuple[int, Decoded]]:
    """The trees of a batch's sentences, by their numbers, and without padding."""
    heads, arcs, trees = jax.tree.map(np.asarray, decoded)
    for row, (index, length) in enumerate(zip(batch.index.tolist(), batch.lengths.tolist(), strict=True)):
        if index >= 0:
            own = None if arcs is None else arcs[row, :length]
            yield index, Decoded(heads[row, :length], own, None if trees is None else trees[row])

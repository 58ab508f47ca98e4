"""Parsing sentences with a trained model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from numpy.typing import NDArray

from structdep_parser.data.batches import Batch, batches
from structdep_parser.data.corpus import rows
from structdep_parser.data.sentences import Heads
from structdep_parser.data.shapes import Shape
from structdep_parser.data.treebank import Sentence
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.nn.compiled import Compiled
from structdep_parser.nn.model import Model
from structdep_parser.parsers.decoding import Decoded, Decoder, Decoding


@dataclass(frozen=True)
class Confidence:
    """The probabilities of a tree and of each of its arcs."""

    arcs: NDArray[np.float32]
    tree: float

    def misc(self) -> list[dict[str, str]]:
        """Entries for the column MISC of each word; the tree's stands at the first."""
        entries = [{"ArcProb": f"{probability:.4f}"} for probability in self.arcs.tolist()]
        entries[0]["TreeProb"] = f"{self.tree:.4g}"
        return entries


class Tree(NamedTuple):
    """A sentence's heads and relations, and its confidence where that was asked for."""

    heads: NDArray[np.int32]
    deprels: tuple[str, ...]
    confidence: Confidence | None = None


@dataclass(frozen=True)
class Predictions:
    """A tree for each sentence: heads and relations, one entry a word, and confidences where they were asked for."""

    heads: Heads
    deprels: list[tuple[str, ...]]
    confidences: list[Confidence] = field(default_factory=list)


class Predictor:
    """Scores, decodes and labels batches of a few planned shapes, and counts the seconds of each.

    `select` takes from the scorer's scores what the decoder needs.
    """

    def __init__(
        self,
        graph: nnx.GraphDef[Model],
        decoder: Decoder,
        vocabulary: Vocabulary,
        shapes: Sequence[Shape],
        select: Callable[[Any], Any] = lambda scores: scores,
    ) -> None:
        self.decoder, self.vocabulary, self.shapes = decoder, vocabulary, shapes

        def score(parameters: Any, batch: Batch) -> tuple[jax.Array, Any]:
            model = nnx.merge(graph, parameters)
            states = model.encoder(batch)
            return states, select(model.scorer(states, batch.lengths))

        def label(parameters: Any, states: jax.Array, heads: jax.Array) -> jax.Array:
            return jnp.argmax(nnx.merge(graph, parameters).labeler(states, heads), axis=-1)

        self.score, self.label = Compiled(score), Compiled(label)

    def __call__(self, parameters: Any, sentences: Sequence[Sentence], decoding: Decoding | None = None) -> Predictions:
        """The best tree of each sentence."""
        best = [trees[0] for trees in self.trees(parameters, sentences, decoding or Decoding())]
        confidences = [tree.confidence for tree in best if tree.confidence is not None]
        return Predictions([tree.heads for tree in best], [tree.deprels for tree in best], confidences)

    def trees(self, parameters: Any, sentences: Sequence[Sentence], decoding: Decoding) -> list[list[Tree]]:
        """As many trees of each sentence as `decoding` asks for, best first; heads are -1 where there are fewer."""
        found: list[list[Tree]] = [[] for _ in sentences]
        for batch in batches(sentences, self.vocabulary, shapes=self.shapes):
            states, scores = self.score(parameters, batch)
            known = batch.heads if decoding.known else None
            for decoded in self.decoder(scores, batch.lengths, decoding, known):
                labels = np.asarray(self.label(parameters, states, decoded.heads))
                for place, tree in self._trees(batch, decoded, labels):
                    found[place].append(tree)
        return found

    def _trees(self, batch: Batch, decoded: Decoded, labels: NDArray[np.int32]) -> Iterator[tuple[int, Tree]]:
        """The batch's sentences, by their places, with their trees."""
        confidences = _confidences(batch, decoded)
        trees = rows(batch, np.asarray(decoded.heads))
        for (place, heads), (_, relations) in zip(trees, rows(batch, labels), strict=True):
            yield place, Tree(heads, self.vocabulary.relations(heads, relations), confidences.get(place))

    @property
    def compiling(self) -> float:
        """Seconds spent so far in compiling."""
        return sum(program.seconds for program in (self.score, self.label, *self.decoder.programs))

    @property
    def scoring(self) -> float:
        """Seconds spent so far in scoring and labelling."""
        return self.score.spent + self.label.spent

    @property
    def decoding(self) -> float:
        """Seconds spent so far in finding trees and their probabilities."""
        return sum(program.spent for program in self.decoder.programs)


def _confidences(batch: Batch, decoded: Decoded) -> dict[int, Confidence]:
    """Those of a batch, by the sentence's place; none where they were not asked for."""
    if decoded.arcs is None or decoded.trees is None:
        return {}
    arcs, trees = (rows(batch, np.asarray(table)) for table in (decoded.arcs, decoded.trees[:, None]))
    return {place: Confidence(own, float(tree[0])) for (place, own), (_, tree) in zip(arcs, trees, strict=True)}

"""Parsing sentences with a trained model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from numpy.typing import NDArray

from experiments.batches import Batch, batches
from experiments.compiled import Compiled
from experiments.corpus import rows
from experiments.decoding import Decoded, Decoder, Decoding
from experiments.model import Model
from experiments.sentences import Heads
from experiments.shapes import Shape
from experiments.treebank import Sentence
from experiments.vocabulary import Vocabulary


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


@dataclass(frozen=True)
class Predictions:
    """A tree for each sentence: heads and relations, one entry a word, and confidences where they were asked for."""

    heads: Heads
    deprels: list[tuple[str, ...]]
    confidences: list[Confidence] = field(default_factory=list)


class Predictor:
    """Scores, decodes and labels batches of a few planned shapes, and counts the seconds of each."""

    def __init__(
        self, graph: nnx.GraphDef[Model], decoder: Decoder, vocabulary: Vocabulary, shapes: Sequence[Shape]
    ) -> None:
        self.decoder, self.vocabulary, self.shapes = decoder, vocabulary, shapes

        def score(parameters: Any, batch: Batch) -> tuple[jax.Array, Any]:
            model = nnx.merge(graph, parameters)
            states = model.encoder(batch)
            return states, model.scorer(states)

        def label(parameters: Any, states: jax.Array, heads: jax.Array) -> jax.Array:
            return jnp.argmax(nnx.merge(graph, parameters).labeler(states, heads), axis=-1)

        self.score, self.label = Compiled(score), Compiled(label)

    def __call__(self, parameters: Any, sentences: Sequence[Sentence], decoding: Decoding | None = None) -> Predictions:
        decoding = decoding or Decoding()
        heads: Heads = [np.zeros(0, np.int32)] * len(sentences)
        deprels: list[tuple[str, ...]] = [()] * len(sentences)
        confidences: dict[int, Confidence] = {}
        for batch in batches(sentences, self.vocabulary, shapes=self.shapes):
            states, scores = self.score(parameters, batch)
            decoded = self.decoder(scores, batch.lengths, decoding)
            labels = np.asarray(self.label(parameters, states, decoded.heads))
            trees = rows(batch, np.asarray(decoded.heads))
            for (place, tree), (_, relations) in zip(trees, rows(batch, labels), strict=True):
                heads[place] = tree
                deprels[place] = tuple(self.vocabulary.deprels[relation] for relation in relations)
            confidences |= _confidences(batch, decoded)
        return Predictions(heads, deprels, [confidences[place] for place in sorted(confidences)])

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

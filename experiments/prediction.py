"""Parsing sentences with a trained model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import structdep as sd
from experiments.batches import Batch, batches
from experiments.compiled import Compiled
from experiments.corpus import Heads, rows
from experiments.model import Model
from experiments.shapes import Shape
from experiments.treebank import Sentence
from experiments.vocabulary import Vocabulary


@dataclass(frozen=True)
class Predictions:
    """A tree for each sentence: heads and relations, one entry a word."""

    heads: Heads
    deprels: list[tuple[str, ...]]


class Predictor:
    """Scores, decodes and labels batches of a few planned shapes, and counts the seconds of each."""

    def __init__(self, graph: nnx.GraphDef[Model], vocabulary: Vocabulary, shapes: Sequence[Shape]) -> None:
        self.vocabulary, self.shapes = vocabulary, shapes

        def score(parameters: Any, batch: Batch) -> tuple[jax.Array, dict[str, jax.Array]]:
            model = nnx.merge(graph, parameters)
            states = model.encoder(batch)
            return states, model.scorer(states)

        def decode(parameters: Any, scores: dict[str, jax.Array], lengths: jax.Array) -> jax.Array:
            return sd.argmax(nnx.merge(graph, parameters).system, scores, lengths)

        def label(parameters: Any, states: jax.Array, heads: jax.Array) -> jax.Array:
            return jnp.argmax(nnx.merge(graph, parameters).labeler(states, heads), axis=-1)

        self.score, self.decode, self.label = Compiled(score), Compiled(decode), Compiled(label)

    def __call__(self, parameters: Any, sentences: Sequence[Sentence]) -> Predictions:
        heads: Heads = [np.zeros(0, np.int32)] * len(sentences)
        deprels: list[tuple[str, ...]] = [()] * len(sentences)
        for batch in batches(sentences, self.vocabulary, shapes=self.shapes):
            states, scores = self.score(parameters, batch)
            trees = self.decode(parameters, scores, batch.lengths)
            labels = np.asarray(self.label(parameters, states, trees))
            for (place, tree), (_, relations) in zip(rows(batch, np.asarray(trees)), rows(batch, labels), strict=True):
                heads[place] = tree
                deprels[place] = tuple(self.vocabulary.deprels[relation] for relation in relations)
        return Predictions(heads, deprels)

    @property
    def compiling(self) -> float:
        """Seconds spent so far in compiling."""
        return self.score.seconds + self.decode.seconds + self.label.seconds

    @property
    def scoring(self) -> float:
        """Seconds spent so far in scoring and labelling."""
        return self.score.spent + self.label.spent

    @property
    def decoding(self) -> float:
        """Seconds spent so far in finding the best trees."""
        return self.decode.spent

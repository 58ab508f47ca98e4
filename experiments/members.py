"""The parsers of an ensemble, and what each says of a batch: scores, arcs that it believes in, relations."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from experiments.batches import Batch, batches
from experiments.chart_decoding import ChartDecoder
from experiments.chart_parsers import ChartParser
from experiments.compiled import Compiled
from experiments.decoding import Decoding
from experiments.prediction import Predictor
from experiments.sentences import Sentence
from experiments.shapes import Shape
from experiments.trained_model import TrainedModel
from structdep.trees import heads_to_arcs


class Member:
    """A trained parser among others.

    Raises:
        ValueError: its relations stand for lifted arcs.
    """

    def __init__(self, name: str, model: TrainedModel, shapes: Sequence[Shape]) -> None:
        if model.config.pseudo_projective:
            raise ValueError(
                f"{name} is pseudo-projective: its relations stand for arcs, and cannot be summed with others"
            )
        self.name, self.model, self.shapes = name, model, shapes
        self.predictor = Predictor(model.graph, model.parser.decoder(), model.vocabulary, shapes)

        def relations(weights: Any, states: jax.Array, heads: jax.Array) -> jax.Array:
            return jax.nn.softmax(nnx.merge(model.graph, weights).labeler(states, heads))

        self._relations, self._vote = Compiled(relations), Compiled(heads_to_arcs)

    @property
    def chart(self) -> ChartDecoder | None:
        """Its decoder, if that sums over trees."""
        parser, decoder = self.model.parser, self.predictor.decoder
        sums = isinstance(parser, ChartParser) and parser.chart.has_probabilities
        return decoder if sums and isinstance(decoder, ChartDecoder) else None

    def batches(self, sentences: Sequence[Sentence]) -> list[Batch]:
        """The same sentences in the same rows as other members have."""
        return batches(sentences, self.model.vocabulary, shapes=self.shapes)

    def scores(self, batch: Batch) -> tuple[jax.Array, Any]:
        """Vectors in context, and the parser's scores."""
        states, scores = self.predictor.score(self.model.weights, batch)
        return states, scores

    def heads(self, scores: Any, lengths: jax.Array) -> jax.Array:
        """Its own trees."""
        return self.predictor.decoder(scores, lengths, Decoding())[0].heads

    def arcs(self, scores: Any, lengths: jax.Array, by: str) -> jax.Array:
        """The probability of each arc, or 1 for those of its tree, where it gives votes: f32 `[B, n+1, n+1]`."""
        if by == "marginals" and self.chart is not None:
            return self.chart.marginals(scores, lengths)
        votes: jax.Array = self._vote(self.heads(scores, lengths), lengths)
        return votes.astype(jnp.float32)

    def relations(self, states: jax.Array, heads: jax.Array) -> jax.Array:
        """The probabilities of the relations of these arcs, `[B, n, relations]`."""
        found: jax.Array = self._relations(self.model.weights, states, heads)
        return found

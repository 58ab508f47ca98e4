"""The whole model: encoder, scorer, labeler and taggers, and the loss that trains them together."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from structdep_parser.config import Config
from structdep_parser.data.batches import Batch
from structdep_parser.data.relations import IMPOSSIBLE, fits, is_root
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.nn.encoder import Dropped, Encoder
from structdep_parser.nn.mlp import MLP
from structdep_parser.nn.scorers import Biaffine
from structdep_parser.nn.tag_scorer import TagScorer
from structdep_parser.parsers.registry import Algorithm


class Labeler(nnx.Module):
    """Relations of given arcs: MLPs of dependent and head, and a biaffine a relation.

    `root` is possible below the root, and nothing else is there.
    """

    def __init__(self, states: int, relations: Sequence[str], features: int, dropout: float, *, rngs: nnx.Rngs) -> None:
        self.are_root = nnx.static(tuple(map(is_root, relations)))
        self.head, self.dependent = (MLP(states, features, dropout, rngs=rngs) for _ in range(2))
        self.biaffine = Biaffine(features, len(relations))

    def __call__(self, states: jax.Array, heads: jax.Array, rngs: Dropped = None) -> jax.Array:
        """Logits `[batch, n, relations]` from `[batch, n+2, states]` and heads `[batch, n]`, -1 where not known."""
        heads_features = jnp.take_along_axis(self.head(states, rngs), jnp.maximum(heads, 0)[..., None], axis=1)
        logits = self.biaffine.each(heads_features, self.dependent(states, rngs)[:, 1:-1])
        return jnp.where(fits(self.are_root, heads), logits, IMPOSSIBLE)

    def loss(self, states: jax.Array, heads: jax.Array, relations: jax.Array, rngs: Dropped = None) -> jax.Array:
        """Each word's, `[batch, n]`; 0 where its head or relation is not known, or they do not fit."""
        numbers = jnp.maximum(relations, 0)
        is_possible = jnp.take_along_axis(fits(self.are_root, heads), numbers[..., None], axis=-1)[..., 0]
        is_known = (heads >= 0) & (relations >= 0) & is_possible
        losses = optax.softmax_cross_entropy_with_integer_labels(self(states, heads, rngs), numbers)
        return jnp.where(is_known, losses, 0)


class Model(nnx.Module):
    """A parser with what it is trained with."""

    def __init__(self, config: Config, vocabulary: Vocabulary, parser: Algorithm) -> None:
        rngs = nnx.Rngs(config.seed)
        dropout = config.state_dropout
        self.encoder = Encoder(vocabulary, config, rngs=rngs)
        self.scorer = parser.scorer(config, rngs=rngs)
        self.labeler = Labeler(config.states, vocabulary.deprels, config.labeler_features, dropout, rngs=rngs)
        self.has_tags = config.tags != "off"
        if self.has_tags:
            features = config.tag_features if config.tags == "stack" else config.states
            self.tag_scorer = TagScorer(features, vocabulary, rngs=rngs)
        self.tag_weight, self.parser_loss = config.tag_weight, parser.loss

    def loss(self, batch: Batch, target: Any, rngs: nnx.Rngs) -> jax.Array:
        """A word's mean loss; `target` is the parser's own, relations and tags belong to gold trees."""
        states, tag_states = self.encoder.both(batch, rngs)
        real = jnp.arange(batch.words.shape[1]) < jnp.where(batch.index >= 0, batch.lengths, 0)[:, None]
        tree = self.parser_loss(self.scorer(states, batch.lengths, rngs), target, batch.lengths, rngs)
        relations = self.labeler.loss(states, batch.heads, batch.deprels, rngs)
        if self.has_tags:
            relations += self.tag_weight * self.tag_scorer.loss(tag_states, batch)
        total = (tree * (batch.index >= 0)).sum() + (relations * real).sum()
        return total / real.sum()

"""The whole model: encoder, scorer, labeler and taggers, and the losses that train them together."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from structdep_parser.config import Config
from structdep_parser.data.batch import Forms, Gold, Lines, TreeBatch
from structdep_parser.data.lines import begins, ends
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

    def __call__(self, states: jax.Array, heads: jax.Array) -> jax.Array:
        """Logits `[batch, n, relations]` from `[batch, n+2, states]` and heads `[batch, n]`, -1 where not known."""
        of_heads = jnp.take_along_axis(self.head(states, None), jnp.maximum(heads, 0)[..., None], axis=1)
        return self._logits(of_heads, self.dependent(states, None)[:, 1:-1], heads == 0)

    def loss(self, states: jax.Array, gold: Gold, start: jax.Array, rngs: Dropped = None) -> jax.Array:
        """That of each place in lines, `[lines, width]`; 0 where head or relation is not known, or they do not fit."""
        of_heads = self.head(states, rngs, start)
        of_heads = of_heads.reshape(-1, of_heads.shape[-1])[jnp.maximum(gold.heads, 0)]
        below_root, numbers = gold.heads == start, jnp.maximum(gold.deprels, 0)
        logits = self._logits(of_heads, self.dependent(states, rngs, start), below_root)
        is_possible = jnp.take_along_axis(fits(self.are_root, below_root), numbers[..., None], axis=-1)[..., 0]
        is_known = (gold.heads >= 0) & (gold.deprels >= 0) & is_possible
        return jnp.where(is_known, optax.softmax_cross_entropy_with_integer_labels(logits, numbers), 0)

    def _logits(self, heads: jax.Array, dependents: jax.Array, below_root: jax.Array) -> jax.Array:
        return jnp.where(fits(self.are_root, below_root), self.biaffine.each(heads, dependents), IMPOSSIBLE)


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

    def read(self, lines: Lines, forms: Forms, gold: Gold, rngs: nnx.Rngs) -> tuple[Any, jax.Array]:
        """Vectors for the scorer, of all places in lines, and the sum of the losses of relations and tags."""
        start = lines.start
        states, tag_states = self.encoder(lines, self.encoder.characters(forms, rngs)[lines.form], rngs)
        losses = self.labeler.loss(states, gold, start, rngs)
        if self.has_tags:
            is_word = ~(begins(start) | ends(start))
            losses += self.tag_weight * jnp.where(is_word, self.tag_scorer.loss(tag_states, gold), 0)
        words = self.scorer.of_words(states, rngs, start)
        return jax.tree.map(lambda x: x.reshape(-1, x.shape[-1]), words), losses.sum()

    def trees_loss(self, words: Any, root: jax.Array, batch: TreeBatch, target: Any, rngs: nnx.Rngs) -> jax.Array:
        """The sum of the losses of trees, from what is read of all places; `target` is the parser's own."""
        places = jnp.arange(batch.heads.shape[1] + 2)
        within = places < batch.lengths[:, None] + 2
        at = jnp.where(within, root[:, None] + places, 0)
        of_trees = jax.tree.map(lambda x: jnp.where(within[..., None], x[at], 0), words)
        losses = self.parser_loss(self.scorer(of_trees, batch.lengths, rngs), target, batch.lengths, rngs)
        return jnp.sum(losses * (batch.index >= 0))

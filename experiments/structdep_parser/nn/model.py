"""The whole model: encoder, scorer, labeler and taggers, and the losses that train them together."""

from collections.abc import Sequence
from typing import Any, NamedTuple

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

ArcEnds = tuple[jax.Array, jax.Array]
"""Vectors of words as heads, and as dependents."""


class Labeler(nnx.Module):
    """Relations of given arcs: MLPs of dependent and head, and a biaffine a relation.

    `root` is possible below the root, and nothing else is there.
    """

    def __init__(self, states: int, relations: Sequence[str], features: int, dropout: float, *, rngs: nnx.Rngs) -> None:
        self.are_root = nnx.static(tuple(map(is_root, relations)))
        self.head, self.dependent = (MLP(states, features, dropout, rngs=rngs) for _ in range(2))
        self.biaffine = Biaffine(features, len(relations))

    def of_words(self, states: jax.Array, rngs: Dropped, start: jax.Array) -> ArcEnds:
        """Vectors of words, from `[lines, width, states]` with these starts (see `data.lines`)."""
        return self.head(states, rngs, start), self.dependent(states, rngs, start)

    def __call__(self, words: ArcEnds, heads: jax.Array, start: jax.Array) -> jax.Array:
        """Logits `[lines, width, relations]`, from vectors of words and the places of their heads `[lines, width]`."""
        of_heads = words[0].reshape(-1, words[0].shape[-1])[heads]
        return jnp.where(fits(self.are_root, heads == start), self.biaffine.each(of_heads, words[1]), IMPOSSIBLE)

    def loss(self, words: ArcEnds, gold: Gold, start: jax.Array) -> jax.Array:
        """That of each place in lines, `[lines, width]`; 0 where head or relation is not known, or they do not fit."""
        heads, numbers = jnp.maximum(gold.heads, 0), jnp.maximum(gold.deprels, 0)
        is_possible = jnp.take_along_axis(fits(self.are_root, heads == start), numbers[..., None], axis=-1)[..., 0]
        is_known = (gold.heads >= 0) & (gold.deprels >= 0) & is_possible
        logits = self(words, heads, start)
        return jnp.where(is_known, optax.softmax_cross_entropy_with_integer_labels(logits, numbers), 0)


class Read(NamedTuple):
    """What is read of lines: vectors for the scorer, of all places, `[lines * width, ..]`; for the labeler, and to
    predict tags from, `[lines, width, ..]`; none where the model predicts no tags.
    """

    words: Any
    arcs: ArcEnds
    tags: jax.Array | None


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

    def read(self, lines: Lines, spelled: jax.Array, rngs: Dropped = None) -> Read:
        """What is read of lines, given the vectors of their words by characters, `[lines, width, states]`."""
        start = lines.start
        states, tags = self.encoder(lines, spelled, rngs)
        arcs = self.labeler.of_words(states, rngs, start)
        words = self.scorer.of_words(states, rngs, start)
        flat = jax.tree.map(lambda x: x.reshape(-1, x.shape[-1]), words)
        return Read(flat, arcs, tags if self.has_tags else None)

    def read_with_loss(self, lines: Lines, forms: Forms, gold: Gold, rngs: nnx.Rngs) -> tuple[Any, jax.Array]:
        """Vectors for the scorer, as `read`, and the sum of the losses of relations and tags."""
        start = lines.start
        read = self.read(lines, self.encoder.characters(forms, rngs)[lines.form], rngs)
        losses = self.labeler.loss(read.arcs, gold, start)
        if read.tags is not None:
            is_word = ~(begins(start) | ends(start))
            losses += self.tag_weight * jnp.where(is_word, self.tag_scorer.loss(read.tags, gold), 0)
        return read.words, losses.sum()

    def trees_loss(self, words: Any, root: jax.Array, batch: TreeBatch, target: Any, rngs: nnx.Rngs) -> jax.Array:
        """The sum of the losses of trees, from what is read of all places; `target` is the parser's own."""
        places = jnp.arange(batch.heads.shape[1] + 2)
        within = places < batch.lengths[:, None] + 2
        at = jnp.where(within, root[:, None] + places, 0)
        weighted = self.scorer.weighted(words)
        of_trees = jax.tree.map(lambda x: jnp.where(within[..., None], x[at], 0), weighted)
        losses = self.parser_loss(self.scorer(of_trees, batch.lengths, rngs), target, batch.lengths, rngs)
        return jnp.sum(losses * (batch.index >= 0))

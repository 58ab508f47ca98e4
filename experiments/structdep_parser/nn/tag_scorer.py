"""What words are, from vectors in context: tags, features and lemmas, which the encoder learns beside the trees."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from structdep_parser.data.batch import Gold
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.nn.linear import Linear


class TagScores(NamedTuple):
    """Logits `[batch, n, classes]`; those of `features` are of each by itself, the others exclude each other."""

    upos: jax.Array
    xpos: jax.Array
    lemmas: jax.Array
    features: jax.Array


class TagScorer(nnx.Module):
    """A linear form for each class of tags, feature and lemma of the training set.

    XPOS and features are learned twice: joined, and each by itself, where rare combinations share what they have in
    common. Lemmas bring the forms of a word together, and words that are used alike.
    """

    def __init__(self, inputs: int, vocabulary: Vocabulary, *, rngs: nnx.Rngs) -> None:
        classes = vocabulary.upos, vocabulary.xpos, vocabulary.lemmas, vocabulary.features
        self.linears = nnx.List(Linear(inputs, len(names), rngs=rngs) for names in classes)
        self.features_of_xpos = nnx.static(vocabulary.features_of_xpos)

    def __call__(self, states: jax.Array) -> TagScores:
        """Scores of words, from `[batch, n, inputs]`."""
        return TagScores(*(linear(states) for linear in self.linears))

    def loss(self, states: jax.Array, gold: Gold) -> jax.Array:
        """Each word's sum of losses, `[batch, n]`, of no meaning where there is no word."""
        scores, tags = self(states), (gold.upos, gold.xpos, gold.lemmas)
        classes = sum(map(optax.softmax_cross_entropy_with_integer_labels, scores[:3], tags))
        features = jnp.array(self.features_of_xpos, scores.features.dtype)[gold.xpos]
        return classes + optax.sigmoid_binary_cross_entropy(scores.features, features).sum(-1)

"""From vectors in context to scores of transitions: one hidden layer over the vectors at some places."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from flax import nnx

from structdep.transitions import Features, vectors
from structdep_parser.nn.encoder import Dropout, Dropped
from structdep_parser.nn.linear import Linear


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TransitionScores:
    """Scores of a batch's configurations, from what each word gives to the hidden layer at each place.

    `shares` `[B, n+2, hidden]` of each place, so that a configuration costs a sum; `kept` `[B, hidden]` is dropout's
    mask, `weights` `[hidden, transitions]` and `bias` are the last layer's.

    Example:
        >>> shares = {"s0": jnp.array([[[0.0], [1.0], [3.0], [5.0]]]), "b0": jnp.zeros((1, 4, 1))}
        >>> scores = TransitionScores(shares, jnp.ones((1, 1)), jnp.array([[1.0, -1.0]]), jnp.zeros(2))
        >>> none, (first, second) = jnp.array([3]), jnp.array([[1], [2]])
        >>> scores(Features(none, none, first, second, none)), scores.words
        (Array([[ 1., -1.]], dtype=float32), 2)
    """

    shares: dict[str, jax.Array]
    kept: jax.Array
    weights: jax.Array
    bias: jax.Array

    def __call__(self, features: Features) -> jax.Array:
        """Of configurations `[B, ..]`, `[B, .., transitions]`."""
        hidden = sum(vectors(share, features, (place,)) for place, share in self.shares.items())
        kept = self.kept.reshape(len(self.kept), *[1] * (jnp.ndim(hidden) - 2), -1)
        return (nnx.leaky_relu(hidden, 0.1) * kept) @ self.weights + self.bias

    @property
    def words(self) -> int:
        """How many words there is room for."""
        return next(iter(self.shares.values())).shape[-2] - 2


class TransitionScorer(nnx.Module):
    """A layer over the vectors at `places`, one behind the other, and one for the transitions."""

    def __init__(
        self, places: Sequence[str], transitions: int, states: int, hidden: int, dropout: float, *, rngs: nnx.Rngs
    ) -> None:
        self.places = nnx.static(tuple(places))
        self.shares = Linear(states, len(places) * hidden, rngs=rngs)
        self.last = Linear(hidden, transitions, rngs=rngs)
        self.dropout = Dropout(dropout)

    def of_words(self, states: jax.Array, rngs: Dropped = None, start: jax.Array | None = None) -> jax.Array:
        """From vectors in context, what each gives to the hidden layer, at all places."""
        return self.shares(states)

    def weighted(self, words: jax.Array) -> jax.Array:
        """The same."""
        return words

    def __call__(self, words: jax.Array, lengths: jax.Array, rngs: Dropped = None) -> TransitionScores:
        """The scores of sentences, from `of_words`, `[B, n+2, ..]`."""
        shares = jnp.split(words, len(self.places), axis=-1)
        kept = self.dropout(jnp.ones((len(words), 1, shares[0].shape[-1])), rngs)[:, 0]
        assert self.last.bias is not None
        by_place = dict(zip(self.places, shares, strict=True))
        return TransitionScores(by_place, kept, self.last.kernel[...], self.last.bias[...])

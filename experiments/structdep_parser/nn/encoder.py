"""From words to vectors in context: word and character vectors, and bidirectional LSTMs over them."""

from importlib import import_module
from typing import Protocol

import jax
import jax.numpy as jnp
from flax import nnx

from structdep_parser.config import Config
from structdep_parser.data.batches import Batch
from structdep_parser.data.vocabulary import UNKNOWN, Vocabulary
from structdep_parser.nn.lstm import lstm

Dropped = nnx.Rngs | None
"""Where dropout draws from; None in evaluation, where nothing is dropped."""


class Dropout(nnx.Module):
    """Dropout of `[batch, positions, features]` with one mask for all positions of a row.

    Batches come first, so that the masks of sentences do not change with the number of rows behind them.
    """

    def __init__(self, rate: float) -> None:
        self.dropout = nnx.Dropout(rate, broadcast_dims=(1,))

    def __call__(self, x: jax.Array, rngs: Dropped) -> jax.Array:
        return self.dropout(x, deterministic=rngs is None, rngs=rngs)


class Layer(Protocol):
    """A layer of the encoder: a class of flax.nnx with this constructor and call may take the BiLSTM's place.

    It is made with the sizes of its inputs and states and a rate of dropout, and is called with vectors
    `[batch, n, inputs]`, the numbers of positions that are no padding, `[batch]`, and, in training, with the source of
    dropout. It returns `[batch, n, states]`.
    """

    def __init__(self, inputs: int, states: int, dropout: float, *, rngs: nnx.Rngs) -> None: ...

    def __call__(self, x: jax.Array, lengths: jax.Array, rngs: Dropped) -> jax.Array: ...


def layer_class(name: str) -> type[Layer]:
    """The class MODULE:CLASS; the BiLSTM where none is named.

    Raises:
        ValueError: there is none of this name.
    """
    if not name:
        return BiLSTM
    module, _, of_module = name.partition(":")
    try:
        found: type[Layer] = getattr(import_module(module), of_module)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"--encoder-layer {name}: expected MODULE:CLASS of a class that can be imported: {error}"
        ) from None
    return found


class BiLSTM(nnx.Module):
    """One layer in both directions: `[batch, n, inputs]` to `[batch, n, states]`, half of them from each direction.

    Both directions run in one loop, and what depends on the inputs alone is computed before it. States behind
    `lengths` are zero.
    """

    def __init__(self, inputs: int, states: int, recurrent_dropout: float, *, rngs: nnx.Rngs) -> None:
        self.half = states // 2
        self.gates = nnx.Linear(inputs, 8 * self.half, rngs=rngs)
        blocks = [nnx.initializers.orthogonal()(rngs.params(), (self.half, self.half)) for _ in range(8)]
        self.recurrent = nnx.Param(jnp.stack(blocks).reshape(2, 4, self.half, self.half).transpose(0, 2, 1, 3))
        self.dropout = Dropout(recurrent_dropout)

    def __call__(self, x: jax.Array, lengths: jax.Array, rngs: Dropped) -> jax.Array:
        batch, n, _ = x.shape
        gates = self.gates(x).reshape(batch, n, 2, 4 * self.half).transpose(1, 2, 0, 3)
        mask = (jnp.arange(n)[:, None] < lengths)[:, None, :, None].astype(x.dtype)
        kept = self.dropout(jnp.ones((batch, 1, 2 * self.half)), rngs).reshape(batch, 2, self.half).swapaxes(0, 1)
        recurrent = self.recurrent[...].reshape(2, self.half, 4 * self.half)
        both = _backward_reversed(jnp.broadcast_to(mask, (n, 2, batch, 1)))
        states = lstm(_backward_reversed(gates), both, recurrent, kept)
        return _backward_reversed(states).transpose(2, 0, 1, 3).reshape(batch, n, 2 * self.half)


def _backward_reversed(x: jax.Array) -> jax.Array:
    """`[n, 2, ..]` with the second direction's positions in reverse order."""
    return jnp.stack([x[:, 0], x[::-1, 1]], axis=1)


class Characters(nnx.Module):
    """A form's vector from its characters, `[types, c]` to `[types, states]`: the last states of a BiLSTM."""

    def __init__(self, characters: int, config: Config, *, rngs: nnx.Rngs) -> None:
        self.vectors = nnx.Embed(characters, config.character_vectors, rngs=rngs)
        self.dropout = Dropout(config.input_dropout)
        self.lstm = BiLSTM(config.character_vectors, config.character_states, 0.0, rngs=rngs)

    def __call__(self, characters: jax.Array, lengths: jax.Array, rngs: Dropped) -> jax.Array:
        states = self.lstm(self.dropout(self.vectors(characters), rngs), lengths, rngs)
        last = jnp.take_along_axis(states, lengths[:, None, None] - 1, axis=1)[:, 0]
        return jnp.concatenate([last[:, : self.lstm.half], states[:, 0, self.lstm.half :]], axis=-1)


class Encoder(nnx.Module):
    """Vectors in context: `[batch, n+2, states]`. Position 0 is the root, the one behind the last word the sentinel."""

    def __init__(self, vocabulary: Vocabulary, config: Config, *, rngs: nnx.Rngs) -> None:
        width = config.word_vectors if config.feature_width else 0
        names = len(vocabulary.treebanks)
        inputs = config.word_vectors + config.character_states + width + config.treebank_vectors * bool(names)
        self.features = nnx.Linear(config.feature_width, width, rngs=rngs) if width else None
        self.words = nnx.Embed(len(vocabulary.words), config.word_vectors, rngs=rngs)
        self.characters = Characters(len(vocabulary.characters), config, rngs=rngs)
        self.root, self.sentinel = (nnx.Param(jax.random.normal(rngs.params(), (inputs,)) * 0.1) for _ in range(2))
        self.treebanks = nnx.Embed(names, config.treebank_vectors, rngs=rngs) if names else None
        self.word_dropout = config.word_dropout
        self.input_dropout = Dropout(config.input_dropout)
        self.state_dropout = Dropout(config.state_dropout)
        stacked = config.tag_features if config.tags == "stack" else 0
        if stacked and config.layers < 2:
            raise ValueError(f"tags='stack' needs a layer above that of tags, but layers is {config.layers}: write 2")
        sizes = [inputs, config.states + stacked, *[config.states] * config.layers][: config.layers]
        layer = layer_class(config.encoder_layer)
        self.layers = nnx.List(layer(size, config.states, config.recurrent_dropout, rngs=rngs) for size in sizes)
        self.tag_features = nnx.Linear(config.states, stacked, rngs=rngs) if stacked else None

    def __call__(self, batch: Batch, rngs: Dropped = None) -> jax.Array:
        return self.both(batch, rngs)[0]

    def both(self, batch: Batch, rngs: Dropped = None) -> tuple[jax.Array, jax.Array]:
        """The vectors, and those to predict tags from: the same, or with stack propagation (Zhang, Weiss 2016) others.

        These come from the first layer, and are inputs of the second beside its states.
        """
        x = self.input_dropout(self._delimited(self._inputs(batch, rngs), batch.lengths), rngs)
        tags = None
        for layer in self.layers:
            x = self.state_dropout(layer(x, batch.lengths + 2, rngs), rngs)
            if tags is None and self.tag_features is not None:
                tags = self.state_dropout(nnx.relu(self.tag_features(x)), rngs)
                x = jnp.concatenate([x, tags], axis=-1)
        return x, x if tags is None else tags

    def _inputs(self, batch: Batch, rngs: Dropped) -> jax.Array:
        """Word and character vectors, and those of features and treebanks if there are some.

        The characters' are computed once a distinct form; all words of a sentence have the vector of its treebank
        (Stymne et al. 2018).
        """
        words = batch.words
        if rngs is not None:
            words = jnp.where(jax.random.bernoulli(rngs.dropout(), self.word_dropout, words.shape), UNKNOWN, words)
        forms = self.characters(batch.type_chars, batch.type_lengths, rngs)
        vectors = [self.words(words), forms[batch.word_types]]
        if self.features is not None:
            vectors.append(self.features(batch.features))
        if self.treebanks is not None:
            own = self.treebanks(batch.treebanks)[:, None]
            vectors.append(jnp.broadcast_to(own, (*words.shape, own.shape[-1])))
        return jnp.concatenate(vectors, axis=-1)

    def _delimited(self, x: jax.Array, lengths: jax.Array) -> jax.Array:
        """The words between the root and the sentinel."""
        x = jnp.pad(x, ((0, 0), (1, 1), (0, 0))).at[:, 0].set(self.root[...])
        last = jnp.arange(x.shape[1]) == lengths[:, None] + 1
        return jnp.where(last[..., None], self.sentinel[...], x)

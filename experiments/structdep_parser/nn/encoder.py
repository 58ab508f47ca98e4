"""From words to vectors in context: word and character vectors, and bidirectional LSTMs over them."""

from typing import Protocol

import jax
import jax.numpy as jnp
from flax import nnx

from structdep_parser.config import Config
from structdep_parser.data.batch import Forms, Lines
from structdep_parser.data.lines import begins, ends
from structdep_parser.data.vocabulary import UNKNOWN, Vocabulary
from structdep_parser.imported import imported
from structdep_parser.nn.linear import Linear
from structdep_parser.nn.lstm_loop import lstm

Dropped = nnx.Rngs | None
"""Where dropout draws from; None in evaluation, where nothing is dropped."""


class Dropout(nnx.Module):
    """Dropout with one mask for all positions of a sequence.

    Sequences are the rows of `[batch, positions, features]`, or lie in lines (see `data.lines`) where `start` is given.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, x: jax.Array, rngs: Dropped, start: jax.Array | None = None) -> jax.Array:
        if rngs is None or not self.rate:
            return x
        if start is None:
            return x * self.mask(rngs, (len(x), 1, x.shape[-1]))
        return x * self.mask(rngs, (start.size, x.shape[-1]))[start]

    def mask(self, rngs: nnx.Rngs, shape: tuple[int, ...]) -> jax.Array:
        """0 or 1 / (1 - rate), at random."""
        return jax.random.bernoulli(rngs.dropout(), 1 - self.rate, shape) / jnp.float32(1 - self.rate)


class Layer(Protocol):
    """A layer of the encoder: a class of flax.nnx with this constructor and call may take the BiLSTM's place.

    It is made with the sizes of its inputs and states and a rate of dropout, and is called with vectors
    `[batch, n, inputs]`, the numbers of positions that are no padding, `[batch]`, and, in training, with the source of
    dropout. It returns `[batch, n, states]`.
    """

    def __init__(self, inputs: int, states: int, dropout: float, *, rngs: nnx.Rngs) -> None: ...

    def __call__(self, x: jax.Array, lengths: jax.Array, rngs: Dropped) -> jax.Array: ...


def layer_class(name: str) -> type["Layer | BiLSTM"]:
    """The class MODULE:CLASS; the BiLSTM where none is named.

    Raises:
        ValueError: there is none of this name.
    """
    if not name:
        return BiLSTM
    found: type[Layer] = imported("--encoder-layer", name, "MODULE:CLASS of a class that can be imported")
    return found


class BiLSTM(nnx.Module):
    """One layer in both directions over sequences in lines: `[lines, width, inputs]` to `[lines, width, states]`.

    Half of the states are from each direction. Both run in one loop, and what depends on the inputs alone is computed
    before it. `start` says where sequences begin (see `data.lines`).
    """

    def __init__(self, inputs: int, states: int, recurrent_dropout: float, *, rngs: nnx.Rngs) -> None:
        self.half = states // 2
        self.gates = Linear(inputs, 8 * self.half, rngs=rngs)
        blocks = [nnx.initializers.orthogonal()(rngs.params(), (self.half, self.half)) for _ in range(8)]
        self.recurrent = nnx.Param(jnp.stack(blocks).reshape(2, 4, self.half, self.half).transpose(0, 2, 1, 3))
        self.dropout = Dropout(recurrent_dropout)

    def __call__(self, x: jax.Array, start: jax.Array, rngs: Dropped) -> jax.Array:
        lines, width, _ = x.shape
        gates = _in_order(self.gates(x).reshape(lines, width, 2, 4 * self.half))
        first = jnp.stack([begins(start), ends(start)], axis=-1)[..., None]
        kept = goes_on = _in_order(1 - first.astype(x.dtype))
        if rngs is not None and self.dropout.rate:
            mask = self.dropout.mask(rngs, (start.size, 2 * self.half))[start]
            kept = goes_on * _in_order(mask.reshape(lines, width, 2, self.half))
        states = lstm(gates, goes_on, self.recurrent[...].reshape(2, self.half, 4 * self.half), kept)
        return _backward_reversed(states).transpose(2, 0, 1, 3).reshape(lines, width, 2 * self.half)


def _in_order(x: jax.Array) -> jax.Array:
    """`[lines, width, 2, ..]` as `[width, 2, lines, ..]`, each direction in the order in which it reads."""
    return _backward_reversed(x.transpose(1, 2, 0, 3))


def _backward_reversed(x: jax.Array) -> jax.Array:
    """`[n, 2, ..]` with the second direction's positions in reverse order."""
    return jnp.stack([x[:, 0], x[::-1, 1]], axis=1)


class Characters(nnx.Module):
    """The vectors of forms from characters, which lie in lines: the last states of a BiLSTM, `[forms, states]`."""

    def __init__(self, characters: int, config: Config, *, rngs: nnx.Rngs) -> None:
        self.vectors = nnx.Embed(characters, config.character_vectors, rngs=rngs)
        self.dropout = Dropout(config.input_dropout)
        self.lstm = BiLSTM(config.character_vectors, config.character_states, 0.0, rngs=rngs)

    def __call__(self, forms: Forms, rngs: Dropped) -> jax.Array:
        states = self.lstm(self.dropout(self.vectors(forms.characters), rngs, forms.start), forms.start, rngs)
        flat, half = states.reshape(-1, states.shape[-1]), self.lstm.half
        return jnp.concatenate([flat[forms.last, :half], flat[forms.first, half:]], axis=-1)


class Encoder(nnx.Module):
    """Vectors in context: `[lines, width, states]`. A sentence begins with the root, and ends with the sentinel."""

    def __init__(self, vocabulary: Vocabulary, config: Config, *, rngs: nnx.Rngs) -> None:
        width = config.word_vectors if config.feature_width else 0
        names = len(vocabulary.treebanks)
        inputs = config.word_vectors + config.character_states + width + config.treebank_vectors * bool(names)
        self.features = Linear(config.feature_width, width, rngs=rngs) if width else None
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
        self.tag_features = Linear(config.states, stacked, rngs=rngs) if stacked else None

    def __call__(self, lines: Lines, spelled: jax.Array, rngs: Dropped = None) -> tuple[jax.Array, jax.Array]:
        """The vectors, and those to predict tags from: the same, or with stack propagation (Zhang, Weiss 2016) others.

        These come from the first layer, and are inputs of the second beside its states. `spelled` are the vectors of
        words by their characters, `[lines, width, states]`.
        """
        start = lines.start
        # A layer of one's own has one sentence a line, and is told its length.
        where = start if isinstance(self.layers[0], BiLSTM) else (start == start[:, :1]).sum(-1)
        x = self.input_dropout(self._delimited(self._inputs(lines, spelled, rngs), start), rngs, start)
        tags = None
        for layer in self.layers:
            x = self.state_dropout(layer(x, where, rngs), rngs, start)
            if tags is None and self.tag_features is not None:
                tags = self.state_dropout(nnx.relu(self.tag_features(x)), rngs, start)
                x = jnp.concatenate([x, tags], axis=-1)
        return x, x if tags is None else tags

    def _inputs(self, lines: Lines, spelled: jax.Array, rngs: Dropped) -> jax.Array:
        """Vectors of words and their characters, and those of features and treebanks if there are some.

        All words of a sentence have the vector of its treebank (Stymne et al. 2018).
        """
        words = lines.words
        if rngs is not None:
            words = jnp.where(jax.random.bernoulli(rngs.dropout(), self.word_dropout, words.shape), UNKNOWN, words)
        vectors = [self.words(words), spelled]
        if self.features is not None:
            vectors.append(self.features(lines.features))
        if self.treebanks is not None:
            vectors.append(self.treebanks(lines.treebank))
        return jnp.concatenate(vectors, axis=-1)

    def _delimited(self, x: jax.Array, start: jax.Array) -> jax.Array:
        """The words between the root and the sentinel."""
        x = jnp.where(begins(start)[..., None], self.root[...], x)
        return jnp.where(ends(start)[..., None], self.sentinel[...], x)

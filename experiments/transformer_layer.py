"""A transformer layer in place of each BiLSTM of the encoder: an example of a module of one's own.

PYTHONPATH=experiments structdep train --lang got --parser mst --encoder-layer transformer_layer:TransformerLayer \\
    --set layers=4 learning_rate=0.001
"""

import jax
import jax.numpy as jnp
from flax import nnx

from structdep_parser.nn.encoder import Dropout, Dropped

HEADS = 8


class TransformerLayer(nnx.Module):
    """Attention and a feed-forward network, each behind a layer norm and beside a residual connection.

    The first layer maps its inputs to `states` features; every layer adds sinusoidal positions.
    """

    def __init__(self, inputs: int, states: int, dropout: float, *, rngs: nnx.Rngs) -> None:
        self.inputs = nnx.Linear(inputs, states, rngs=rngs) if inputs != states else None
        self.attention = nnx.MultiHeadAttention(HEADS, states, decode=False, rngs=rngs)
        self.norms = nnx.List(nnx.LayerNorm(states, rngs=rngs) for _ in range(2))
        self.wide, self.narrow = nnx.Linear(states, 4 * states, rngs=rngs), nnx.Linear(4 * states, states, rngs=rngs)
        self.dropout = Dropout(dropout)

    def __call__(self, x: jax.Array, lengths: jax.Array, rngs: Dropped) -> jax.Array:
        if self.inputs is not None:
            x = self.inputs(x)
        n = x.shape[1]
        x += positions(n, x.shape[-1])
        is_word = jnp.arange(n) < lengths[:, None]
        attended = self.attention(self.norms[0](x), mask=is_word[:, None, None, :])
        x += self.dropout(attended, rngs)
        x += self.dropout(self.narrow(nnx.gelu(self.wide(self.norms[1](x)))), rngs)
        return jnp.where(is_word[..., None], x, 0)


def positions(n: int, features: int) -> jax.Array:
    """Sines and cosines of places 0 to n - 1, `[n, features]`, with wavelengths from 2π to 20,000π."""
    waves = jnp.arange(n)[:, None] / 10_000 ** (jnp.arange(features // 2) / (features // 2))
    return jnp.concatenate([jnp.sin(waves), jnp.cos(waves)], axis=-1)

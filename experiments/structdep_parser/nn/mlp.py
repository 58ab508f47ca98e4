"""The layer between vectors in context and scores."""

import jax
from flax import nnx

from structdep_parser.nn.encoder import Dropout, Dropped
from structdep_parser.nn.linear import Linear


class MLP(nnx.Module):
    """One layer and dropout: what a word is in one role."""

    def __init__(self, inputs: int, outputs: int, dropout: float, *, rngs: nnx.Rngs) -> None:
        self.linear = Linear(inputs, outputs, rngs=rngs)
        self.dropout = Dropout(dropout)

    def __call__(self, x: jax.Array, rngs: Dropped, start: jax.Array | None = None) -> jax.Array:
        return self.dropout(nnx.leaky_relu(self.linear(x), 0.1), rngs, start)

"""A model that reads an answer off a latent tree: arc scores, then messages along arcs, then the state of the root."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import nnx

from structdep_parser.data.lines import one_a_line
from structdep_parser.latent.expressions import CLOSE, DIGITS, ROOT, TOKENS
from structdep_parser.nn.encoder import BiLSTM
from structdep_parser.nn.mlp import MLP
from structdep_parser.nn.scorers import Biaffine


class TreeScorer(nnx.Module):
    """Arc scores from a BiLSTM over the tokens; only the root and operators may be heads."""

    def __init__(self, features: int, *, rngs: nnx.Rngs) -> None:
        self.token = nnx.Embed(TOKENS, features, rngs=rngs)
        self.lstm = BiLSTM(features, features, 0.0, rngs=rngs)
        self.head, self.dependent = (MLP(features, features, 0.0, rngs=rngs) for _ in range(2))
        self.arc = Biaffine(features, 1)

    def __call__(self, tokens: jax.Array, lengths: jax.Array) -> jax.Array:
        """From `[batch, n]` to `[batch, n+1, n+1]`."""
        nodes = with_root(tokens)
        states = self.lstm(self.token(nodes), one_a_line(lengths + 1, nodes.shape[1]), None)
        weighted = self.arc.weighted(self.head(states, None))
        scores = self.arc.pairs(weighted, self.dependent(states, None))[0]
        may_be_head = (nodes == ROOT) | ((nodes >= DIGITS) & (nodes < CLOSE))
        return jnp.where(may_be_head[..., None], scores, -jnp.inf)


class LatentTreeModel(nnx.Module):
    """Scores see the whole expression. Messages start from single tokens, so that only arcs can bring them together."""

    def __init__(self, features: int, rounds: int, *, rngs: nnx.Rngs) -> None:
        self.rounds = rounds
        self.scorer = TreeScorer(features, rngs=rngs)
        self.token = nnx.Embed(TOKENS, features, rngs=rngs)
        self.hidden = nnx.Linear(2 * features, features, rngs=rngs)
        self.state = nnx.Linear(features, features, rngs=rngs)
        self.answer = nnx.Linear(features, DIGITS, rngs=rngs)

    def logits(self, tokens: jax.Array, arcs: jax.Array) -> jax.Array:
        """Of the answers, `[batch, DIGITS]`, after messages from dependents to heads along arcs, relaxed or not."""
        own = self.token(with_root(tokens))
        states = own
        for _ in range(self.rounds):
            received = jnp.einsum("bhd,bdf->bhf", arcs, states)
            states = own + self.state(nnx.relu(self.hidden(jnp.concatenate([own, received], -1))))
        return self.answer(states[:, 0])


def with_root(tokens: jax.Array) -> jax.Array:
    """The root in front of the tokens: `[batch, n]` to `[batch, n+1]`."""
    return jnp.pad(tokens, ((0, 0), (1, 0)), constant_values=ROOT)

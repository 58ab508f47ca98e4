"""Arc scores that have heard from other arcs: mean-field inference over second-order parts (Wang, Tu 2020)."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from structdep.greedy.approximate_marginals import choice_of_heads, refined
from structdep_parser.nn.encoder import Dropped
from structdep_parser.nn.mlp import MLP

ITERATIONS = 3


class Parts(NamedTuple):
    """Factors of the scores of parts, `[B, n+1, f]` each.

    Siblings j, k below i have `Σ_f head_if sibling_jf sibling_kf`, arcs i to j to k `Σ_f grandparent_if parent_jf
    grandchild_kf`.
    """

    head: jax.Array
    sibling: jax.Array
    grandparent: jax.Array
    parent: jax.Array
    grandchild: jax.Array


class MeanField(nnx.Module):
    """Makes parts of `features`, whose weights start from zero, by which arc scores are refined."""

    def __init__(self, states: int, features: int, dropout: float, *, rngs: nnx.Rngs) -> None:
        self.roles = nnx.Dict({role: MLP(states, features, dropout, rngs=rngs) for role in Parts._fields})
        self.weights = nnx.Param(jnp.zeros((2, features)))

    def of_words(self, states: jax.Array, rngs: Dropped = None, start: jax.Array | None = None) -> Parts:
        """From vectors in context, `[.., places, states]`."""
        parts = Parts(**{role: mlp(states, rngs, start) for role, mlp in self.roles.items()})
        siblings, chains = self.weights[...]
        return parts._replace(head=siblings * parts.head, parent=chains * parts.parent)


def mean_field(arcs: jax.Array, parts: Parts, lengths: jax.Array) -> jax.Array:
    """Arc scores `[B, n+1, n+1]` with what each arc is expected to gain by parts; each word chooses its head alone."""
    allowed = _allowed(arcs.shape[-1], lengths)

    def probabilities(scores: jax.Array) -> jax.Array:
        return choice_of_heads(jnp.where(allowed, scores, -jnp.inf))

    return refined(arcs, partial(messages, parts=parts), probabilities, ITERATIONS)


def messages(q: jax.Array, parts: Parts) -> jax.Array:
    """For each arc, the expected score of the parts that it completes, the others being probable as `q` says."""
    head, sibling, grandparent, parent, grandchild = parts
    other_way = jnp.swapaxes(q, 1, 2)
    siblings = _pairs(head * (q @ sibling), sibling) - q * _pairs(head, sibling**2)
    # A word is not its own grandparent.
    above = _pairs(parent * (other_way @ grandparent), grandchild)
    above -= other_way * _pairs(parent, grandparent * grandchild)
    below = _pairs(grandparent, parent * (q @ grandchild)) - other_way * _pairs(grandparent * grandchild, parent)
    return siblings + above + below


def _pairs(x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.einsum("bif,bjf->bij", x, y)


def _allowed(places: int, lengths: jax.Array) -> jax.Array:
    """Which arcs there are, `[B, n+1, n+1]`: from the root or a word to another word."""
    place = jnp.arange(places)
    real = place <= lengths[:, None]
    return real[:, :, None] & (real & (place > 0))[:, None] & (place[:, None] != place)

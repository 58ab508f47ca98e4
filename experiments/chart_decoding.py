"""From charts to trees: the most probable, or those of least risk, and how probable they are."""

from dataclasses import replace

import jax
import jax.numpy as jnp

import structdep as sd
from experiments.compiled import Compiled
from experiments.decoding import Decoded, Decoding
from structdep.systems import System

Tables = dict[str, jax.Array]


class ChartDecoder:
    """Decodes batches of score tables.

    Args:
        system: whose best derivation makes the tree.
        once: that with one derivation for each tree, and so probabilities of trees.
        arcs: the same trees by arc scores alone.
    """

    def __init__(self, system: System, once: System, arcs: System) -> None:
        def best(scores: Tables, lengths: jax.Array) -> jax.Array:
            return sd.argmax(system, scores, lengths)

        def least_risk(probabilities: jax.Array, lengths: jax.Array) -> jax.Array:
            return sd.argmax(arcs, probabilities, lengths)

        def sums(scores: Tables, lengths: jax.Array) -> tuple[jax.Array, jax.Array]:
            trees = _trees(once, scores, lengths)
            value, pull = jax.vjp(lambda s: replace(trees, scores=s).log_partition(), trees.scores)
            return value, pull(jnp.ones_like(value))[0]["arc"]

        def score(scores: Tables, lengths: jax.Array, heads: jax.Array) -> jax.Array:
            return _trees(once, scores, lengths).score(heads)

        self.best, self.least_risk = Compiled(best), Compiled(least_risk)
        self.sums, self.score = Compiled(sums), Compiled(score)

    def __call__(self, scores: Tables, lengths: jax.Array, decoding: Decoding) -> Decoded:
        if decoding == Decoding():
            return Decoded(self.best(scores, lengths))
        log_partition, arcs = self.sums(scores, lengths)
        heads = self.best(scores, lengths) if decoding.decoder == "argmax" else self.least_risk(arcs, lengths)
        if not decoding.confidence:
            return Decoded(heads)
        of_heads = jnp.take_along_axis(arcs[:, :, 1:], heads[:, None], axis=1)[:, 0]
        log_prob = jnp.minimum(self.score(scores, lengths, heads) - log_partition, 0)
        return Decoded(heads, of_heads, jnp.exp(log_prob))

    @property
    def programs(self) -> tuple[Compiled, ...]:
        return self.best, self.least_risk, self.sums, self.score


def _trees(system: System, scores: Tables, lengths: jax.Array) -> sd.TreeDistribution:
    """The distribution over trees, with scores of arcs, 0 where it has none of its own."""
    if "arc" not in scores:
        scores = scores | {"arc": jnp.zeros_like(scores["shift"][:, :-1, :-1])}
    return sd.TreeDistribution(system, scores, lengths)

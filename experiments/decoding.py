"""From scores to trees: the most probable, or those of least risk, and how probable they are."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp

import structdep as sd
from experiments.compiled import Compiled
from experiments.scorers import Parser

DECODERS = ("argmax", "mbr")
Tables = dict[str, jax.Array]


@dataclass(frozen=True)
class Decoding:
    """`decoder`: argmax for the best tree, mbr for the one with the most heads to be expected (minimum Bayes risk).

    With `confidence`, probabilities of the tree and its arcs, too: exact, among the trees of the parser's class.
    """

    decoder: str = "argmax"
    confidence: bool = False


class Decoded(NamedTuple):
    """Heads int32 `[B, n]`, and, where wanted, the probabilities of their arcs `[B, n]` and of the trees `[B]`."""

    heads: jax.Array
    arcs: jax.Array | None = None
    trees: jax.Array | None = None


class Decoder:
    """Decodes batches of scores; each of its programs is compiled when first needed."""

    def __init__(self, parser: Parser, loss: str) -> None:
        def best(scores: Tables, lengths: jax.Array) -> jax.Array:
            return sd.argmax(parser.system(loss), scores, lengths)

        def least_risk(arcs: jax.Array, lengths: jax.Array) -> jax.Array:
            return sd.argmax(parser.arcs, arcs, lengths)

        def sums(scores: Tables, lengths: jax.Array) -> tuple[jax.Array, jax.Array]:
            trees = _trees(parser, scores, lengths)
            value, pull = jax.vjp(lambda s: replace(trees, scores=s).log_partition(), trees.scores)
            return value, pull(jnp.ones_like(value))[0]["arc"]

        def score(scores: Tables, lengths: jax.Array, heads: jax.Array) -> jax.Array:
            return _trees(parser, scores, lengths).score(heads)

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


def _trees(parser: Parser, scores: Tables, lengths: jax.Array) -> sd.TreeDistribution:
    """The distribution over trees, with scores of arcs, 0 where it has none of its own."""
    if "arc" not in scores:
        scores = scores | {"arc": jnp.zeros_like(scores["shift"][:, :-1, :-1])}
    return sd.TreeDistribution(parser.once, scores, lengths)

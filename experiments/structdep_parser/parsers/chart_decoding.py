"""From charts to trees: the most probable, or those of least risk, and how probable they are."""

from functools import partial

import jax
import jax.numpy as jnp

import structdep as sd
from structdep.spanning import all_trees
from structdep.trees.classes import System
from structdep_parser.nn.compiled import Compiled
from structdep_parser.parsers.decoding import Decoded, Decoding
from structdep_parser.parsers.one_root import Known, Tables, best, constraints_of, k_best, log_partition, with_arcs


class ChartDecoder:
    """Decodes batches of score tables.

    Args:
        system: whose best derivation makes the tree.
        once: that with one derivation for each tree, and so probabilities of trees.
        arcs: the same trees by arc scores alone.
        one_root: whether one word alone may depend on the root.
    """

    def __init__(self, system: System, once: System, arcs: System, one_root: bool) -> None:
        self.one_root = one_root

        def trees(scores: Tables, lengths: jax.Array, known: Known) -> sd.TreeDistribution:
            return sd.TreeDistribution(once, with_arcs(scores), lengths, constraints_of(known))

        def argmax(scores: Tables, lengths: jax.Array, known: Known) -> jax.Array:
            return best(system, scores, lengths, known, one_root)

        def least_risk(probabilities: jax.Array, lengths: jax.Array, known: Known) -> jax.Array:
            return best(arcs, {"arc": probabilities}, lengths, known, one_root)

        def search(k: int, scores: Tables, lengths: jax.Array, known: Known) -> jax.Array:
            return k_best(k, trees(scores, lengths, known), one_root)

        def sums(scores: Tables, lengths: jax.Array, known: Known) -> tuple[jax.Array, jax.Array]:
            value, pull = jax.vjp(lambda s: log_partition(once, s, lengths, known, one_root), with_arcs(scores))
            return value, pull(jnp.ones_like(value))[0]["arc"]

        def score(scores: Tables, lengths: jax.Array, heads: jax.Array) -> jax.Array:
            return trees(scores, lengths, None).score(heads)

        self.best, self.least_risk = Compiled(argmax), Compiled(least_risk)
        self.sums, self.score = Compiled(sums), Compiled(score)
        self._search, self.searches = search, dict[int, Compiled]()

    def __call__(self, scores: Tables, lengths: jax.Array, decoding: Decoding, known: Known = None) -> list[Decoded]:
        if not (decoding.confidence or decoding.decoder == "mbr"):
            return [Decoded(heads) for heads in self._trees(scores, lengths, decoding.k_best, known)]
        log_partition, arcs = self.sums(scores, lengths, known)
        if decoding.decoder == "mbr":
            found = [self.least_risk(arcs, lengths, known)]
        else:
            found = self._trees(scores, lengths, decoding.k_best, known)
        if not decoding.confidence:
            return [Decoded(heads) for heads in found]
        log_probs = [jnp.minimum(self.score(scores, lengths, heads) - log_partition, 0) for heads in found]
        return [Decoded(h, _of_heads(arcs, h), jnp.exp(p)) for h, p in zip(found, log_probs, strict=True)]

    def marginals(self, scores: Tables, lengths: jax.Array) -> jax.Array:
        """The probability of each arc, `[B, n+1, n+1]`."""
        return self.sums(scores, lengths, None)[1]

    def _trees(self, scores: Tables, lengths: jax.Array, k: int, known: Known) -> list[jax.Array]:
        if k == 1:
            return [self.best(scores, lengths, known)]
        if k not in self.searches:
            self.searches[k] = Compiled(partial(self._search, k))
        return list(self.searches[k](scores, lengths, known))

    @property
    def programs(self) -> tuple[Compiled, ...]:
        return self.best, self.least_risk, self.sums, self.score, *self.searches.values()


class WiderDecoder:
    """Trees outside a chart's class, for known heads that cross as it has none: by its marginals.

    The score of a tree is the sum of its arcs' log-probabilities in the chart, the trees are all.
    """

    def __init__(self, chart: ChartDecoder) -> None:
        self.chart, self.all = chart, ChartDecoder(all_trees(), all_trees(), all_trees(), chart.one_root)

    def __call__(self, scores: Tables, lengths: jax.Array, decoding: Decoding, known: Known = None) -> list[Decoded]:
        arcs = self.chart.marginals(scores, lengths)
        return self.all({"arc": jnp.log(jnp.maximum(arcs, LEAST))}, lengths, decoding, known)

    @property
    def programs(self) -> tuple[Compiled, ...]:
        return (*self.all.programs, *self.chart.programs)


LEAST = 1e-9
"""The probability that counts for an arc that a chart does not have."""


def _of_heads(arcs: jax.Array, heads: jax.Array) -> jax.Array:
    return jnp.take_along_axis(arcs[:, :, 1:], heads[:, None], axis=1)[:, 0]

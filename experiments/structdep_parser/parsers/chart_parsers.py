"""Parsers that search all trees of a class: a deduction system each, and the tables that pairs of roles fill."""

from collections.abc import Sequence
from functools import partial

import jax
from flax import nnx

from structdep import chart_bytes, charts
from structdep.batching import on_devices
from structdep.deduction import DeductionSystem
from structdep.spanning import SpanningTrees
from structdep.trees.classes import System
from structdep_parser.config import Config
from structdep_parser.data.conllu import Heads, Sentence
from structdep_parser.data.corpus import Partial, Trees, nearest_trees
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.nn.mean_field import MeanField
from structdep_parser.nn.scorers import TableScorer
from structdep_parser.parsers.chart_decoding import ChartDecoder
from structdep_parser.parsers.charts import Chart
from structdep_parser.parsers.decoding import Cheaper, Decoding
from structdep_parser.parsers.one_root import Tables
from structdep_parser.parsers.tree_losses import LOSSES

CHARTS_AT_ONCE = 2
"""How many times the room of its charts a sentence takes: that once was seen."""


class ChartParser:
    """A chart with the loss that trains it; a target is the tree to find, heads `[B, n]`, or what is known of it."""

    learns_parts = True

    def __init__(self, chart: Chart, loss: str, one_root: bool = True) -> None:
        if loss == "nll" and not chart.has_probabilities:
            raise ValueError("--loss nll: second-order scores give no probabilities of trees; write --loss hinge")
        self.chart, self.tree_loss, self.one_root = chart, LOSSES[loss], one_root
        # A likelihood is that of trees.
        self.system = chart.once if loss == "nll" else chart.best
        self.projective, self.finds_all_trees = chart.arcs == charts.eisner(), isinstance(chart.arcs, SpanningTrees)
        self.growth = chart.growth

    def scorer(self, config: Config, *, rngs: nnx.Rngs) -> TableScorer:
        sizes = config.states, config.scorer_features, config.part_features
        forms = self.chart.pairs, self.chart.triples, self.chart.singles
        refine = None
        if self.chart.refined:
            refine = MeanField(config.states, config.part_features, config.state_dropout, rngs=rngs)
        return TableScorer(*forms, *sizes, config.state_dropout, refine, rngs=rngs)

    def trees(self, sentences: Sequence[Sentence], vocabulary: Vocabulary) -> Heads:
        return nearest_trees(sentences, vocabulary, self.chart.arcs, self.one_root)

    def targets(self, trees: Heads) -> Trees:
        return Trees(trees)

    def loss(self, scores: Tables, target: jax.Array | Partial, lengths: jax.Array, rngs: nnx.Rngs) -> jax.Array:
        loss = self._tree_loss(self.system, scores, target, lengths)
        if not self.chart.has_probabilities:  # a search begins with arcs alone: they have to tell trees apart, too
            loss += self._tree_loss(self.chart.arcs, {"arc": scores["arc"]}, target, lengths)
        return loss

    def _tree_loss(self, system: System, scores: Tables, target: jax.Array | Partial, lengths: jax.Array) -> jax.Array:
        is_whole, heads = (False, target.heads) if isinstance(target, Partial) else (True, target)
        loss: jax.Array = on_devices(partial(self.tree_loss, system, self.one_root, is_whole))(scores, heads, lengths)
        return loss

    def check(self, decoding: Decoding) -> None:
        if decoding.beam != 1:
            raise ValueError(
                f"--beam {decoding.beam} is for parsers that take one transition after the other; "
                "a chart finds the best of all trees: leave --beam out"
            )
        if (asked := decoding.of_charts) and not self.chart.has_probabilities and asked != ["--constraints"]:
            raise ValueError(
                f"{' and '.join(asked)}: second-order scores give no probabilities of trees, and one tree; leave it out"
            )

    def decoder(self) -> ChartDecoder:
        return ChartDecoder(self.system, self.chart.once, self.chart.arcs, self.one_root)

    def memory(self, words: int, decoding: Decoding) -> int:
        tables = self.chart.tables
        sums = decoding.confidence or decoding.decoder == "mbr" or decoding.k_best > 1
        # The best tree by arcs alone is found by fewer rules, whatever the loss.
        best = self.chart.best if tables.keys() == {"arc"} else self.system
        systems = [best, *[self.chart.once] * sums]
        filled = [chart_bytes(system, tables, words) for system in systems if isinstance(system, DeductionSystem)]
        scores = sum(4 * (words + 2) ** positions for positions in tables.values())
        return scores + CHARTS_AT_ONCE * decoding.k_best * max(filled, default=0)

    def cheaper(self) -> Cheaper | None:
        system = self.chart.cheaper
        if system is None:
            return None
        names = self.chart.tables.keys() & system.declared.keys()
        return Cheaper(system.name, ChartDecoder(system, system, system, self.one_root), frozenset(names))

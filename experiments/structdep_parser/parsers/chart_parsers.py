"""Parsers that search all trees of a class: a deduction system each, and the tables that pairs of roles fill."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import jax
from flax import nnx

from structdep import chart_bytes, charts
from structdep.batching import on_devices
from structdep.deduction import DeductionSystem
from structdep.greedy import second_order
from structdep.greedy.second_order import GreedyTrees
from structdep.spanning import all_trees
from structdep.trees.classes import System
from structdep_parser.config import Config
from structdep_parser.data.corpus import Partial, Trees, nearest_trees
from structdep_parser.data.sentences import Heads, Sentence
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.nn.mean_field import MeanField
from structdep_parser.nn.scorers import Pairs, Singles, TableScorer, Triples
from structdep_parser.parsers.chart_decoding import ChartDecoder
from structdep_parser.parsers.decoding import Cheaper, Decoding
from structdep_parser.parsers.one_root import Tables
from structdep_parser.parsers.tree_losses import LOSSES

REDUCES = ("la", "ra", "la'", "ra'", "la2", "ra2")
CHARTS_AT_ONCE = 2
"""How many times the room of its charts a sentence takes: that once was seen."""


@dataclass(frozen=True)
class Chart:
    """Deduction systems of one class of trees, and what is scored.

    The roles of `pairs` are `head` and `dependent` of arcs, or places of a configuration: stack top `s0`, below it
    `s1`, buffer front `b0`. `best` finds a tree's best derivation by these tables, `once` has one derivation for each
    tree, and so probabilities of trees; `arcs` has the same trees by arc scores alone. Tables of pairs of arcs are
    filled by `triples` of roles, the words of a part, those of single words by `singles`. `growth` is the power of the
    length with which the time of a batch grows, encoder and chart together. Arcs may be `refined` by mean-field
    inference before they are scores of trees.
    """

    best: System
    once: System
    arcs: System
    pairs: Pairs
    triples: Triples = field(default_factory=dict)
    singles: Singles = field(default_factory=dict)
    cheaper: System | None = None
    growth: float = 2.0
    refined: bool = False

    @property
    def tables(self) -> dict[str, int]:
        """The names of all tables, with their numbers of positions."""
        several = {name: len(roles) for roles, names in (*self.pairs.items(), *self.triples.items()) for name in names}
        return several | {name: 1 for names in self.singles.values() for name in names}

    @property
    def has_probabilities(self) -> bool:
        """Not where the best tree is sought greedily: no algorithm sums over all trees by scores of pairs of arcs."""
        return not isinstance(self.best, GreedyTrees)


ARCS = {("head", "dependent"): ("arc",)}
TWO = {("s0", "b0"): ("shift", *REDUCES)}
HYBRID = TWO | {("s1", "s0"): tuple(f"{name}:s1" for name in REDUCES)}
PARTS = {("g", "h", "d"): ("grandparent",), ("parent", "first", "second"): ("sibling",)}
CROSSING = {
    **ARCS,  # by themselves, as a parser of arcs has them to begin with
    ("crossing", "dependent"): ("crossed",),
    ("grandparent", "dependent"): ("grandparent",),
    ("sibling", "dependent"): ("sibling",),
}
ADJACENT = {("parent", "second", "first"): ("sibling",)}
GREEDY, EISNER2 = second_order(), charts.eisner(siblings=True)
ALL, EISNER, MH4 = all_trees(), charts.eisner(), charts.mhk(4)
ONE_EC, ONE_EC_PARTS = charts.one_endpoint_crossing(), charts.crossing_sensitive()
MH3_STEPS = charts.arc_hybrid(transitions=True), charts.arc_hybrid_trees(transitions=True)
MH4_STEPS = charts.mhk(4, transitions=True), charts.mh4_trees(transitions=True)
CHARTS = {
    "mst": Chart(ALL, ALL, ALL, ARCS),
    "mst2-mean-field": Chart(ALL, ALL, ALL, ARCS, refined=True),
    "mst2-greedy": Chart(GREEDY, GREEDY, ALL, ARCS, PARTS, cheaper=ALL),
    "eisner": Chart(EISNER, EISNER, EISNER, ARCS),
    "eisner2": Chart(EISNER2, EISNER2, EISNER, ARCS, ADJACENT, cheaper=EISNER, growth=3),
    "arc-eager": Chart(
        charts.arc_eager(transitions=True),
        charts.arc_eager_trees(transitions=True),
        EISNER,
        {("s0", "b0"): ("shift", "la", "ra", "reduce")},
    ),
    "mh3": Chart(*MH3_STEPS, EISNER, {("s0", "b0"): ("shift", "la", "ra")}),
    "mh4": Chart(MH4, charts.mh4_trees(), MH4, ARCS, cheaper=ALL, growth=3),
    "1ec1": Chart(ONE_EC, ONE_EC, ONE_EC, ARCS, cheaper=ALL, growth=3),
    "1ec": Chart(
        ONE_EC_PARTS,
        ONE_EC_PARTS,
        ONE_EC,
        CROSSING,
        singles={"dependent": ("top", "first")},
        cheaper=ALL,
        growth=3,
    ),
    "mh4-two": Chart(*MH4_STEPS, MH4, TWO, cheaper=MH3_STEPS[1], growth=3),
    "mh4-hybrid": Chart(*MH4_STEPS, MH4, HYBRID, cheaper=MH3_STEPS[1], growth=3),
    "mh4-hybrid-arcs": Chart(*MH4_STEPS, MH4, ARCS | HYBRID, cheaper=MH3_STEPS[1], growth=3),
}


class ChartParser:
    """A chart with the loss that trains it; a target is the tree to find, heads `[B, n]`, or what is known of it."""

    learns_parts = True

    def __init__(self, chart: Chart, loss: str, one_root: bool = True) -> None:
        if loss == "nll" and not chart.has_probabilities:
            raise ValueError("--loss nll: second-order scores give no probabilities of trees; write --loss hinge")
        self.chart, self.tree_loss, self.one_root = chart, LOSSES[loss], one_root
        # A likelihood is that of trees.
        self.system = chart.once if loss == "nll" else chart.best
        self.projective, self.growth = chart.arcs == EISNER, chart.growth

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

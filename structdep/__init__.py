"""Differentiable structured prediction of dependency trees: deduction systems, run as charts over semirings, in JAX."""

from structdep import batching, charts, greedy, relaxations, semirings, spanning, testing, transitions, trees
from structdep._engines.choice import describe, use_engine
from structdep._engines.cpu.library import export_checks, free_chart_memory, set_chart_memory
from structdep._engines.cpu.library import register as _register
from structdep._engines.xla.chart import chart_bytes
from structdep.deduction import DeductionSystem, Item, Score, arc, either, indices, n
from structdep.inference import losses
from structdep.inference.constraints import Constraints
from structdep.inference.distribution import Labelled, TreeDistribution
from structdep.inference.inside import inside
from structdep.inference.parsers import arc_eager, arc_hybrid, arc_standard, eisner, mhk, one_endpoint_crossing
from structdep.inference.queries import argmax, best_labels, marginals, nearest_tree, sample
from structdep.semirings import (
    CostAugmented,
    Counting,
    Entropy,
    Expectation,
    KBest,
    LogSum,
    MaxPlus,
    Pair,
    Sample,
    Semiring,
    SingleRoot,
    semiring,
)
from structdep.trees import conversions, pseudo_projective

__all__ = [
    "Constraints",
    "CostAugmented",
    "Counting",
    "DeductionSystem",
    "Entropy",
    "Expectation",
    "Item",
    "KBest",
    "Labelled",
    "LogSum",
    "MaxPlus",
    "Pair",
    "Sample",
    "Score",
    "Semiring",
    "SingleRoot",
    "TreeDistribution",
    "arc",
    "arc_eager",
    "arc_hybrid",
    "arc_standard",
    "argmax",
    "batching",
    "best_labels",
    "chart_bytes",
    "charts",
    "conversions",
    "describe",
    "eisner",
    "either",
    "export_checks",
    "free_chart_memory",
    "greedy",
    "indices",
    "inside",
    "losses",
    "marginals",
    "mhk",
    "n",
    "nearest_tree",
    "one_endpoint_crossing",
    "pseudo_projective",
    "relaxations",
    "sample",
    "semiring",
    "semirings",
    "set_chart_memory",
    "spanning",
    "testing",
    "transitions",
    "trees",
    "use_engine",
]


_register()

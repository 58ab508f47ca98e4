"""Differentiable structured prediction of dependency trees, projective or with crossing arcs, in JAX.

Queries are functions of a system and of scores: `argmax`, `inside`, `marginals`, `sample`, `losses`, and the methods of
`TreeDistribution`. A system is a class of trees, from `charts` or `spanning`, or a `DeductionSystem` of your own. Arc
scores are `[*batch, n+1, n+1]`, indexed by head and dependent; row 0 is the root. The semiring selects what `inside`
computes: the best score, the log-partition, the k best scores, entropies, and others.

Example:
    >>> import jax.numpy as jnp, structdep as sd
    >>> scores = jnp.zeros((4, 4)).at[2, 1].set(1.0).at[0, 2].set(1.0).at[2, 3].set(1.0)
    >>> sd.argmax(sd.charts.eisner(), scores)
    Array([2, 0, 2], dtype=int32)
"""

from structdep import batching, charts, greedy, relaxations, semirings, spanning, testing, transitions, trees
from structdep._engines.choice import describe, use_engine
from structdep._engines.cpu.library import export_checks, free_chart_memory, set_chart_memory
from structdep._engines.cpu.library import register as _register
from structdep._engines.xla.chart import chart_bytes
from structdep._exported import register as _register_results
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
_register_results()

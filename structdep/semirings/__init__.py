"""Semirings: what a query computes over all derivations of a sentence.

A semiring has a sum, over derivations, and a product, of the scores in a derivation. Queries take a semiring as a
class, or as an instance where it has arguments: `structdep.inside(system, scores, semiring=KBest(5))`.
"""

from structdep.semirings.base import Semiring, semiring
from structdep.semirings.cost_augmented import CostAugmented
from structdep.semirings.counting import Counting
from structdep.semirings.entropy import Entropies, Entropy
from structdep.semirings.expectation import Expectation, Moments
from structdep.semirings.k_best import KBest
from structdep.semirings.log_sum import LogSum
from structdep.semirings.max_plus import MaxPlus
from structdep.semirings.product import Pair
from structdep.semirings.sample import Sample
from structdep.semirings.single_root import SingleRoot

__all__ = [
    "CostAugmented",
    "Counting",
    "Entropies",
    "Entropy",
    "Expectation",
    "KBest",
    "LogSum",
    "MaxPlus",
    "Moments",
    "Pair",
    "Sample",
    "Semiring",
    "SingleRoot",
    "semiring",
]

"""Inference over all trees with second-order scores: greedy, and with certificates by dual decomposition."""

from structdep.greedy.parsers import bgi, bgi_pp, improve
from structdep.greedy.parts import favour, score
from structdep.greedy.second_order import second_order
from structdep.greedy.subgradient import CertifiedTrees, dual_decomposition

__all__ = [
    "CertifiedTrees",
    "bgi",
    "bgi_pp",
    "dual_decomposition",
    "favour",
    "improve",
    "score",
    "second_order",
]

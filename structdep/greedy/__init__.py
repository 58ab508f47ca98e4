"""Inference over all trees with second-order scores: greedy, with certificates by dual decomposition, by mean field."""

from structdep.greedy.approximate_marginals import mean_field
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
    "mean_field",
    "score",
    "second_order",
]

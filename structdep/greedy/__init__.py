"""Greedy inference over all trees with second-order scores."""

from structdep.greedy.parsers import bgi, bgi_pp, improve
from structdep.greedy.parts import favour, score
from structdep.greedy.second_order import second_order

__all__ = [
    "bgi",
    "bgi_pp",
    "favour",
    "improve",
    "score",
    "second_order",
]

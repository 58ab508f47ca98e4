"""Transition systems: greedy parsers and beams with any scorer, and the oracles that train them.

A *configuration* is a stack, a buffer, and the heads that words have got. s0, s1 and s2 are the top words of the stack;
b0 and b1 are the front of the buffer. A *run* is a sequence of transitions from the first configuration to a final one.
A *scorer* is a function from `Features`, the nodes at s2, s1, s0, b0 and b1, to the scores of all transitions.
"""

from structdep.transitions import losses
from structdep.transitions.beam import beam_search
from structdep.transitions.chart_runs import best_sequences
from structdep.transitions.configuration import Configuration, Features
from structdep.transitions.exploration import explore
from structdep.transitions.gold import Gold
from structdep.transitions.greedy import greedy
from structdep.transitions.notation import Transition, TransitionSystem
from structdep.transitions.oracles import Oracle, dynamic_oracle, static_oracle
from structdep.transitions.runs import Parse
from structdep.transitions.scorers import TableScorer, table_scorer, vectors
from structdep.transitions.sequences import Sequences, makes, sequences
from structdep.transitions.systems import arc_eager, arc_hybrid, arc_standard, mh4

__all__ = [
    "Configuration",
    "Features",
    "Gold",
    "Oracle",
    "Parse",
    "Sequences",
    "TableScorer",
    "Transition",
    "TransitionSystem",
    "arc_eager",
    "arc_hybrid",
    "arc_standard",
    "beam_search",
    "best_sequences",
    "dynamic_oracle",
    "explore",
    "greedy",
    "losses",
    "makes",
    "mh4",
    "sequences",
    "static_oracle",
    "table_scorer",
    "vectors",
]

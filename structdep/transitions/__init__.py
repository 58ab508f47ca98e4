"""Transition systems: greedy parsers and beams over any scorer, and the oracles that train them."""

from structdep.transitions import losses as losses
from structdep.transitions.beam import beam_search as beam_search
from structdep.transitions.chart_runs import best_sequences as best_sequences
from structdep.transitions.configuration import Configuration as Configuration
from structdep.transitions.configuration import Features as Features
from structdep.transitions.exploration import explore as explore
from structdep.transitions.gold import Gold as Gold
from structdep.transitions.greedy import greedy as greedy
from structdep.transitions.notation import Transition as Transition
from structdep.transitions.notation import TransitionSystem as TransitionSystem
from structdep.transitions.oracles import Oracle as Oracle
from structdep.transitions.oracles import dynamic_oracle as dynamic_oracle
from structdep.transitions.oracles import static_oracle as static_oracle
from structdep.transitions.runs import Parse as Parse
from structdep.transitions.scorers import TableScorer as TableScorer
from structdep.transitions.scorers import table_scorer as table_scorer
from structdep.transitions.scorers import vectors as vectors
from structdep.transitions.sequences import Sequences as Sequences
from structdep.transitions.sequences import makes as makes
from structdep.transitions.sequences import sequences as sequences
from structdep.transitions.systems import arc_eager as arc_eager
from structdep.transitions.systems import arc_hybrid as arc_hybrid
from structdep.transitions.systems import arc_standard as arc_standard
from structdep.transitions.systems import mh4 as mh4

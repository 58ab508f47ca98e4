"""Greedy inference over all trees with second-order scores."""

from structdep.greedy.parsers import bgi as bgi
from structdep.greedy.parsers import bgi_pp as bgi_pp
from structdep.greedy.parsers import improve as improve
from structdep.greedy.parts import favour as favour
from structdep.greedy.parts import score as score
from structdep.greedy.second_order import second_order as second_order

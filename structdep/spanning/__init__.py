"""All dependency trees."""

from structdep.spanning.all_trees import SpanningTrees as SpanningTrees
from structdep.spanning.all_trees import all_trees as all_trees

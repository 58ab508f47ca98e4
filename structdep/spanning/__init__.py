"""All dependency trees."""

from structdep.spanning.all_trees import SpanningTrees as SpanningTrees
from structdep.spanning.all_trees import all_trees as all_trees
from structdep.spanning.subgradient import CertifiedTrees as CertifiedTrees
from structdep.spanning.subgradient import dual_decomposition as dual_decomposition

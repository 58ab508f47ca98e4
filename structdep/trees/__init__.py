"""Dependency trees as arrays of heads: conversions, checks, enumeration, attachment scores."""

from structdep.trees import conversions as conversions
from structdep.trees import pseudo_projective as pseudo_projective
from structdep.trees.heads import AttachmentCounts as AttachmentCounts
from structdep.trees.heads import all_trees as all_trees
from structdep.trees.heads import arcs_to_heads as arcs_to_heads
from structdep.trees.heads import check_trees as check_trees
from structdep.trees.heads import crossing_arcs as crossing_arcs
from structdep.trees.heads import find_cycle as find_cycle
from structdep.trees.heads import heads_to_arcs as heads_to_arcs
from structdep.trees.heads import is_one_endpoint_crossing as is_one_endpoint_crossing
from structdep.trees.heads import is_projective as is_projective
from structdep.trees.heads import is_tree as is_tree
from structdep.trees.heads import projective_order as projective_order

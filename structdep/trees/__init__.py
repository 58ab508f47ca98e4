"""Dependency trees as arrays of heads: conversions, checks, enumeration, attachment scores."""

from structdep.trees import conversions, pseudo_projective
from structdep.trees.attachment import AttachmentCounts
from structdep.trees.crossings import crossing_arcs, is_one_endpoint_crossing, is_projective, projective_order
from structdep.trees.heads import all_trees, arcs_to_heads, check_trees, find_cycle, heads_to_arcs, is_tree

__all__ = [
    "AttachmentCounts",
    "all_trees",
    "arcs_to_heads",
    "check_trees",
    "conversions",
    "crossing_arcs",
    "find_cycle",
    "heads_to_arcs",
    "is_one_endpoint_crossing",
    "is_projective",
    "is_tree",
    "projective_order",
    "pseudo_projective",
]

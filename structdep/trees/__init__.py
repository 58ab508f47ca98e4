"""Dependency trees as arrays of heads: conversions, checks, enumeration, attachment scores."""

from structdep.trees import conversions, pseudo_projective
from structdep.trees.heads import (
    AttachmentCounts,
    all_trees,
    arcs_to_heads,
    check_trees,
    crossing_arcs,
    find_cycle,
    heads_to_arcs,
    is_one_endpoint_crossing,
    is_projective,
    is_tree,
    projective_order,
)

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

"""Dependency trees as arrays of heads: conversions, checks, enumeration, attachment scores.

`heads` are int `[*batch, n]`: `heads[.., m-1]`, in 0..n, is the head of word m, and 0 is the root. `lengths` are int
`[*batch]`, the number of words of each sentence (default: n); heads behind these words are ignored. `heads_to_arcs`,
`arcs_to_heads` and `is_tree` are JAX functions and can be jitted; all other functions use numpy and need concrete
arrays.
"""

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

"""All dependency trees, projective or not, as a system: by the Matrix-Tree theorem and maximum spanning trees."""

from structdep.spanning.all_trees import SpanningTrees, all_trees

__all__ = [
    "SpanningTrees",
    "all_trees",
]

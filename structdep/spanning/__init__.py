"""All dependency trees."""

from structdep.spanning.all_trees import SpanningTrees, all_trees

__all__ = [
    "SpanningTrees",
    "all_trees",
]

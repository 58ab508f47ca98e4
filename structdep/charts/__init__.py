"""Deduction systems for dependency trees: each function returns a `structdep.DeductionSystem`.

Queries such as `structdep.argmax` take a system as their first argument. In all rules, `arc[h, m]` is the score of the
arc from the head h to the dependent m, node 0 is the root, and n+1 is the sentinel behind the n words.

Example:
    >>> import jax.numpy as jnp, structdep as sd
    >>> sd.argmax(sd.charts.mhk(4), jnp.zeros((3, 3)).at[2, 1].set(1.0))
    Array([2, 0], dtype=int32)
"""

from structdep.charts.arc_eager import arc_eager
from structdep.charts.arc_eager_trees import arc_eager_trees
from structdep.charts.arc_hybrid import arc_hybrid
from structdep.charts.arc_hybrid_trees import arc_hybrid_trees
from structdep.charts.arc_standard import arc_standard
from structdep.charts.arc_standard_trees import arc_standard_trees
from structdep.charts.crossing_sensitive import crossing_sensitive
from structdep.charts.eisner import eisner
from structdep.charts.mh4_trees import mh4_trees
from structdep.charts.mhk import mhk
from structdep.charts.one_endpoint_crossing import one_endpoint_crossing

__all__ = [
    "arc_eager",
    "arc_eager_trees",
    "arc_hybrid",
    "arc_hybrid_trees",
    "arc_standard",
    "arc_standard_trees",
    "crossing_sensitive",
    "eisner",
    "mh4_trees",
    "mhk",
    "one_endpoint_crossing",
]

"""Deduction systems, one a file."""

from structdep.charts.arc_eager import arc_eager as arc_eager
from structdep.charts.arc_eager_trees import arc_eager_trees as arc_eager_trees
from structdep.charts.arc_hybrid import arc_hybrid as arc_hybrid
from structdep.charts.arc_hybrid_trees import arc_hybrid_trees as arc_hybrid_trees
from structdep.charts.arc_standard import arc_standard as arc_standard
from structdep.charts.arc_standard_trees import arc_standard_trees as arc_standard_trees
from structdep.charts.crossing_sensitive import crossing_sensitive as crossing_sensitive
from structdep.charts.eisner import eisner as eisner
from structdep.charts.mh4_trees import mh4_trees as mh4_trees
from structdep.charts.mhk import mhk as mhk
from structdep.charts.one_endpoint_crossing import one_endpoint_crossing as one_endpoint_crossing

"""Deduction systems, one a file."""

from structdep.charts.arc_eager import arc_eager as arc_eager
from structdep.charts.arc_hybrid import arc_hybrid as arc_hybrid
from structdep.charts.arc_standard import arc_standard as arc_standard
from structdep.charts.eisner import eisner as eisner
from structdep.charts.mhk import mhk as mhk

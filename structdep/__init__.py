"""Differentiable structured prediction of dependency trees: deduction systems, run as charts over semirings, in JAX."""

from structdep import charts as charts
from structdep import losses as losses
from structdep.deduction import DeductionSystem as DeductionSystem
from structdep.inside import inside as inside
from structdep.parsers import arc_eager as arc_eager
from structdep.parsers import arc_hybrid as arc_hybrid
from structdep.parsers import arc_standard as arc_standard
from structdep.parsers import eisner as eisner
from structdep.parsers import mhk as mhk
from structdep.queries import argmax as argmax
from structdep.queries import marginals as marginals
from structdep.queries import nearest_tree as nearest_tree
from structdep.semirings import CostAugmented as CostAugmented
from structdep.semirings import Counting as Counting
from structdep.semirings import LogSum as LogSum
from structdep.semirings import MaxPlus as MaxPlus
from structdep.semirings import Semiring as Semiring
from structdep.semirings import semiring as semiring

"""Differentiable structured prediction of dependency trees: charts over semirings, in JAX."""

from structdep import charts as charts
from structdep.inside import inside as inside
from structdep.semirings import LogSum as LogSum
from structdep.semirings import MaxPlus as MaxPlus
from structdep.semirings import Semiring as Semiring

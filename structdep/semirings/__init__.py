"""Semirings, one a file."""

from structdep.semirings.base import Semiring as Semiring
from structdep.semirings.base import semiring as semiring
from structdep.semirings.cost_augmented import CostAugmented as CostAugmented
from structdep.semirings.counting import Counting as Counting
from structdep.semirings.log_sum import LogSum as LogSum
from structdep.semirings.max_plus import MaxPlus as MaxPlus

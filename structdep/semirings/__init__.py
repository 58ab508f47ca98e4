"""Semirings, one a file."""

from structdep.semirings.base import Semiring as Semiring
from structdep.semirings.log_sum import LogSum as LogSum
from structdep.semirings.max_plus import MaxPlus as MaxPlus

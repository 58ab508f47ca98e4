"""Semirings, one a file."""

from structdep.semirings.base import Semiring as Semiring
from structdep.semirings.base import semiring as semiring
from structdep.semirings.cost_augmented import CostAugmented as CostAugmented
from structdep.semirings.counting import Counting as Counting
from structdep.semirings.entropy import Entropies as Entropies
from structdep.semirings.entropy import Entropy as Entropy
from structdep.semirings.expectation import Expectation as Expectation
from structdep.semirings.expectation import Moments as Moments
from structdep.semirings.k_best import KBest as KBest
from structdep.semirings.log_sum import LogSum as LogSum
from structdep.semirings.max_plus import MaxPlus as MaxPlus
from structdep.semirings.product import Pair as Pair
from structdep.semirings.sample import Sample as Sample
from structdep.semirings.single_root import SingleRoot as SingleRoot

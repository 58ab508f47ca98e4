"""Deduction systems: the notation of rules, the system that they make, and its checks. Pure Python, without JAX."""

from structdep.deduction.notation import LABEL as LABEL
from structdep.deduction.notation import NODE as NODE
from structdep.deduction.notation import Atom as Atom
from structdep.deduction.notation import Either as Either
from structdep.deduction.notation import Item as Item
from structdep.deduction.notation import Position as Position
from structdep.deduction.notation import Product as Product
from structdep.deduction.notation import Rule as Rule
from structdep.deduction.notation import Score as Score
from structdep.deduction.notation import arc as arc
from structdep.deduction.notation import either as either
from structdep.deduction.notation import indices as indices
from structdep.deduction.notation import n as n
from structdep.deduction.system import DeductionSystem as DeductionSystem

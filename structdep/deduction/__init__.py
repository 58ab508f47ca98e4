"""Deduction systems: the notation of rules, the system that they make, and its checks. Pure Python, without JAX."""

from structdep.deduction.notation import (
    LABEL,
    NODE,
    Atom,
    Either,
    Item,
    Position,
    Product,
    Rule,
    Score,
    arc,
    either,
    indices,
    n,
)
from structdep.deduction.system import DeductionSystem

__all__ = [
    "LABEL",
    "NODE",
    "Atom",
    "DeductionSystem",
    "Either",
    "Item",
    "Position",
    "Product",
    "Rule",
    "Score",
    "arc",
    "either",
    "indices",
    "n",
]

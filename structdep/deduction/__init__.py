"""The notation of deduction systems: items, scores, rules, and `DeductionSystem`. Pure Python, without JAX.

Rules are built by operators: `*` joins the premises and scores of a rule, `either` lists alternative scores, `>>` gives
the conclusion.

Example:
    >>> i, j, k = indices("i j k")
    >>> I = Item("I")
    >>> I[i, k] * I[k, j] * either(arc[i, k], arc[j, k]) >> I[i, j]
    I[i,k]  I[k,j]  (arc[i,k] ⊕ arc[j,k])  ⊢  I[i,j]
"""

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

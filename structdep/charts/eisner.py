"""Eisner's half-span system for projective trees, O(n^3), each tree once (Eisner 1996)."""

from structdep._once import once
from structdep.deduction import DeductionSystem, Item, arc, indices, n

i, j, k = indices("i j k")


@once()
def eisner(single_root: bool = False) -> DeductionSystem:
    """Projective trees by half spans: complete C and incomplete I, with the head at the left (→) or at the right (←).

    With `single_root`, exactly one word depends on the root.

    Example:
        >>> print(eisner())
        eisner: time O(n^3), space O(n^2), one derivation a tree
          ⊢  C←[i,i]
          ⊢  C→[i,i]
          C→[i,k]  C←[k+1,j]  arc[j,i]  ⊢  I←[i,j]
          C→[i,k]  C←[k+1,j]  arc[i,j]  ⊢  I→[i,j]
          C←[i,k]  I←[k,j]  ⊢  C←[i,j]
          I→[i,k]  C→[k,j]  ⊢  C→[i,j]
          goal  C→[0,n]
    """
    C_left, C_right, I_left, I_right, T = map(Item, ("C←", "C→", "I←", "I→", "T"))
    rules = (
        C_right[i, k] * C_left[k + 1, j] * arc[j, i] >> I_left[i, j],
        C_right[i, k] * C_left[k + 1, j] * arc[i, j] >> I_right[i, j],
        C_left[i, k] * I_left[k, j] >> C_left[i, j],
        I_right[i, k] * C_right[k, j] >> C_right[i, j],
    )
    axioms = (C_left[i, i], C_right[i, i])
    if not single_root:
        return DeductionSystem("eisner", axioms, rules, goal=C_right[0, n], unambiguous=True, trees="projective")
    one_root = C_left[1, k] * C_right[k, n] * arc[0, k] >> T[0, n]
    name, trees = "eisner_single_root", "projective with a single root"
    return DeductionSystem(name, axioms, (*rules, one_root), goal=T[0, n], unambiguous=True, trees=trees)

"""Projective trees by half spans, each tree once, with scores of one, two or three arcs (Eisner 1996)."""

from structdep._once import once
from structdep.charts.eisner_grand_siblings import eisner_grand_siblings
from structdep.charts.eisner_grandparents import eisner_grandparents
from structdep.charts.eisner_siblings import eisner_siblings
from structdep.deduction import DeductionSystem, Item, arc, indices, n

i, j, k = indices("i j k")


@once()
def eisner(single_root: bool = False, siblings: bool = False, grandparents: bool = False) -> DeductionSystem:
    """Projective trees by half spans: complete C and incomplete I, with the head at the left (→) or at the right (←).

    Args:
        single_root: exactly one word depends on the root.
        siblings: also score `sibling[h, m, s]`, where s is the next dependent of h between h and its dependent m, or h
            where m is the first on its side.
        grandparents: also score `grandparent[g, h, m]`, where g is the head of h, the head of m; g is 0 where h is.

    Returns:
        A system in time O(n^3), or O(n^4) with grandparents.

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
        >>> eisner(siblings=True, grandparents=True).complexity
        (4, 3)
    """
    if siblings or grandparents:
        both = eisner_grand_siblings if siblings else eisner_grandparents
        return both(single_root) if grandparents else eisner_siblings(single_root)
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

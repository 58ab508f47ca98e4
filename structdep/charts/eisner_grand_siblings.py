"""Projective trees with scores of grandparents and adjacent siblings, O(n^4), each tree once (Koo and Collins 2010)."""

from structdep.charts.eisner_grandparents import C_left, C_right, I_left, I_right, T, g, grandparent, i, j, k
from structdep.charts.eisner_siblings import sibling
from structdep.deduction import DeductionSystem, Item, arc, indices, n

(h,) = indices("h")
S = Item("S", exterior=True)


def eisner_grand_siblings(single_root: bool = False) -> DeductionSystem:
    """The items of `eisner_siblings`, each with the head of its head, or of both of its heads.

    See `eisner` for `sibling[h, m, s]` and `grandparent[g, h, m]`.

    Example:
        >>> print(eisner_grand_siblings())
        eisner_grand_siblings: time O(n^4), space O(n^3), one derivation a tree
          ⊢  C←[i:i,g]
          ⊢  C→[i:i,g]
          C←[i+1:j,i]  arc[i,j]  sibling[i,j,i]  grandparent[g,i,j]  ⊢  I→[i:j,g]
          I→[i:k,g]  S[k:j,i]  arc[i,j]  sibling[i,j,k]  grandparent[g,i,j]  ⊢  I→[i:j,g]
          C→[i:j-1,j]  arc[j,i]  sibling[j,i,j]  grandparent[g,j,i]  ⊢  I←[i:j,g]
          S[i:k,j]  I←[k:j,g]  arc[j,i]  sibling[j,i,k]  grandparent[g,j,i]  ⊢  I←[i:j,g]
          C→[i:k,h]  C←[k+1:j,h]  ⊢  S[i:j,h]
          I→[i:k,g]  C→[k:j,i]  ⊢  C→[i:j,g]
          C←[i:k,j]  I←[k:j,g]  ⊢  C←[i:j,g]
          C→[0:n,0]  ⊢  T[0,n]
          goal  T[0,n]
    """
    rules = (
        C_left[i + 1 : j, i] * arc[i, j] * sibling[i, j, i] * grandparent[g, i, j] >> I_right[i:j, g],
        I_right[i:k, g] * S[k:j, i] * arc[i, j] * sibling[i, j, k] * grandparent[g, i, j] >> I_right[i:j, g],
        C_right[i : j - 1, j] * arc[j, i] * sibling[j, i, j] * grandparent[g, j, i] >> I_left[i:j, g],
        S[i:k, j] * I_left[k:j, g] * arc[j, i] * sibling[j, i, k] * grandparent[g, j, i] >> I_left[i:j, g],
        C_right[i:k, h] * C_left[k + 1 : j, h] >> S[i:j, h],
        I_right[i:k, g] * C_right[k:j, i] >> C_right[i:j, g],
        C_left[i:k, j] * I_left[k:j, g] >> C_left[i:j, g],
    )
    axioms, scores = (C_left[i:i, g], C_right[i:i, g]), (arc, sibling, grandparent)
    name, trees, last = "eisner_grand_siblings", "projective", C_right[0:n, 0] >> T[0, n]
    if single_root:
        last = C_left[1:k, 0] * C_right[k:n, 0] * arc[0, k] * sibling[0, k, 0] * grandparent[0, 0, k] >> T[0, n]
        name, trees = f"{name}_single_root", f"{trees} with a single root"
    return DeductionSystem(name, axioms, (*rules, last), T[0, n], scores, unambiguous=True, trees=trees)

"""Projective trees with scores of grandparents, O(n^4), each tree once (Koo and Collins 2010, model 0)."""

from structdep.deduction import DeductionSystem, Item, Score, arc, indices, n

g, i, j, k = indices("g i j k")
grandparent = Score("grandparent")
C_left, C_right, I_left, I_right = (Item(name, exterior=True) for name in ("C←", "C→", "I←", "I→"))
T = Item("T")


def eisner_grandparents(single_root: bool = False) -> DeductionSystem:
    """Half spans as in `eisner`, each with the head g of its head. See `eisner` for `grandparent[g, h, m]`.

    Example:
        >>> print(eisner_grandparents())
        eisner_grandparents: time O(n^4), space O(n^3), one derivation a tree
          ⊢  C←[i:i,g]
          ⊢  C→[i:i,g]
          C→[i:k,j]  C←[k+1:j,g]  arc[j,i]  grandparent[g,j,i]  ⊢  I←[i:j,g]
          C→[i:k,g]  C←[k+1:j,i]  arc[i,j]  grandparent[g,i,j]  ⊢  I→[i:j,g]
          C←[i:k,j]  I←[k:j,g]  ⊢  C←[i:j,g]
          I→[i:k,g]  C→[k:j,i]  ⊢  C→[i:j,g]
          C→[0:n,0]  ⊢  T[0,n]
          goal  T[0,n]
    """
    rules = (
        C_right[i:k, j] * C_left[k + 1 : j, g] * arc[j, i] * grandparent[g, j, i] >> I_left[i:j, g],
        C_right[i:k, g] * C_left[k + 1 : j, i] * arc[i, j] * grandparent[g, i, j] >> I_right[i:j, g],
        C_left[i:k, j] * I_left[k:j, g] >> C_left[i:j, g],
        I_right[i:k, g] * C_right[k:j, i] >> C_right[i:j, g],
    )
    axioms, scores = (C_left[i:i, g], C_right[i:i, g]), (arc, grandparent)
    name, trees, last = "eisner_grandparents", "projective", C_right[0:n, 0] >> T[0, n]
    if single_root:
        last = C_left[1:k, 0] * C_right[k:n, 0] * arc[0, k] * grandparent[0, 0, k] >> T[0, n]
        name, trees = f"{name}_single_root", f"{trees} with a single root"
    return DeductionSystem(name, axioms, (*rules, last), T[0, n], scores, unambiguous=True, trees=trees)

"""Projective trees with scores of adjacent siblings, O(n^3), each tree once (McDonald and Pereira 2006)."""

from structdep.deduction import DeductionSystem, Item, Rule, Score, arc, indices, n

i, j, k = indices("i j k")
sibling = Score("sibling")
C_left, C_right, I_left, I_right, S, T = map(Item, ("C←", "C→", "I←", "I→", "S", "T"))


def eisner_siblings(single_root: bool = False) -> DeductionSystem:
    """Half spans as in `eisner`; S spans two adjacent dependents of one head. See `eisner` for `sibling[h, m, s]`.

    Example:
        >>> print(eisner_siblings())
        eisner_siblings: time O(n^3), space O(n^2), one derivation a tree
          ⊢  C←[i,i]
          ⊢  C→[i,i]
          C←[i+1,j]  arc[i,j]  sibling[i,j,i]  ⊢  I→[i,j]
          I→[i,k]  S[k,j]  arc[i,j]  sibling[i,j,k]  ⊢  I→[i,j]
          C→[i,j-1]  arc[j,i]  sibling[j,i,j]  ⊢  I←[i,j]
          S[i,k]  I←[k,j]  arc[j,i]  sibling[j,i,k]  ⊢  I←[i,j]
          C→[i,k]  C←[k+1,j]  ⊢  S[i,j]
          I→[i,k]  C→[k,j]  ⊢  C→[i,j]
          C←[i,k]  I←[k,j]  ⊢  C←[i,j]
          goal  C→[0,n]
    """
    rules: tuple[Rule, ...] = (
        C_left[i + 1, j] * arc[i, j] * sibling[i, j, i] >> I_right[i, j],
        I_right[i, k] * S[k, j] * arc[i, j] * sibling[i, j, k] >> I_right[i, j],
        C_right[i, j - 1] * arc[j, i] * sibling[j, i, j] >> I_left[i, j],
        S[i, k] * I_left[k, j] * arc[j, i] * sibling[j, i, k] >> I_left[i, j],
        C_right[i, k] * C_left[k + 1, j] >> S[i, j],
        I_right[i, k] * C_right[k, j] >> C_right[i, j],
        C_left[i, k] * I_left[k, j] >> C_left[i, j],
    )
    axioms, scores = (C_left[i, i], C_right[i, i]), (arc, sibling)
    name, trees, goal = "eisner_siblings", "projective", C_right[0, n]
    if single_root:
        rules = (*rules, C_left[1, k] * C_right[k, n] * arc[0, k] * sibling[0, k, 0] >> T[0, n])
        name, trees, goal = f"{name}_single_root", f"{trees} with a single root", T[0, n]
    return DeductionSystem(name, axioms, rules, goal, scores, unambiguous=True, trees=trees)

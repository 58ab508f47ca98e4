"""Projective trees by half spans, each tree once, with scores of one, two or three arcs (Eisner 1996)."""

from structdep._once import once
from structdep.charts.eisner_grand_siblings import eisner_grand_siblings
from structdep.charts.eisner_grandparents import eisner_grandparents
from structdep.charts.eisner_siblings import eisner_siblings
from structdep.deduction import DeductionSystem, Item, arc, indices, n

i, j, k = indices("i j k")


@once()
def eisner(single_root: bool = False, siblings: bool = False, grandparents: bool = False) -> DeductionSystem:
    """Projective trees by Eisner's half spans, each with one derivation.

    Items I and C are spans whose head is their left end (→) or their right end (←). In the *complete* C, the head has
    its dependents in the span; the *incomplete* I has the arc between its two ends.

    Args:
        single_root: exactly one word depends on the root.
        siblings: also read `sibling[h, m, s]`, `[*batch, n+1, n+1, n+1]`, one score for each arc h → m: s is the
            dependent of h between h and m that is closest to m, and s = h if there is none. (`sibling` of
            `structdep.greedy` differs: it scores every pair of dependents.)
        grandparents: also read `grandparent[g, h, m]`, `[*batch, n+1, n+1, n+1]`, one score for each arc h → m: g is
            the head of h, and g = 0 if h is the root.

    Returns:
        A system in time O(n^3) and space O(n^2); with grandparents, O(n^4) and O(n^3).

    References:
        Eisner 1996, Three new probabilistic models for dependency parsing: an exploration. McDonald and Pereira 2006,
        Online learning of approximate dependency parsing algorithms (siblings). Koo and Collins 2010, Efficient
        third-order dependency parsers (grandparents, with and without siblings).

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

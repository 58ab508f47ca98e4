"""Arc-standard with each tree once: a head takes its left dependents before its right ones."""

from structdep._once import once
from structdep.charts.arc_hybrid import arc_hybrid
from structdep.charts.arc_standard import steps
from structdep.deduction import DeductionSystem, Item, indices, n

i, g, k, h, j = indices("i g k h j")


@once()
def arc_standard_trees(transitions: bool = False) -> DeductionSystem:
    """The trees of `arc_standard` (projective), each with one derivation.

    Items as in `arc_standard`, and B[i,h,j]: an item I[i,h,j] in which the head h has no right dependents yet. A head
    takes its left dependents before its right ones.

    Args:
        transitions: also read the scores of `arc_standard(transitions=True)`; a tree has one sequence of transitions.

    Returns:
        A system in time O(n^4) and space O(n^3).

    Example:
        >>> print(arc_standard_trees())
        arc_standard_trees: time O(n^4), space O(n^3), one derivation a tree
          ⊢  B[i,i,i+1]
          B[i,h,j]  ⊢  I[i,h,j]
          I[i,g,k]  arc[h,g]  ⊢  L[i:k,h]
          L[i:k,h]  B[k,h,j]  ⊢  B[i,h,j]
          I[k,h,j]  arc[g,h]  ⊢  R[k:j,g]
          I[i,g,k]  R[k:j,g]  ⊢  I[i,g,j]
          goal  I[0,0,n+1]
    """
    B, I, L, R = Item("B"), Item("I"), Item("L", exterior=True), Item("R", exterior=True)
    push, left, left_front, right, scores = steps(transitions)
    name = "arc_standard_trees_transitions" if transitions else "arc_standard_trees"
    rules = (
        B[i, h, j] >> I[i, h, j],
        I[i, g, k] * push * left >> L[i:k, h],
        L[i:k, h] * B[k, h, j] * left_front >> B[i, h, j],
        I[k, h, j] * right >> R[k:j, g],
        I[i, g, k] * push * R[k:j, g] >> I[i, g, j],
    )
    return DeductionSystem(
        name,
        (B[i, i, i + 1],),
        rules,
        goal=I[0, 0, n + 1],
        scores=scores,
        unambiguous=True,
        trees="projective",
        for_best=arc_hybrid(),
    )

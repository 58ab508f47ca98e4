"""Arc-hybrid with each tree once: items say whether their last arc came from the left end, which fixes the order."""

from structdep._once import once
from structdep.charts.arc_hybrid import arc_hybrid
from structdep.charts.configurations import reduce, reduce_scores, shift
from structdep.deduction import DeductionSystem, Item, Product, Score, arc, indices, n

i, j, k = indices("i j k")


@once()
def arc_hybrid_trees(transitions: bool = False) -> DeductionSystem:
    """The trees of `arc_hybrid` (projective), each with one derivation.

    The last arc of an item P[i,j] came from its left end i; that of an item Z[i,j] did not.

    Args:
        transitions: also read the scores of `arc_hybrid(transitions=True)`; a tree has one sequence of transitions.

    Returns:
        A system in time O(n^3) and space O(n^2).

    Example:
        >>> print(arc_hybrid_trees())
        arc_hybrid_trees: time O(n^3), space O(n^2), one derivation a tree
          ⊢  Z[i,i+1]
          Z[i,j]  ⊢  I[i,j]
          P[i,j]  ⊢  I[i,j]
          Z[i,k]  I[k,j]  arc[j,k]  ⊢  Z[i,j]
          I[i,k]  I[k,j]  arc[i,k]  ⊢  P[i,j]
          goal  I[0,n+1]
    """
    I, Z, P = map(Item, "IZP")
    left, right = Product((arc[j, k],)), Product((arc[i, k],))
    name = "arc_hybrid_trees"
    scores: tuple[Score, ...] = (arc,)
    if transitions:
        name, scores = "arc_hybrid_trees_transitions", (arc, shift, *reduce_scores("la", "ra"))
        left, right = left * shift[i, k] * reduce("la", i, k, j), right * shift[i, k] * reduce("ra", i, k, j)
    rules = (
        Z[i, j] >> I[i, j],
        P[i, j] >> I[i, j],
        Z[i, k] * I[k, j] * left >> Z[i, j],
        I[i, k] * I[k, j] * right >> P[i, j],
    )
    return DeductionSystem(
        name,
        (Z[i, i + 1],),
        rules,
        goal=I[0, n + 1],
        scores=scores,
        unambiguous=True,
        trees="projective",
        for_best=arc_hybrid(),
    )

"""Arc-hybrid: projective trees, O(n^3) (Kuhlmann, Gómez-Rodríguez, Satta 2011). The same as MH_3."""

from structdep._once import once
from structdep.charts.configurations import reduce, reduce_scores, shift
from structdep.deduction import DeductionSystem, Item, arc, either, indices, n

i, j, k = indices("i j k")


@once()
def arc_hybrid(transitions: bool = False) -> DeductionSystem:
    """Projective trees as runs of the arc-hybrid transition system: `[i,j]` goes from (σ, i|β) to (σ|i, j|β').

    `transitions` adds the scores `shift`, `la` and `ra`. A tree has several derivations.

    Example:
        >>> print(arc_hybrid())
        arc_hybrid: time O(n^3), space O(n^2), several derivations a tree
          ⊢  I[i,i+1]
          I[i,k]  I[k,j]  (arc[i,k] ⊕ arc[j,k])  ⊢  I[i,j]
          goal  I[0,n+1]
    """
    I = Item("I")
    if not transitions:
        rule = I[i, k] * I[k, j] * either(arc[i, k], arc[j, k]) >> I[i, j]
        return DeductionSystem("arc_hybrid", axioms=(I[i, i + 1],), rules=(rule,), goal=I[0, n + 1], trees="projective")
    left, right = arc[j, k] * reduce("la", i, k, j), arc[i, k] * reduce("ra", i, k, j)
    rule = I[i, k] * I[k, j] * shift[i, k] * either(left, right) >> I[i, j]
    scores = (arc, shift, *reduce_scores("la", "ra"))
    return DeductionSystem(
        "arc_hybrid_transitions", (I[i, i + 1],), (rule,), goal=I[0, n + 1], scores=scores, trees="projective"
    )

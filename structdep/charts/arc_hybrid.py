"""Arc-hybrid: projective trees, O(n^3) (Kuhlmann, Gómez-Rodríguez and Satta 2011). The same as MH_3."""

from structdep._once import once
from structdep.charts.configurations import reduce, reduce_scores, shift
from structdep.deduction import DeductionSystem, Item, arc, either, indices, n

i, j, k = indices("i j k")


@once()
def arc_hybrid(transitions: bool = False) -> DeductionSystem:
    """Projective trees, derived by the transitions of arc-hybrid; a tree has several derivations.

    Item I[i,j] goes from the configuration in which word i is the front of the buffer to the one in which i is the top
    of the stack and j is the front of the buffer.

    Args:
        transitions: also read scores of transitions, by the two top words of the stack, s1 and s0, and the front of the
            buffer, b0. `shift[s0, b0]`; and for each transition t of `la` (arc b0 → s0) and `ra` (arc s1 → s0) three
            tables, whose scores add up: `t[s0, b0]`, `t:s1[s1, s0]` and `t:full[s1, s0, b0]`, such as `la:s1`. Each
            table has n+2 positions an axis; absent tables score 0.

    Returns:
        A system in time O(n^3) and space O(n^2).

    References:
        Kuhlmann, Gómez-Rodríguez and Satta 2011, Dynamic programming algorithms for transition-based dependency
        parsers.

    Example:
        >>> print(arc_hybrid())
        arc_hybrid: time O(n^3), space O(n^2), several derivations a tree
          ⊢  I[i,i+1]
          I[i,k]  I[k,j]  (arc[i,k] ⊕ arc[j,k])  ⊢  I[i,j]
          goal  I[0,n+1]
        >>> sorted(arc_hybrid(transitions=True).declared)
        ['arc', 'la', 'la:full', 'la:s1', 'ra', 'ra:full', 'ra:s1', 'shift']
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

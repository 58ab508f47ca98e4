"""Arc-standard: projective trees, O(n^4) (Kuhlmann, Gómez-Rodríguez and Satta 2011; hooks: Eisner and Satta 1999)."""

from structdep._once import once
from structdep.charts.configurations import reduce_scores, shift
from structdep.deduction import DeductionSystem, Item, Product, Score, arc, indices, n

i, g, k, h, j = indices("i g k h j")


@once()
def arc_standard(transitions: bool = False) -> DeductionSystem:
    """Projective trees, derived by the transitions of arc-standard; a tree has several derivations.

    Item I[i,h,j] goes from the configuration in which word i is the front of the buffer to the one in which h is the
    top of the stack and j is the front of the buffer: h is the head of the words i to j-1. A rule for two such items
    and their arc would have five positions. Instead, a word gets its head first (the hook trick): L[i:k,h] is an item
    over i to k-1 whose head is the dependent of the later word h, and R[k:j,g] one whose head is the dependent of the
    earlier word g.

    Args:
        transitions: also read scores of transitions, by the two top words of the stack, s1 and s0, and the front of the
            buffer, b0. `shift[s0, b0]`; and for each transition t of `la` (arc s0 → s1) and `ra` (arc s1 → s0) two
            tables, whose scores add up: `t[s0, b0]` and `t:s1[s1, s0]`. Each table has n+2 positions an axis; absent
            tables score 0.

    Returns:
        A system in time O(n^4) and space O(n^3).

    References:
        Nivre 2004, Incrementality in deterministic dependency parsing. Kuhlmann, Gómez-Rodríguez and Satta 2011,
        Dynamic programming algorithms for transition-based dependency parsers. Eisner and Satta 1999, Efficient parsing
        for bilexical context-free grammars and head automaton grammars (hooks).

    Example:
        >>> print(arc_standard())
        arc_standard: time O(n^4), space O(n^3), several derivations a tree
          ⊢  I[i,i,i+1]
          I[i,g,k]  arc[h,g]  ⊢  L[i:k,h]
          L[i:k,h]  I[k,h,j]  ⊢  I[i,h,j]
          I[k,h,j]  arc[g,h]  ⊢  R[k:j,g]
          I[i,g,k]  R[k:j,g]  ⊢  I[i,g,j]
          goal  I[0,0,n+1]
    """
    I, L, R = Item("I"), Item("L", exterior=True), Item("R", exterior=True)
    push, left, left_front, right, scores = steps(transitions)
    name = "arc_standard_transitions" if transitions else "arc_standard"
    rules = (
        I[i, g, k] * push * left >> L[i:k, h],
        L[i:k, h] * I[k, h, j] * left_front >> I[i, h, j],
        I[k, h, j] * right >> R[k:j, g],
        I[i, g, k] * push * R[k:j, g] >> I[i, g, j],
    )
    return DeductionSystem(
        name, axioms=(I[i, i, i + 1],), rules=rules, goal=I[0, 0, n + 1], scores=scores, trees="projective"
    )


def steps(transitions: bool) -> tuple[Product, Product, Product, Product, tuple[Score, ...]]:
    """The scores of a shift, of an arc to the left (at its words, at the front), of one to the right; their tables."""
    left, right = Product((arc[h, g],)), Product((arc[g, h],))
    if not transitions:
        return Product(()), left, Product(()), right, (arc,)
    la, la_below, _, ra, ra_below, _ = reduce_scores("la", "ra")
    push, front = Product((shift[g, k],)), Product((la[h, j],))
    return (
        push,
        left * la_below[g, h],
        front,
        right * ra_below[g, h] * ra[h, j],
        (arc, shift, la, la_below, ra, ra_below),
    )

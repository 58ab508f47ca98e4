"""Arc-standard: projective trees, O(n^4) (Kuhlmann, Gómez-Rodríguez, Satta 2011; hook trick: Eisner, Satta 1999)."""

from structdep._once import once
from structdep.charts.configurations import reduce_scores, shift
from structdep.deduction import DeductionSystem, Item, Product, Score, arc, indices, n

i, g, k, h, j = indices("i g k h j")


@once()
def arc_standard(transitions: bool = False) -> DeductionSystem:
    """Projective trees as runs of the arc-standard transition system: `[i,h,j]` goes from (σ, i|β) to (σ|h, j|β').

    A part gets its head before it meets the part that holds it: L waits for its head h at the right, R for its head g
    at the left, so that no rule has five positions. `transitions` adds the scores `shift[s0, b0]`, and for la (s0 → s1)
    and ra (s1 → s0) `t[s0, b0]` and `t:s1[s1, s0]`. A tree has several derivations.

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

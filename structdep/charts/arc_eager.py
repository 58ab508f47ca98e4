"""Arc-eager: projective trees, O(n^3) (Kuhlmann, Gómez-Rodríguez, Satta 2011)."""

from structdep._once import once
from structdep.deduction import DeductionSystem, Item, Product, Score, arc, indices, n

i, j, k = indices("i j k")
shift, la, ra, reduce = (Score(name, sentinel=True) for name in ("shift", "la", "ra", "reduce"))


@once()
def arc_eager(transitions: bool = False) -> DeductionSystem:
    """Projective trees as runs of the arc-eager transition system; item E1, not E0, where the left end has its head.

    A word i is shifted (then a left-arc gives it its head, at the right) or made a right dependent (then it is
    reduced). `transitions` adds the scores `shift`, `la`, `ra`, `reduce`, all of `[s0, b0]`. A tree has several
    derivations.

    Example:
        >>> print(arc_eager())
        arc_eager: time O(n^3), space O(n^2), several derivations a tree
          ⊢  E0[i,i+1]
          ⊢  E1[i,i+1]
          E0[k,i]  E0[i,j]  arc[j,i]  ⊢  E0[k,j]
          E0[k,i]  E1[i,j]  arc[k,i]  ⊢  E0[k,j]
          E1[k,i]  E0[i,j]  arc[j,i]  ⊢  E1[k,j]
          E1[k,i]  E1[i,j]  arc[k,i]  ⊢  E1[k,j]
          goal  E0[0,n+1]
    """
    E0, E1 = Item("E0"), Item("E1")
    left_arc, right_arc, scores = arcs(transitions)
    name = "arc_eager_transitions" if transitions else "arc_eager"
    rules = tuple(
        rule
        for E in (E0, E1)
        for rule in (E[k, i] * E0[i, j] * left_arc >> E[k, j], E[k, i] * E1[i, j] * right_arc >> E[k, j])
    )
    return DeductionSystem(
        name, (E0[i, i + 1], E1[i, i + 1]), rules, goal=E0[0, n + 1], scores=scores, trees="projective"
    )


def arcs(transitions: bool) -> tuple[Product, Product, tuple[Score, ...]]:
    """The scores of a word's arc from the right end j, and from the left end k; and the tables that they name."""
    left, right = Product((arc[j, i],)), Product((arc[k, i],))
    if not transitions:
        return left, right, (arc,)
    return left * shift[k, i] * la[i, j], right * ra[k, i] * reduce[i, j], (arc, shift, la, ra, reduce)

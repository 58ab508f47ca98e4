"""Arc-eager: projective trees, O(n^3) (Kuhlmann, Gómez-Rodríguez and Satta 2011)."""

from structdep._once import once
from structdep.deduction import DeductionSystem, Item, Product, Score, arc, indices, n

i, j, k = indices("i j k")
shift, la, ra, reduce = (Score(name, sentinel=True) for name in ("shift", "la", "ra", "reduce"))


@once()
def arc_eager(transitions: bool = False) -> DeductionSystem:
    """Projective trees, derived by the transitions of arc-eager; a tree has several derivations.

    Item E0[i,j]: word i has no head yet; item E1[i,j]: it has one. Both go from the configuration in which i is the
    front of the buffer to the one in which i is the top of the stack and j is the front of the buffer. A rule names the
    last word i between k and j that leaves the stack. Either i was shifted, and left-arc gives it the head j; or
    right-arc gave it the head k, and reduce removes it.

    Args:
        transitions: also read scores of transitions, `[*batch, n+2, n+2]` each, indexed by the top of the stack s0 and
            the front of the buffer b0: `shift`, `la` (arc b0 → s0), `ra` (arc s0 → b0), `reduce`.

    Returns:
        A system in time O(n^3) and space O(n^2).

    References:
        Nivre 2003, An efficient algorithm for projective dependency parsing. Kuhlmann, Gómez-Rodríguez and Satta 2011,
        Dynamic programming algorithms for transition-based dependency parsers.

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

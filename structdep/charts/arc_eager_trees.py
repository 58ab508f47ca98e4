"""Arc-eager with each tree once: a word that has its head is reduced after the words right of it have theirs."""

from structdep._once import once
from structdep.charts.arc_eager import arcs
from structdep.charts.arc_hybrid import arc_hybrid
from structdep.deduction import DeductionSystem, Item, indices, n

i, j, k = indices("i j k")


@once()
def arc_eager_trees(transitions: bool = False) -> DeductionSystem:
    """The trees of `arc_eager` (projective), each with one derivation.

    Items as in `arc_eager`: 0 if word i of item [i,j] has no head yet, 1 if it has one. The last transition of an item
    P was reduce; that of an item Z was not. A word that has its head is reduced after the words to its right have their
    heads.

    Args:
        transitions: also read the scores of `arc_eager(transitions=True)`; a tree has one sequence of transitions.

    Returns:
        A system in time O(n^3) and space O(n^2).

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> jnp.exp(sd.inside(arc_eager_trees(), jnp.zeros((5, 5)), semiring=sd.Counting)).round()
        Array(55., dtype=float32)
    """
    E0, E1 = Item("E0"), Item("E1")
    left_arc, right_arc, scores = arcs(transitions)
    name = "arc_eager_trees_transitions" if transitions else "arc_eager_trees"
    rules = tuple(
        rule
        for E, Z, P in ((E0, Item("Z0"), Item("P0")), (E1, Item("Z1"), Item("P1")))
        for rule in (
            Z[k, j] >> E[k, j],
            P[k, j] >> E[k, j],
            Z[k, i] * E0[i, j] * left_arc >> Z[k, j],
            E[k, i] * E1[i, j] * right_arc >> P[k, j],
        )
    )
    axioms = (Item("Z0")[i, i + 1], Item("Z1")[i, i + 1])
    return DeductionSystem(
        name,
        axioms,
        rules,
        goal=E0[0, n + 1],
        scores=scores,
        unambiguous=True,
        trees="projective",
        for_best=arc_hybrid(),
    )

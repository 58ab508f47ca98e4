"""MH_k: multi-headed spans, at most k heads each (Gómez-Rodríguez, Carroll, Weir 2011)."""

from collections.abc import Sequence
from numbers import Integral

from structdep._once import once
from structdep.charts.configurations import reduce, reduce_scores, shift
from structdep.deduction import Atom, DeductionSystem, Item, Position, Product, Score, arc, either, indices, n

REDUCES = {
    ("s0", "b0"): "la",
    ("s0", "s1"): "ra",
    ("s1", "s0"): "la'",
    ("s1", "s2"): "ra'",
    ("s1", "b0"): "la2",
    ("s0", "s2"): "ra2",
}
"""The reduce transitions of MH_4 by dependent and head (Gómez-Rodríguez, Shi, Lee 2018)."""


@once()
def mhk(k: int, transitions: bool = False) -> DeductionSystem:
    """Mildly non-projective trees in time O(n^k): an item is a forest with heads h1 < .. < hm, whose yields are h1..hm.

    k = 3 gives the projective trees, k = 4 covers 97 to 99 % of the sentences of most treebanks. `transitions` (k = 3
    and 4) adds the scores of the MH_k transition system: `shift`, and `la`, `ra`, `la'`, `ra'`, `la2`, `ra2`, each with
    the tables of `reduce_scores`. MH_k derives a tree in several ways: sums over it are about derivations.

    Raises:
        ValueError: k is no whole number from 3 on, or transitions for k > 4.

    Example:
        >>> print(mhk(4))
        mh4: time O(n^4), space O(n^3), several derivations a tree
          ⊢  H2[h1,h1+1]
          H2[h1,h2]  H2[h2,h3]  ⊢  H3[h1,h2,h3]
          H2[h1,h2]  H3[h2,h3,h4]  ⊢  H4[h1,h2,h3,h4]
          H3[h1,h2,h3]  H2[h3,h4]  ⊢  H4[h1,h2,h3,h4]
          H4[h1,h2,h3,h4]  (arc[h1,h2] ⊕ arc[h3,h2] ⊕ arc[h4,h2])  ⊢  H3[h1,h3,h4]
          H4[h1,h2,h3,h4]  (arc[h1,h3] ⊕ arc[h2,h3] ⊕ arc[h4,h3])  ⊢  H3[h1,h2,h4]
          H3[h1,h2,h3]  (arc[h1,h2] ⊕ arc[h3,h2])  ⊢  H2[h1,h3]
          goal  H2[0,n+1]
    """
    if not isinstance(k, Integral) or k < 3:
        raise ValueError(
            f"MH_k needs k >= 3 heads an item, not {k!r}: mhk(3) gives the projective trees, mhk(4) is usual"
        )
    if transitions and k > 4:
        raise ValueError(f"transitions are defined for mhk(3) and mhk(4), not for mhk({k}): score its arcs alone")
    H = {m: Item(f"H{m}") for m in range(2, k + 1)}
    h = indices(" ".join(f"h{m}" for m in range(1, k + 1)))
    name = f"mh{k}"
    scores: tuple[Score, ...] = (arc,)
    if transitions:
        names = REDUCES.values() if k == 4 else ("la", "ra")
        name, scores = f"mh{k}_transitions", (arc, shift, *reduce_scores(*names))

    combine = (
        joined(H[m][h[:m]], H[p - m + 1][h[m - 1 : p]], transitions) >> H[p][h[:p]]
        for p in range(3, k + 1)
        for m in range(2, p)
    )
    links = (
        H[m][h[:m]] * either(link(h[:m], x, h[d], transitions) for x in h[:m] if x != h[d])
        >> H[m - 1][h[:d] + h[d + 1 : m]]
        for m in range(k, 2, -1)
        for d in range(1, m - 1)
    )
    axioms, goal = (H[2][h[0], h[0] + 1],), H[2][0, n + 1]
    return DeductionSystem(
        name, axioms, (*combine, *links), goal, scores=scores, trees="projective" if k == 3 else f"MH_{k}"
    )


def joined(left: Atom, right: Atom, transitions: bool) -> Product:
    """Two items side by side: the node where they meet is shifted."""
    return left * right * shift[left.positions[-2:]] if transitions else left * right


def link(heads: Sequence[Position], head: Position, dependent: Position, transitions: bool) -> Product:
    """An arc between two of the heads `[.., s2, s1, s0, b0]` of an item, and the transition that makes it."""
    if not transitions:
        return Product((arc[head, dependent],))
    names = dict(zip(reversed(heads), ("b0", "s0", "s1", "s2"), strict=False))
    s1, s0, b0 = heads[-3:]
    return arc[head, dependent] * reduce(REDUCES[names[dependent], names[head]], s1, s0, b0)

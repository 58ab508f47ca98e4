"""MH_k: items with at most k heads (Gómez-Rodríguez, Carroll and Weir 2011)."""

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
    """The trees of MH_k, mildly non-projective for k > 3; a tree has several derivations.

    Item Hm[h1,..,hm], m ≤ k, is a forest over the words from h1 to hm in which exactly the m words h1, .., hm have no
    head yet. k = 3 gives the projective trees; k = 4 covers 97 to 99 % of the sentences of most treebanks.

    Args:
        k: the largest number of heads of an item, 3 or more.
        transitions: also read scores of the transitions of the MH_k parser (k = 3 or 4), by the three top words of the
            stack, s2, s1 and s0, and the front of the buffer, b0. `shift[s0, b0]`; and for each reduction t three
            tables, whose scores add up: `t[s0, b0]`, `t:s1[s1, s0]` and `t:full[s1, s0, b0]`, such as `la:s1`. The
            reductions and their arcs: `la` (b0 → s0) and `ra` (s1 → s0); for k = 4 also `la'` (s0 → s1), `ra'` (s2 →
            s1), `la2` (b0 → s1) and `ra2` (s2 → s0). Each table has n+2 positions an axis; absent tables score 0.

    Returns:
        A system in time O(n^k) and space O(n^(k-1)).

    Raises:
        ValueError: k is not a whole number of 3 or more, or `transitions` with k > 4.

    References:
        Gómez-Rodríguez, Carroll and Weir 2011, Dependency parsing schemata and mildly non-projective dependency
        parsing. Gómez-Rodríguez, Shi and Lee 2018, Global transition-based non-projective dependency parsing
        (transitions of MH_4).

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

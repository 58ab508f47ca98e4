"""Inference over all trees with scores of pairs of arcs: greedy, by dual decomposition, and by mean field.

Exact search is NP-hard. All functions take the same *second-order scores*: a mapping with some of these tables of
floats. An array without a name is `arc`.

* `arc[h, d]`, `[*batch, n+1, n+1]`: the arc from the head h to the dependent d; row 0 is the root; -inf forbids it.
* `grandparent[g, h, d]`, `[*batch, n+1, n+1, n+1]`: the two arcs g → h and h → d.
* `sibling[h, d, e]`, `[*batch, n+1, n+1, n+1]`, read for d < e: the two arcs h → d and h → e.

`grandparent` and `sibling` are finite; absent tables score 0. `sibling` has one score for every pair of dependents of a
head. In `structdep.eisner` and `charts.eisner(siblings=True)`, `sibling[h, m, s]` has one score for each arc h → m:
there s is the dependent between h and m that is closest to m, or h itself.
"""

from structdep.greedy.approximate_marginals import mean_field
from structdep.greedy.dual_subgradient import CertifiedTrees, dual_decomposition
from structdep.greedy.parsers import bgi, bgi_pp, improve
from structdep.greedy.parts import favour, score
from structdep.greedy.second_order import second_order

__all__ = [
    "CertifiedTrees",
    "bgi",
    "bgi_pp",
    "dual_decomposition",
    "favour",
    "improve",
    "mean_field",
    "score",
    "second_order",
]

"""Trees inside a network: relaxations of the best tree, and gradient estimators, for every class of trees.

A *relaxation* returns arcs between 0 and 1, a mean of trees, with derivatives. A *gradient estimator* returns the best
tree, or a mean loss, with a substitute for its gradient. Each function takes a system from `structdep.charts` or
`structdep.spanning.all_trees()`, arc scores `[*batch, n+1, n+1]`, and `lengths`, as `structdep.argmax` does. Functions
that only use best trees also take, in place of a system, your own function from scores and lengths to heads, int
`[*batch, n]`, -1 if there is no tree; it excludes `constraints` and `single_root`.
"""

from structdep.relaxations.losses import perturbed_loss, sparsemap_loss
from structdep.relaxations.marginals import marginals, stochastic_softmax
from structdep.relaxations.perturbed import perturbed
from structdep.relaxations.score_function import score_function
from structdep.relaxations.sparsemap import SparseMap, sparsemap
from structdep.relaxations.straight_through import blackbox, implicit_mle, spigot, straight_through

__all__ = [
    "SparseMap",
    "blackbox",
    "implicit_mle",
    "marginals",
    "perturbed",
    "perturbed_loss",
    "score_function",
    "sparsemap",
    "sparsemap_loss",
    "spigot",
    "stochastic_softmax",
    "straight_through",
]

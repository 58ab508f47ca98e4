"""Trees inside a network: relaxations of the best tree, and estimators of gradients, for every class of trees.

Each function takes a system from `structdep.charts` or `structdep.spanning.all_trees()`, arc scores
`[*batch, n+1, n+1]` and `lengths`, as `structdep.argmax` does.
"""

from structdep.relaxations.losses import perturbed_loss as perturbed_loss
from structdep.relaxations.losses import sparsemap_loss as sparsemap_loss
from structdep.relaxations.marginals import marginals as marginals
from structdep.relaxations.marginals import stochastic_softmax as stochastic_softmax
from structdep.relaxations.perturbed import perturbed as perturbed
from structdep.relaxations.score_function import score_function as score_function
from structdep.relaxations.sparsemap import SparseMap as SparseMap
from structdep.relaxations.sparsemap import sparsemap as sparsemap
from structdep.relaxations.straight_through import blackbox as blackbox
from structdep.relaxations.straight_through import implicit_mle as implicit_mle
from structdep.relaxations.straight_through import spigot as spigot
from structdep.relaxations.straight_through import straight_through as straight_through

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

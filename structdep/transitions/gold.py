"""Gold trees, with what oracles need to know of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structdep.transitions.arrays import Array
from structdep.transitions.configuration import NONE
from structdep.transitions.notation import TransitionSystem
from structdep.trees import check_trees, is_projective, projective_order
from structdep.trees.heads import concrete


class Gold(NamedTuple):
    """Gold trees, with what oracles need to know of them; made by `Oracle.gold`.

    All arrays are int32 `[*batch, n+2]`, with an entry for each node: the root, the words, and padding.

    Args:
        heads: the head of each word; -1 for other nodes.
        dependents: the number of dependents of each node.
        ranks: the place of each node in the projective order, in which the tree is projective.
        parts: for lazy swaps, the top of the maximal projective part of each node; otherwise the node itself.
    """

    heads: Array
    dependents: Array
    ranks: Array
    parts: Array

    @property
    def lengths(self) -> Array:
        """The numbers of words."""
        return (self.heads != NONE).sum(-1)


def gold_trees(system: TransitionSystem, heads: ArrayLike, lengths: ArrayLike | None = None) -> Gold:
    """What oracles of the system need to know of trees, `heads` int `[*batch, n]`; every word is a part.

    Raises:
        TypeError, ValueError: heads that are no trees, lengths that do not fit.

    Example:
        >>> from structdep.transitions import arc_standard
        >>> gold_trees(arc_standard(swap=True), [3, 4, 0, 3]).ranks.tolist()  # 2 stands beside its head, 4
        [0, 1, 3, 2, 4, 5]
    """
    given, sizes = concrete(heads, lengths)
    check_trees(given, sizes)
    batch, words = given.shape[:-1], given.shape[-1]
    nodes = np.broadcast_to(np.arange(words + 2, dtype=np.int32), (*batch, words + 2))
    ranks = nodes.copy()
    for index in np.ndindex(*batch):
        order = projective_order(given[index][: sizes[index]])
        ranks[index][order] = np.arange(1, len(order) + 1)
    if system.root_last:
        ranks[..., 0] = words + 1
    padded = np.pad(given, [(0, 0)] * len(batch) + [(1, 1)]).astype(np.int32)
    padded = np.where((nodes > 0) & (nodes <= sizes[..., None]), padded, NONE)
    dependents = (padded[..., None, :] == nodes[..., None]).sum(-1, dtype=np.int32)
    return Gold(padded, dependents, ranks, nodes)


def check_class(system: TransitionSystem, gold: Gold) -> None:
    """Raise ValueError for trees that are not projective, or have several roots, where the system makes none such."""
    heads, lengths = gold.heads[..., 1:-1], gold.lengths
    if system.trees == "projective":
        refuse_unless(is_projective(heads, lengths), system, gold)
    elif system.trees == "single-root":
        refuse_unless((heads == 0).sum(-1) == (lengths > 0), system, gold)


ADVICE = {
    "projective": "take sd.nearest_tree(sd.charts.eisner(), heads, lengths), or a system with swap=True",
    "single-root": "one word must have head 0",
    "MH_4": "take sd.nearest_tree(sd.charts.mhk(4), heads, lengths), or a system with swap=True",
}


def refuse_unless(fits: Array, system: TransitionSystem, gold: Gold) -> None:
    """Raise ValueError for the first tree that does not fit the system."""
    bad = np.argwhere(~np.asarray(fits))
    if len(bad):
        index = tuple(bad[0].tolist())
        where = f"sentence {', '.join(map(str, index))}: " if index else ""
        tree = gold.heads[index][1 : gold.lengths[index] + 1].tolist()
        advice = f": {ADVICE[system.trees]}" if system.trees in ADVICE else ""
        raise ValueError(f"{where}no run of {system.name} makes the tree {tree}{advice}")

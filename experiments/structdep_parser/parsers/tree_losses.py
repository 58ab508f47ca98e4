"""Losses of charts, `[B]`: of whole trees, or of what is known of them; of trees with any roots, or with one."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from structdep.greedy.second_order import GreedyTrees
from structdep.inference.losses import gold_score
from structdep.semirings import LogSum, MaxPlus
from structdep.spanning import all_trees
from structdep.trees.classes import System
from structdep_parser.parsers.one_root import Tables, best, log_partition


def hinge(
    system: System, one_root: bool, is_whole: bool, scores: Tables, heads: jax.Array, lengths: jax.Array
) -> jax.Array:
    """The structured hinge, whose cost is the number of wrong heads among those that are known.

    Where some are not, the gold tree is the best with those that are (latent structures: Yu, Joachims 2009).
    """
    fixed = jax.lax.stop_gradient(scores)
    gold = heads if is_whole else _completed(system, fixed, lengths, heads, one_root)
    worst = best(system, fixed, lengths, None, one_root, cost=heads)
    is_word = jnp.arange(heads.shape[-1]) < lengths[:, None]
    cost = (is_word & (heads >= 0) & (worst != heads)).sum(-1)
    of_worst, of_gold = (gold_score(system, scores, tree, lengths, MaxPlus()) for tree in (worst, gold))
    return jnp.maximum(of_worst + cost - of_gold, 0)


def _completed(system: System, scores: Tables, lengths: jax.Array, known: jax.Array, one_root: bool) -> jax.Array:
    """The best tree with the known heads; by arcs alone where the search of a greedy system may find none."""
    if isinstance(system, GreedyTrees):
        system, scores = all_trees(), {"arc": scores["arc"]}
    return best(system, scores, lengths, known, one_root)


def nll(
    system: System, one_root: bool, is_whole: bool, scores: Tables, heads: jax.Array, lengths: jax.Array
) -> jax.Array:
    """The negative log-likelihood of the tree, or of all trees that have the known heads."""
    if is_whole:
        gold = gold_score(system, scores, heads, lengths, LogSum())
    else:
        gold = log_partition(system, scores, lengths, heads, one_root)
    return log_partition(system, scores, lengths, None, one_root) - gold


LOSSES: dict[str, Callable[..., jax.Array]] = {"hinge": hinge, "nll": nll}

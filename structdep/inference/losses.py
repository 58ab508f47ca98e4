"""Training losses: one value a sentence, differentiable in the scores.

`constraints` hold for the trees that compete with the gold tree; a gold tree that is known as a whole has to obey them
itself. Losses of empty sentences are 0. If the gold tree is forbidden (-inf), all losses except `risk` are inf, with
derivatives 0.
"""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from structdep.inference.constraints import Constraints
from structdep.inference.inside import inside
from structdep.inference.queries import marginals
from structdep.inference.scores import Tables, named, problem, with_arcs
from structdep.semirings import CostAugmented, LogSum, MaxPlus, Semiring
from structdep.trees.classes import System
from structdep.trees.heads import check_trees_unless_traced, heads_to_arcs

__all__ = ["hinge", "nll", "risk", "softmax_margin"]


def hinge(
    system: System,
    scores: Tables,
    heads: ArrayLike,
    lengths: ArrayLike | None = None,
    weight: float | jax.Array = 1.0,
    constraints: Constraints | None = None,
) -> jax.Array:
    """Structured hinge loss: `max_t [score(t) + weight · wrong heads of t] - score(gold)`, over the system's trees t.

    Args:
        system: a system from `structdep.charts`, `structdep.spanning.all_trees()`, or your own.
        scores: arc scores, float `[*batch, n+1, n+1]`, or a mapping from names to tables; see `inside`.
        heads: the gold trees, int `[*batch, n]`, which must be trees of the system; see `nearest_tree`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        weight: the cost of each wrong head, in units of the scores: a number, or one for each sentence, `[*batch]`.
        constraints: known heads and forbidden arcs, for the trees t.

    Returns:
        float `[*batch]`, 0 or more.

    Raises:
        TypeError, ValueError: as by `inside`; heads of a wrong shape, or that are no trees (not inside of `jax.jit`).

    References:
        Taskar, Guestrin and Koller 2003, Max-margin Markov networks.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.losses.hinge(sd.charts.eisner(), jnp.zeros((3, 3)), jnp.array([0, 1]))
        Array(2., dtype=float32)
    """
    worst = inside(system, scores, lengths, CostAugmented(heads, weight), constraints)
    return jnp.maximum(_above(worst, gold_score(system, scores, heads, lengths, MaxPlus()), lengths), 0)


def softmax_margin(
    system: System,
    scores: Tables,
    heads: ArrayLike,
    lengths: ArrayLike | None = None,
    weight: float | jax.Array = 1.0,
    constraints: Constraints | None = None,
) -> jax.Array:
    """Softmax-margin loss: `log Σ_t exp(score(t) + weight · wrong heads of t) - score(gold)`.

    The sum is over the derivations of the system: in an unambiguous system, over its trees t.

    Args:
        system: a system from `structdep.charts`, `structdep.spanning.all_trees()`, or your own.
        scores: arc scores, float `[*batch, n+1, n+1]`, or a mapping from names to tables; see `inside`.
        heads: the gold trees, int `[*batch, n]`, which must be trees of the system; see `nearest_tree`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        weight: the cost of each wrong head, in units of the scores: a number, or one for each sentence, `[*batch]`.
        constraints: known heads and forbidden arcs, for the trees t.

    Returns:
        float `[*batch]`.

    Raises:
        TypeError, ValueError: as by `hinge`.

    References:
        Gimpel and Smith 2010, Softmax-margin CRFs: training log-linear models with cost functions.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.losses.softmax_margin(sd.charts.eisner(), jnp.zeros((3, 3)), jnp.array([0, 1])).round(4)
        Array(2.4076, dtype=float32)
    """
    total = inside(system, scores, lengths, CostAugmented(heads, weight, LogSum), constraints)
    return _above(total, gold_score(system, scores, heads, lengths, LogSum()), lengths)


def risk(
    system: System,
    scores: Tables,
    heads: ArrayLike,
    lengths: ArrayLike | None = None,
    constraints: Constraints | None = None,
) -> jax.Array:
    """Risk: the expected number of wrong heads, under p(derivation) ∝ exp(score).

    Args:
        system: a system from `structdep.charts`, `structdep.spanning.all_trees()`, or your own.
        scores: arc scores, float `[*batch, n+1, n+1]`, or a mapping from names to tables; see `inside`.
        heads: the gold trees, int `[*batch, n]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        constraints: known heads and forbidden arcs, for the trees of the distribution.

    Returns:
        float `[*batch]`, in words, from 0 to the length of the sentence.

    Raises:
        TypeError, ValueError: as by `hinge`.

    References:
        Smith and Eisner 2006, Minimum risk annealing for training log-linear models.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.losses.risk(sd.charts.eisner(), jnp.zeros((3, 3)), jnp.array([0, 1])).round(4)
        Array(1., dtype=float32)
    """
    tables = named(scores)
    arcs, gold = gold_arcs(tables, heads, lengths)
    given = tables | {"arc": arcs}
    uses = marginals(system, given, lengths, constraints)["arc"]
    found = jnp.sum(gold, (-2, -1)) - jnp.sum(uses, (-2, -1), where=gold)
    return jnp.where(problem(system, given, lengths).has_only_numbers, found, jnp.nan)


def nll(
    system: System,
    scores: Tables,
    heads: ArrayLike | Constraints,
    lengths: ArrayLike | None = None,
    constraints: Constraints | None = None,
) -> jax.Array:
    """Negative log-likelihood of the gold tree: `log Σ exp(score) - score(gold)`, in nats.

    In an ambiguous system, such as `mhk(4)`, the sum is over derivations, and the probability of a tree is that of all
    its derivations.

    Args:
        system: a system from `structdep.charts`, `structdep.spanning.all_trees()`, or your own.
        scores: arc scores, float `[*batch, n+1, n+1]`, or a mapping from names to tables; see `inside`.
        heads: the gold trees, int `[*batch, n]`, which must be trees of the system; see `nearest_tree`. Or
            `Constraints`, if the gold trees are known in part: the likelihood is then that of all trees that obey them,
            and `constraints`, too.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        constraints: known heads and forbidden arcs, for all trees of the distribution.

    Returns:
        float `[*batch]`.

    Raises:
        TypeError, ValueError: as by `hinge`.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.losses.nll(sd.charts.eisner(), jnp.zeros((3, 3)), jnp.array([0, 1])).round(4)
        Array(1.0986, dtype=float32)
        >>> sd.losses.nll(sd.charts.eisner(), jnp.zeros((3, 3)), sd.Constraints(jnp.array([0, -1]))).round(4)
        Array(0.4055, dtype=float32)
    """
    if isinstance(heads, Constraints):
        obeying = scores if constraints is None else with_arcs(system, scores, lengths, constraints)
        gold = inside(system, obeying, lengths, LogSum, heads)
    else:
        gold = gold_score(system, scores, heads, lengths, LogSum())
    return _above(inside(system, scores, lengths, LogSum, constraints), gold, lengths)


def _above(total: jax.Array, gold: jax.Array, lengths: ArrayLike | None) -> jax.Array:
    """`total` - `gold`: infinite where the gold tree is forbidden, and 0 for sentences without words."""
    forbidden = jnp.isneginf(gold)
    above = jnp.where(forbidden, jnp.inf, total - jnp.where(forbidden, 0, gold))
    return above if lengths is None else jnp.where(jnp.asarray(lengths) > 0, above, 0)


def gold_score(
    system: System, scores: Tables, heads: ArrayLike, lengths: ArrayLike | None, semiring: Semiring
) -> jax.Array:
    """The semiring sum over the derivations of the tree `heads`, `[*batch]`.

    If all derivations of a tree have one score, it is the sum of the tree's arc scores; otherwise, a chart computes it
    in which all other arcs are forbidden.
    """
    tables = named(scores)
    arcs, gold = gold_arcs(tables, heads, lengths)
    if tables.keys() == {"arc"} and (semiring.idempotent or system.unambiguous):
        return jnp.where(gold, arcs, 0).astype(jnp.promote_types(arcs.dtype, jnp.float32)).sum((-2, -1))
    return inside(system, tables | {"arc": jnp.where(gold, arcs, -jnp.inf)}, lengths, semiring)


def gold_arcs(
    tables: Mapping[str, ArrayLike], heads: ArrayLike, lengths: ArrayLike | None
) -> tuple[jax.Array, jax.Array]:
    """The scores of arcs, and whether each is an arc of the gold tree, both `[*batch, n+1, n+1]`.

    Raises:
        TypeError, ValueError: heads of another shape than the scores have, or that are no trees.
    """
    given, found = tables.get("arc"), np.shape(heads)
    if given is not None and found != (expected := (*np.shape(given)[:-2], np.shape(given)[-1] - 1)):
        raise ValueError(
            f"heads have shape {found}, expected {expected}: one head for each word of scores {np.shape(given)}"
        )
    check_trees_unless_traced(heads, lengths)
    gold = heads_to_arcs(heads, lengths)
    return jnp.zeros(gold.shape) if given is None else jnp.asarray(given), gold

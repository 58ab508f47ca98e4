"""The expectation of any function of a random tree, with unbiased gradients from samples."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient
from numpy.typing import ArrayLike

from structdep.inference.constraints import Constraints
from structdep.inference.distribution import TreeDistribution
from structdep.relaxations.trees import as_scores
from structdep.trees.classes import System


def score_function(
    system: System,
    scores: ArrayLike,
    loss: Callable[[jax.Array], jax.Array],
    key: jax.Array,
    lengths: ArrayLike | None = None,
    samples: int = 8,
    k_best: int = 0,
    constraints: Constraints | None = None,
    *,
    single_root: bool = False,
) -> jax.Array:
    """An unbiased estimate of the expected loss of a random tree, with unbiased gradients.

    The gradient by the scores is the gradient of the log-probability of each sample times its loss, less the mean loss
    of the other samples (the baseline). With `k_best`, the k best trees are summed exactly, and samples estimate the
    rest. The gradient by the parameters of `loss` is the mean of its gradients.

    Args:
        system: an unambiguous system.
        scores: arc scores, float `[*batch, n+1, n+1]`.
        loss: a function from heads, int32 `[*batch, n]`, to the loss of each sentence, `[*batch]`. `jax.vmap` maps it
            over samples. It need not be differentiable.
        key: one key of `jax.random`, which draws the samples of all sentences.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        samples: the number of samples, at least 2.
        k_best: the number of best trees that are summed exactly.
        constraints: known heads and forbidden arcs.
        single_root: whether exactly one word depends on the root.

    Returns:
        The estimate, float `[*batch]`; 0 for a sentence without any tree.

    Raises:
        TypeError: `scores` is a mapping, or as by `structdep.inside`.
        ValueError: fewer than 2 samples, an ambiguous system, or as by `structdep.inside`.

    References:
        Kool, van Hoof and Welling 2019, Buy 4 REINFORCE samples, get a baseline for free! Liu, Regier, Tripuraneni,
        Jordan and McAuliffe 2019, Rao-Blackwellized stochastic gradients for discrete distributions (the k best).

    Example:
        >>> import jax, jax.numpy as jnp, structdep as sd
        >>> attached_to_root = lambda heads: (heads == 0).sum(-1)
        >>> scores, key = jnp.zeros((3, 3)), jax.random.key(0)
        >>> round(float(sd.relaxations.score_function(sd.charts.eisner(), scores, attached_to_root, key, k_best=3)), 4)
        1.3333
    """
    if samples < 2:
        raise ValueError(f"samples is {samples}: the mean loss of the other samples needs at least 2")
    given = as_scores(scores)
    trees = TreeDistribution(system, given, lengths, constraints, single_root=single_root)
    exists = stop_gradient(jnp.isfinite(trees.log_partition()))
    drawn: jax.Array = stop_gradient(trees.sample(key, samples))  # type: ignore[assignment]
    losses, log_probs = _losses(loss, drawn), _log_probs(trees, drawn, exists)
    exact = jnp.zeros(losses.shape[1:], losses.dtype)
    if k_best:
        best = stop_gradient(trees.k_best(k_best).heads)
        is_there = (best >= 0).all(-1)
        probabilities = jnp.where(is_there, jnp.exp(_log_probs(trees, jnp.maximum(best, 0), exists & is_there)), 0)
        exact = jnp.sum(probabilities * jnp.where(is_there, _losses(loss, jnp.maximum(best, 0)), 0), 0)
        is_best = ((drawn[:, None] == best).all(-1) & is_there).any(1)
        losses = jnp.where(is_best, 0, losses)
    others = (losses.sum(0) - losses) / (samples - 1)
    surprise = log_probs - stop_gradient(log_probs)
    return jnp.where(exists, exact + jnp.mean(losses + stop_gradient(losses - others) * surprise, 0), 0)


def _losses(loss: Callable[[jax.Array], jax.Array], heads: jax.Array) -> jax.Array:
    return jax.vmap(loss)(heads).astype(jnp.float32)


def _log_probs(trees: TreeDistribution, heads: jax.Array, exists: jax.Array) -> jax.Array:
    """Of trees `[samples, *batch, n]`; 0 for those that do not exist."""
    found = jax.vmap(lambda each: trees.log_prob(each))(heads)
    return jnp.where(exists, found, 0)

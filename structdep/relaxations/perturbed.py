"""The mean of the best trees of noisy scores (Berthet et al. 2020)."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import stop_gradient
from numpy.typing import ArrayLike

from structdep.inference.constraints import Constraints
from structdep.relaxations.trees import BestHeads, Trees, as_scores, change, check_positive
from structdep.trees.classes import System


class Draws(NamedTuple):
    """Noise of mean 0 and the derivative of its negative log-density, `[samples, *batch, n+1, n+1]`."""

    noise: jax.Array
    slope: jax.Array


def draws(key: jax.Array, samples: int, scores: jax.Array, noise: str) -> Draws:
    """The noise of some draws.

    Raises:
        ValueError: a kind of noise other than "normal" and "gumbel", or no samples.
    """
    if samples < 1:
        raise ValueError(f"samples is {samples}: write 1 or more")
    shape = (samples, *scores.shape)
    if noise == "normal":
        normal = jax.random.normal(key, shape, scores.dtype)
        return Draws(normal, normal)
    if noise == "gumbel":
        gumbel = jax.random.gumbel(key, shape, scores.dtype)
        return Draws(gumbel - np.euler_gamma, 1 - jnp.exp(-gumbel))
    raise ValueError(f'noise is "normal" or "gumbel", not {noise!r}')


def perturbed(
    system: System | BestHeads,
    scores: ArrayLike,
    key: jax.Array,
    lengths: ArrayLike | None = None,
    sigma: float = 1.0,
    samples: int = 16,
    constraints: Constraints | None = None,
    *,
    noise: str = "normal",
    single_root: bool = False,
) -> jax.Array:
    """The mean, over random draws, of the best tree of `scores + sigma · noise`.

    First derivatives are unbiased estimates of those of the expectation. The best tree without noise is the control
    variate, which reduces their variance.

    Args:
        system: a class of trees, which may be ambiguous, or a function from scores and lengths to heads.
        scores: arc scores, float `[*batch, n+1, n+1]`.
        key: one key of `jax.random`, which draws the noise of all sentences.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        sigma: the scale of the noise, a positive number, in units of the scores.
        samples: the number of draws, 1 or more; each takes the time of a best tree.
        constraints: known heads and forbidden arcs; only with a system.
        noise: "normal" or "gumbel" (shifted to the mean 0), both with scale 1.
        single_root: whether exactly one word depends on the root; only with a system.

    Returns:
        The share of the draws whose tree has each arc, float `[*batch, n+1, n+1]`; zeros for a sentence without any
        tree.

    Raises:
        TypeError: `scores` is a mapping, or as by `structdep.inside`.
        ValueError: another name of the noise, `samples` below 1, `sigma` not above 0, `constraints` or
            `single_root` with a function, or as by `structdep.inside`.

    References:
        Berthet, Blondel, Teboul, Cuturi, Vert and Bach 2020, Learning with differentiable perturbed optimizers.

    Example:
        >>> import jax, jax.numpy as jnp, structdep as sd
        >>> sd.relaxations.perturbed(sd.spanning.all_trees(), jnp.zeros((4, 4)), jax.random.key(0)).sum()
        Array(3., dtype=float32)
    """
    check_positive(sigma=sigma)
    given, trees = as_scores(scores), Trees(system, lengths, constraints, single_root)
    constant = stop_gradient(given)
    drawn = draws(key, samples, given, noise)
    found = jax.vmap(lambda each: trees.best(constant + sigma * each))(drawn.noise)
    changed = change(given, trees.possible(given))
    along = jnp.sum(drawn.slope * changed, (-2, -1), keepdims=True) / sigma
    return jnp.mean(found + (found - trees.best(constant)) * along, axis=0)

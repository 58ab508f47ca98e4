"""The mean of the best trees of noisy scores, whose derivative is an expectation, too (Berthet et al. 2020)."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.lax import stop_gradient
from numpy.typing import ArrayLike

from structdep.inference.constraints import Constraints
from structdep.relaxations.trees import BestHeads, Trees, as_scores, change
from structdep.trees.classes import System


class Draws(NamedTuple):
    """Noise of mean 0 and the derivative of its negative log-density, `[samples, *batch, n+1, n+1]`."""

    noise: jax.Array
    slope: jax.Array


def draws(key: jax.Array, samples: int, scores: jax.Array, noise: str) -> Draws:
    """Raises ValueError for a kind of noise other than "normal" and "gumbel"."""
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
    """The mean over draws of the best tree of `scores + sigma * noise`.

    First derivatives are unbiased estimates of those of the expectation; the best tree without noise serves as a
    control variate.

    Args:
        system: a class of trees, or a function from scores and lengths to heads.
        scores: arc scores, `[*batch, n+1, n+1]`.
        sigma: the scale of the noise.
        samples: the number of draws, each of which costs a best tree.
        noise: "normal" or "gumbel".

    Returns:
        The share of the draws whose tree has each arc, `[*batch, n+1, n+1]`; zeros for a sentence without any tree.

    Example:
        >>> import jax, jax.numpy as jnp, structdep as sd
        >>> sd.relaxations.perturbed(sd.spanning.all_trees(), jnp.zeros((4, 4)), jax.random.key(0)).sum()
        Array(3., dtype=float32)
    """
    given, trees = as_scores(scores), Trees(system, lengths, constraints, single_root)
    constant = stop_gradient(given)
    drawn = draws(key, samples, given, noise)
    found = jax.vmap(lambda each: trees.best(constant + sigma * each))(drawn.noise)
    changed = change(given, trees.possible(given))
    along = jnp.sum(drawn.slope * changed, (-2, -1), keepdims=True) / sigma
    return jnp.mean(found + (found - trees.best(constant)) * along, axis=0)

"""Fenchel-Young losses: zero at the gold tree, with the gradient relaxed tree - gold tree (Blondel et al. 2020).

The loss whose relaxation is `marginals` is the likelihood: `structdep.losses.nll`.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient
from numpy.typing import ArrayLike

from structdep.inference.constraints import Constraints
from structdep.inference.losses import gold_arcs
from structdep.relaxations.perturbed import draws
from structdep.relaxations.sparsemap import sparsemap
from structdep.relaxations.trees import BestHeads, Trees, as_scores, inner
from structdep.trees.classes import System


def sparsemap_loss(
    system: System,
    scores: ArrayLike,
    heads: ArrayLike,
    lengths: ArrayLike | None = None,
    constraints: Constraints | None = None,
    *,
    single_root: bool = False,
) -> jax.Array:
    """½‖scores - gold‖² less ½‖scores - y‖², where y is the point of `sparsemap`: `[*batch]`, >= 0.

    Infinite where an arc of the gold tree is forbidden.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.relaxations.sparsemap_loss(sd.charts.eisner(), jnp.zeros((3, 3)).at[2, 1].set(9.0), jnp.array([2, 0]))
        Array(0., dtype=float32)
    """
    given, gold = _given(scores, heads, lengths)
    nearest = stop_gradient(sparsemap(system, given, lengths, constraints, single_root=single_root).arcs)
    squares = (gold.sum((-2, -1)) - jnp.sum(nearest**2, (-2, -1))) / 2
    return jnp.maximum(inner(given, nearest) - inner(given, gold) + squares, 0)


def perturbed_loss(
    system: System | BestHeads,
    scores: ArrayLike,
    heads: ArrayLike,
    key: jax.Array,
    lengths: ArrayLike | None = None,
    sigma: float = 1.0,
    samples: int = 16,
    constraints: Constraints | None = None,
    *,
    noise: str = "normal",
    single_root: bool = False,
) -> jax.Array:
    """The mean best score of noisy scores less the gold tree's score: `[*batch]`; arguments as in `perturbed`.

    Example:
        >>> import jax, jax.numpy as jnp, structdep as sd
        >>> loss = lambda s: sd.relaxations.perturbed_loss(sd.charts.eisner(), s, jnp.array([2, 0]), jax.random.key(0))
        >>> jax.grad(loss)(jnp.zeros((3, 3)).at[2, 1].set(9.0)).sum()
        Array(0., dtype=float32)
    """
    given, gold = _given(scores, heads, lengths)
    trees, constant = Trees(system, lengths, constraints, single_root), stop_gradient(given)
    noises = sigma * draws(key, samples, given, noise).noise
    found = jax.vmap(lambda each: trees.best(constant + each))(noises)
    best = jax.vmap(lambda each, arcs: inner(given + each, arcs))(noises, found)
    return best.mean(0) - inner(given, gold)


def _given(scores: ArrayLike, heads: ArrayLike, lengths: ArrayLike | None) -> tuple[jax.Array, jax.Array]:
    given, gold = gold_arcs({"arc": as_scores(scores)}, heads, lengths)
    return given, gold.astype(given.dtype)

"""Fenchel-Young losses: the gradient is the relaxed tree minus the gold tree (Blondel, Martins and Niculae 2020).

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
    """The Fenchel-Young loss of SparseMAP: ½‖scores - gold‖² - ½‖scores - y‖², where y is the point of `sparsemap`.

    The norms are over arcs. The gradient is y - gold.

    Args:
        system: a class of trees, which may be ambiguous.
        scores: arc scores, float `[*batch, n+1, n+1]`.
        heads: the gold trees, int `[*batch, n]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        constraints: known heads and forbidden arcs, for the trees of y.
        single_root: whether exactly one word depends on the root, in the trees of y.

    Returns:
        float `[*batch]`, 0 or more; inf if an arc of the gold tree is forbidden (-inf).

    Raises:
        TypeError, ValueError: as by `sparsemap`; heads of a wrong shape, or that are no trees (not inside of
            `jax.jit`).

    References:
        Niculae, Martins, Blondel and Cardie 2018, SparseMAP: differentiable sparse structured inference. Blondel,
        Martins and Niculae 2020, Learning with Fenchel-Young losses.

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
    """The Fenchel-Young loss of perturbed trees: the mean best score of noisy scores, minus the score of the gold tree.

    The gradient is the result of `perturbed` minus the gold tree.

    Args:
        system: a class of trees, which may be ambiguous, or a function from scores and lengths to heads.
        scores: arc scores, float `[*batch, n+1, n+1]`.
        heads: the gold trees, int `[*batch, n]`.
        key: one key of `jax.random`, which draws the noise of all sentences.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        sigma: the scale of the noise, in units of the scores.
        samples: the number of draws, 1 or more; each takes the time of a best tree.
        constraints: known heads and forbidden arcs; only with a system.
        noise: "normal" or "gumbel" (shifted to the mean 0), both with scale 1.
        single_root: whether exactly one word depends on the root; only with a system.

    Returns:
        float `[*batch]`. Its expectation, but not each estimate, is 0 or more.

    Raises:
        TypeError, ValueError: as by `perturbed`; heads of a wrong shape, or that are no trees (not inside of
            `jax.jit`).

    References:
        Berthet, Blondel, Teboul, Cuturi, Vert and Bach 2020, Learning with differentiable perturbed optimizers.

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

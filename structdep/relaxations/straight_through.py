"""The best tree as 0 and 1, with a substitute for its gradient, which is 0."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient
from numpy.typing import ArrayLike

from structdep.inference.constraints import Constraints
from structdep.relaxations.sparsemap import sparsemap
from structdep.relaxations.trees import BestHeads, Trees, as_scores, change, check_positive
from structdep.trees.classes import System


def straight_through(
    system: System | BestHeads,
    scores: ArrayLike,
    lengths: ArrayLike | None = None,
    constraints: Constraints | None = None,
    *,
    relaxed: jax.Array | None = None,
    single_root: bool = False,
) -> jax.Array:
    """The best tree; the backward pass is the identity, or that of `relaxed`.

    Args:
        system: a class of trees, which may be ambiguous, or a function from scores and lengths to heads.
        scores: arc scores, float `[*batch, n+1, n+1]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        constraints: known heads and forbidden arcs; only with a system.
        relaxed: relaxed arcs, float `[*batch, n+1, n+1]`, computed from the same scores, such as `marginals(..)`; the
            result has their derivatives.
        single_root: whether exactly one word depends on the root; only with a system.

    Returns:
        The arcs of the best tree, 0 or 1, float `[*batch, n+1, n+1]`; zeros for a sentence without any tree.

    Raises:
        TypeError: `scores` is a mapping, or as by `structdep.inside`.
        ValueError: `constraints` or `single_root` with a function, or as by `structdep.inside`.

    References:
        Bengio, Léonard and Courville 2013, Estimating or propagating gradients through stochastic neurons for
        conditional computation.

    Example:
        >>> import jax, jax.numpy as jnp, structdep as sd
        >>> scores, weights = jnp.zeros((3, 3)).at[2, 1].set(1.0), jnp.full((3, 3), 0.5)
        >>> jax.grad(lambda s: (weights * sd.relaxations.straight_through(sd.charts.eisner(), s)).sum())(scores)
        Array([[0. , 0.5, 0.5],
               [0. , 0. , 0.5],
               [0. , 0.5, 0. ]], dtype=float32)
    """
    given, trees = as_scores(scores), Trees(system, lengths, constraints, single_root)
    best = trees.best(stop_gradient(given))
    if relaxed is not None:
        return best + relaxed - stop_gradient(relaxed)
    exists = best.any((-2, -1), keepdims=True)
    return best + change(given, trees.possible(given) & exists)


def spigot(
    system: System | BestHeads,
    scores: ArrayLike,
    lengths: ArrayLike | None = None,
    step: float = 1.0,
    constraints: Constraints | None = None,
    *,
    single_root: bool = False,
) -> jax.Array:
    """The best tree y; the backward pass is y minus a projection onto the convex hull of the trees.

    The gradient by the scores is y - P(y - step · gradient), where P is the projection, `sparsemap`.

    Args:
        system: a class of trees, which may be ambiguous, or a function from scores and lengths to heads.
        scores: arc scores, float `[*batch, n+1, n+1]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        step: the length of the step against the gradient before the projection, a positive number.
        constraints: known heads and forbidden arcs; only with a system.
        single_root: whether exactly one word depends on the root; only with a system.

    Returns:
        The arcs of the best tree, 0 or 1, float `[*batch, n+1, n+1]`; zeros for a sentence without any tree.

    Raises:
        TypeError, ValueError: as by `straight_through`.

    References:
        Peng, Thomson and Smith 2018, Backpropagating through structured argmax using a SPIGOT.

    Example:
        >>> import jax, jax.numpy as jnp, structdep as sd
        >>> weights = jnp.zeros((3, 3)).at[2, 1].set(0.5)
        >>> jax.grad(lambda s: (weights * sd.relaxations.spigot(sd.charts.eisner(), s)).sum())(weights)
        Array([[ 0.  , -0.25,  0.  ],
               [ 0.  ,  0.  ,  0.  ],
               [ 0.  ,  0.25,  0.  ]], dtype=float32)
    """
    check_positive(step=step)
    return _best_tree(_step_to_hull, Trees(system, lengths, constraints, single_root), step, as_scores(scores))


def blackbox(
    system: System | BestHeads,
    scores: ArrayLike,
    lengths: ArrayLike | None = None,
    strength: float = 1.0,
    constraints: Constraints | None = None,
    *,
    single_root: bool = False,
) -> jax.Array:
    """The best tree; the backward pass is the difference of two best trees.

    The gradient by the scores is `(best(scores) - best(scores - strength · gradient)) / strength`.

    Args:
        system: a class of trees, which may be ambiguous, or a function from scores and lengths to heads.
        scores: arc scores, float `[*batch, n+1, n+1]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        strength: how far the scores move against the gradient, a positive number; a higher strength changes the tree
            more often.
        constraints: known heads and forbidden arcs; only with a system.
        single_root: whether exactly one word depends on the root; only with a system.

    Returns:
        The arcs of the best tree, 0 or 1, float `[*batch, n+1, n+1]`; zeros for a sentence without any tree.

    Raises:
        TypeError, ValueError: as by `straight_through`.

    References:
        Vlastelica, Paulus, Musil, Martius and Rolínek 2020, Differentiation of blackbox combinatorial solvers.

    Example:
        >>> import jax, jax.numpy as jnp, structdep as sd
        >>> scores = jnp.zeros((3, 3)).at[2, 1].set(1.0)
        >>> jax.grad(lambda s: sd.relaxations.blackbox(sd.charts.eisner(), s, strength=4.0)[2, 1])(scores)
        Array([[ 0.  , -0.25,  0.25],
               [ 0.  ,  0.  , -0.25],
               [ 0.  ,  0.25,  0.  ]], dtype=float32)
    """
    check_positive(strength=strength)
    return _best_tree(_to_other_tree, Trees(system, lengths, constraints, single_root), strength, as_scores(scores))


def implicit_mle(
    system: System | BestHeads,
    scores: ArrayLike,
    key: jax.Array,
    lengths: ArrayLike | None = None,
    strength: float = 1.0,
    sigma: float = 1.0,
    constraints: Constraints | None = None,
    *,
    single_root: bool = False,
) -> jax.Array:
    """The best tree of scores with Gumbel noise; the backward pass is that of `blackbox`, at the noisy scores.

    Args:
        system: a class of trees, which may be ambiguous, or a function from scores and lengths to heads.
        scores: arc scores, float `[*batch, n+1, n+1]`.
        key: one key of `jax.random`, which draws the noise of all sentences.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        strength: as in `blackbox`.
        sigma: the scale of the noise, in units of the scores.
        constraints: known heads and forbidden arcs; only with a system.
        single_root: whether exactly one word depends on the root; only with a system.

    Returns:
        The arcs of the best tree of the noisy scores, 0 or 1, float `[*batch, n+1, n+1]`; zeros for a sentence without
        any tree.

    Raises:
        TypeError, ValueError: as by `straight_through`.

    References:
        Niepert, Minervini and Franceschi 2021, Implicit MLE: backpropagating through discrete exponential family
        distributions.

    Example:
        >>> import jax, jax.numpy as jnp, structdep as sd
        >>> sd.relaxations.implicit_mle(sd.charts.mhk(4), jnp.zeros((5, 5)), jax.random.key(0)).sum()
        Array(4., dtype=float32)
    """
    given = as_scores(scores)
    noise = sigma * jax.random.gumbel(key, given.shape, given.dtype)
    return blackbox(system, given + noise, lengths, strength, constraints, single_root=single_root)


def _step_to_hull(trees: Trees, step: float, scores: jax.Array, best: jax.Array, gradient: jax.Array) -> jax.Array:
    target = jnp.where(trees.possible(scores), best - step * gradient, -jnp.inf)
    return best - sparsemap(trees.system, target, trees.lengths, trees.constraints, single_root=trees.single_root).arcs


def _to_other_tree(trees: Trees, strength: float, scores: jax.Array, best: jax.Array, gradient: jax.Array) -> jax.Array:
    return (best - trees.best(scores - strength * gradient)) / strength


Backward = Callable[[Trees, float, jax.Array, jax.Array, jax.Array], jax.Array]
"""The gradient of the scores, from the best tree and its gradient."""


@partial(jax.custom_vjp, nondiff_argnums=(0, 2))
def _best_tree(backward: Backward, trees: Trees, size: float, scores: jax.Array) -> jax.Array:
    """The best tree, whose gradient `backward` computes with `size`."""
    return trees.best(scores)


def _forward(backward: Backward, trees: Trees, size: float, scores: jax.Array) -> Any:
    best = trees.best(scores)
    return best, (trees, scores, best)


def _backward(backward: Backward, size: float, kept: Any, gradient: jax.Array) -> Any:
    trees, scores, best = kept
    return None, backward(trees, size, scores, best, gradient)


_best_tree.defvjp(_forward, _backward)

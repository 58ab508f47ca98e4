"""Marginals at a temperature, with or without noise: a smooth relaxation of the best tree."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from structdep.inference import queries
from structdep.inference.constraints import Constraints
from structdep.relaxations.trees import as_scores, check_positive
from structdep.semirings import LogSum, Semiring, SingleRoot
from structdep.trees.classes import System


def marginals(
    system: System,
    scores: ArrayLike,
    lengths: ArrayLike | None = None,
    temperature: ArrayLike = 1.0,
    constraints: Constraints | None = None,
    *,
    single_root: bool = False,
) -> jax.Array:
    """The marginals of the scores divided by `temperature` (structured attention).

    As the temperature falls to 0, the result approaches the best tree. Derivatives are exact. In an ambiguous system,
    the result are marginals of derivations, not of trees; see `structdep.marginals`.

    Args:
        system: a class of trees.
        scores: arc scores, float `[*batch, n+1, n+1]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        temperature: a positive number, or one for each sentence, `[*batch]`.
        constraints: known heads and forbidden arcs.
        single_root: whether exactly one word depends on the root.

    Returns:
        Relaxed arcs in [0, 1], float `[*batch, n+1, n+1]`; zeros for a sentence without any tree.

    Raises:
        TypeError: `scores` is a mapping, or as by `structdep.inside`.
        ValueError: a temperature of 0 or below (not inside of `jax.jit`), or as by `structdep.inside`.

    References:
        Kim, Denton, Hoang and Rush 2017, Structured attention networks.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.relaxations.marginals(sd.charts.eisner(), jnp.zeros((3, 3)).at[2, 1].set(1.0), temperature=0.1).round(3)
        Array([[0., 0., 1.],
               [0., 0., 0.],
               [0., 1., 0.]], dtype=float32)
    """
    semiring: Semiring = SingleRoot(LogSum()) if single_root else LogSum()
    check_positive(temperature=temperature)
    tempered = as_scores(scores) / jnp.asarray(temperature)[..., None, None]
    result: jax.Array = queries.marginals(system, tempered, lengths, constraints, semiring)
    return result


def stochastic_softmax(
    system: System,
    scores: ArrayLike,
    key: jax.Array,
    lengths: ArrayLike | None = None,
    temperature: ArrayLike = 1.0,
    constraints: Constraints | None = None,
    *,
    single_root: bool = False,
) -> jax.Array:
    """A relaxed random tree: `marginals` of scores with Gumbel noise.

    As the temperature falls to 0, the result approaches the best tree of the noisy scores. Derivatives are exact, for
    the noise that `key` draws.

    Args:
        system: a class of trees. In an ambiguous system, the result are marginals of derivations.
        scores: arc scores, float `[*batch, n+1, n+1]`.
        key: one key of `jax.random`, which draws the noise of all sentences.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        temperature: a positive number, or one for each sentence, `[*batch]`.
        constraints: known heads and forbidden arcs.
        single_root: whether exactly one word depends on the root.

    Returns:
        Relaxed arcs in [0, 1], float `[*batch, n+1, n+1]`; zeros for a sentence without any tree.

    Raises:
        TypeError, ValueError: as by `marginals`.

    References:
        Paulus, Choi, Tarlow, Krause and Maddison 2020, Gradient estimation with stochastic softmax tricks.

    Example:
        >>> import jax, jax.numpy as jnp, structdep as sd
        >>> sd.relaxations.stochastic_softmax(sd.charts.mh4_trees(), jnp.zeros((5, 5)), jax.random.key(0)).sum().round()
        Array(4., dtype=float32)
    """
    given = as_scores(scores)
    noise = jax.random.gumbel(key, given.shape, given.dtype)
    return marginals(system, given + noise, lengths, temperature, constraints, single_root=single_root)

"""Distributions over trees by enumeration, in jax.numpy: they have derivatives, and charts are compared with them."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from cases import LENGTHS, N
from numpy.typing import ArrayLike, NDArray

from structdep.deduction import DeductionSystem
from structdep.testing import derivations
from structdep.trees import all_trees, heads_to_arcs
from structdep.trees.classes import System


@cache
def trees(system: System, length: int, single_root: bool = False) -> NDArray[np.int32]:
    """The heads of all trees, `[trees, length]`."""
    if isinstance(system, DeductionSystem):
        found = sorted(derivations(system, length))
    else:
        found = all_trees(length).tolist() if length else [()]
    heads = np.array(found, np.int32).reshape(len(found), length)
    return heads[(heads == 0).sum(-1) == 1] if single_root else heads


@cache
def arcs(system: System, length: int, single_root: bool = False) -> NDArray[np.bool_]:
    """The arcs of all trees, `[trees, N+1, N+1]`."""
    heads = np.pad(trees(system, length, single_root), [(0, 0), (0, N - length)])
    return np.asarray(heads_to_arcs(heads, np.full(len(heads), length)))


def tree_scores(system: System, scores: jax.Array, length: int, single_root: bool = False) -> jax.Array:
    """The score of each tree, `[trees]`, from those of arcs, `[N+1, N+1]`."""
    return jnp.where(arcs(system, length, single_root), scores, 0).sum((1, 2))


def log_partition(scores: jax.Array) -> jax.Array:
    """From the scores of the trees, `[trees]`; -inf where no tree is possible."""
    if not scores.size:
        return jnp.array(-jnp.inf)
    possible = _possible(scores)
    return jnp.where(possible, jax.nn.logsumexp(jnp.where(possible, scores, 0)), -jnp.inf)


def probabilities(scores: jax.Array) -> jax.Array:
    """From the scores of the trees; 0 where none is possible."""
    possible = _possible(scores)
    return jnp.where(possible, jax.nn.softmax(jnp.where(possible, scores, 0)), 0)


def _possible(scores: jax.Array) -> jax.Array:
    return ~jnp.isneginf(scores).all()


def expected(scores: jax.Array, values: ArrayLike) -> jax.Array:
    """Σ p · value, from the scores of the trees and `[trees, ..]` values."""
    return jnp.tensordot(probabilities(scores), jnp.asarray(values, scores.dtype), 1)


def moments(scores: jax.Array, values: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Log-partition, mean and variance of one value a tree."""
    mean = expected(scores, values)
    return log_partition(scores), mean, expected(scores, (values - mean) ** 2)


def cross_entropy(scores: jax.Array, others: jax.Array) -> jax.Array:
    """-Σ p log q, from the scores of the same trees in two distributions."""
    log_q = others - log_partition(others)
    return -expected(scores, jnp.where(jnp.isneginf(scores), 0, log_q))


def each(function: Callable[..., Any], *batches: Any, lengths: Sequence[int] = LENGTHS.tolist()) -> Any:
    """`function(length, row of each batch)` of each sentence, stacked."""
    rows = [function(length, *(batch[row] for batch in batches)) for row, length in enumerate(lengths)]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *rows)

"""Scores and lengths of other libraries, converted to the layout of structdep, by JAX functions with derivatives.

In structdep, scores are `[*batch, n+1, n+1]`, indexed by head and dependent; row 0 is the root, and lengths count
words. Trees need no function: the heads of torch-struct's compact representation, and SuPar's `arcs[..., 1:]`, are
heads in structdep; `structdep.trees.arcs_to_heads` converts the matrices of arcs that SynJax has.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

Converted = tuple[jax.Array, jax.Array | None]
"""Scores `[*batch, n+1, n+1]` and lengths `[*batch]`; None where none were given."""


def from_torch_struct(log_potentials: ArrayLike, lengths: ArrayLike | None = None) -> Converted:
    """Scores and lengths of `torch_struct.DependencyCRF`.

    Its `multiroot=False` is `single_root=True` in structdep.

    Args:
        log_potentials: float `[*batch, n, n]`, indexed by head and child, without the root: the diagonal has the scores
            of arcs from the root.
        lengths: int `[*batch]`, the number of words of each sentence, or None.

    Returns:
        Scores, `[*batch, n+1, n+1]`, and lengths, `[*batch]`, or None if none are given.

    Raises:
        TypeError: lengths that are not integers.
        ValueError: scores of another shape.

    Example:
        >>> import structdep as sd
        >>> from structdep.trees.conversions import from_torch_struct
        >>> scores, lengths = from_torch_struct([[[1.0, 0.0], [5.0, 2.0]]], [2])
        >>> sd.argmax(sd.charts.eisner(), scores, lengths)
        Array([[2, 0]], dtype=int32)
    """
    table = _square("log_potentials of torch-struct", "n, n", log_potentials)
    roots = jnp.diagonal(table, axis1=-2, axis2=-1)[..., None, :]
    scores = jnp.concatenate([roots, table], axis=-2)
    return jnp.pad(scores, [(0, 0)] * (scores.ndim - 1) + [(1, 0)]), _integers(lengths)


def from_supar(scores: ArrayLike, lens: ArrayLike | None = None) -> Converted:
    """Scores and lengths of `supar.DependencyCRF` and `supar.MatrixTree`.

    Their `multiroot=False`, which is their default, is `single_root=True` in structdep.

    Args:
        scores: float `[*batch, n+1, n+1]`, indexed by dependent and head; entry 0 is the root.
        lens: int `[*batch]`, the number of words of each sentence, or None.

    Returns:
        Scores, `[*batch, n+1, n+1]`, and lengths, `[*batch]`, or None if none are given.

    Raises:
        TypeError: lengths that are not integers.
        ValueError: scores of another shape.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> from structdep.trees.conversions import from_supar
        >>> scores, _ = from_supar(jnp.zeros((3, 3)).at[1, 2].set(5.0).at[2, 0].set(1.0))
        >>> sd.argmax(sd.charts.eisner(), scores)
        Array([2, 0], dtype=int32)
    """
    return _square("scores of SuPar", "n+1, n+1", scores).swapaxes(-2, -1), _integers(lens)


def from_synjax(log_potentials: ArrayLike, lengths: ArrayLike | None = None) -> Converted:
    """Scores and lengths of `synjax.SpanningTreeCRF(directed=True)`.

    Its `single_root_edge` is `single_root` in structdep.

    Args:
        log_potentials: float `[*batch, n+1, n+1]`, indexed by head and dependent, as in structdep.
        lengths: int `[*batch]`, the number of nodes of each sentence, the root included, or None. (SynJax's
            documentation says that lengths exclude the root; in its code, the default length is the number of nodes.)

    Returns:
        Scores, `[*batch, n+1, n+1]`, and lengths in words, `[*batch]`, or None if none are given.

    Raises:
        TypeError: lengths that are not integers.
        ValueError: scores of another shape.

    Example:
        >>> import jax.numpy as jnp
        >>> from structdep.trees.conversions import from_synjax
        >>> from_synjax(jnp.zeros((2, 5, 5)), [5, 3])[1]
        Array([4, 2], dtype=int32)
    """
    counted = _integers(lengths)
    scores = _square("log_potentials of SynJax", "n+1, n+1", log_potentials)
    return scores, None if counted is None else counted - 1


def _square(what: str, expected: str, scores: ArrayLike) -> jax.Array:
    table = jnp.asarray(scores)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2]:
        raise ValueError(f"{what} have shape {table.shape}, expected [*batch, {expected}]")
    return table


def _integers(lengths: ArrayLike | None) -> jax.Array | None:
    if lengths is None:
        return None
    counted = jnp.asarray(lengths)
    if not jnp.issubdtype(counted.dtype, jnp.integer):
        raise TypeError(f"lengths must be integers, not {counted.dtype}")
    return counted

"""Scores and lengths in the layouts of other libraries, as they are wanted here: JAX functions, with derivatives.

Here scores are `[*batch, n+1, n+1]`, `[head, dependent]`, row 0 the root, and lengths count words. Trees need less: the
heads of torch-struct's compact representation are ours, SuPar's `arcs[..., 1:]` are, and `structdep.trees` turns
matrices of arcs, as SynJax has them, into heads.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

Converted = tuple[jax.Array, jax.Array | None]
"""Scores `[*batch, n+1, n+1]` and lengths `[*batch]`; None where none were given."""


def from_torch_struct(log_potentials: ArrayLike, lengths: ArrayLike | None = None) -> Converted:
    """From `torch_struct.DependencyCRF`: `[*batch, n, n]`, `[head, child]` without root, whose arcs are the diagonal.

    Its `multiroot=False` is `single_root=True` here.

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
    """From `supar.DependencyCRF` and `supar.MatrixTree`: `[*batch, n+1, n+1]`, `[dependent, head]`, the root first.

    Its `multiroot=False`, the default there, is `single_root=True` here.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> from structdep.trees.conversions import from_supar
        >>> scores, _ = from_supar(jnp.zeros((3, 3)).at[1, 2].set(5.0).at[2, 0].set(1.0))
        >>> sd.argmax(sd.charts.eisner(), scores)
        Array([2, 0], dtype=int32)
    """
    return _square("scores of SuPar", "n+1, n+1", scores).swapaxes(-2, -1), _integers(lens)


def from_synjax(log_potentials: ArrayLike, lengths: ArrayLike | None = None) -> Converted:
    """From `synjax.SpanningTreeCRF(directed=True)`: the scores are ours; its lengths count nodes, with the root.

    (Its documentation says that they do not; its code has them default to the number of nodes.) `single_root_edge` is
    `single_root` here.

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

"""Dependency trees as heads: conversions, checks, enumeration.

Everywhere `heads` is int `[*batch, n]`: `heads[..., d-1]`, in 0..n, is the head of word d, 0 the root. `lengths`, int
`[*batch]`, counts the words, n where absent; heads behind them are ignored. `heads_to_arcs`, `arcs_to_heads` and
`is_tree` are JAX functions that may stand in jitted code; everything else is numpy, and needs concrete heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike, NDArray

LARGEST = 7
"""The most words whose trees `all_trees` lists."""


def heads_to_arcs(heads: ArrayLike, lengths: ArrayLike | None = None) -> jax.Array:
    """The arcs of a tree: bool `[*batch, n+1, n+1]`, `[head, dependent]`. A head outside 0..n gives no arc. (JAX)

    Example:
        >>> heads_to_arcs([2, 0]).astype(int)
        Array([[0, 0, 1],
               [0, 0, 0],
               [0, 1, 0]], dtype=int32)
    """
    heads, lengths = _traced(heads, lengths)
    nodes = jnp.arange(heads.shape[-1] + 1)
    arcs = (heads[..., None, :] == nodes[:, None]) & is_word_of(heads, lengths)[..., None, :]
    return jnp.pad(arcs, [(0, 0)] * (arcs.ndim - 1) + [(1, 0)])


def arcs_to_heads(arcs: ArrayLike, lengths: ArrayLike | None = None) -> jax.Array:
    """The heads of a tree's arcs: int32 `[*batch, n]`, 0 in padding, -1 for a word without head. (JAX)

    Example:
        >>> arcs_to_heads(heads_to_arcs([2, 0, 2], lengths=2), lengths=2)
        Array([2, 0, 0], dtype=int32)
    """
    arcs = jnp.asarray(arcs)
    if arcs.ndim < 2 or arcs.shape[-1] != arcs.shape[-2]:
        raise ValueError(f"arcs have shape {arcs.shape}, expected [*batch, n+1, n+1], [head, dependent]")
    headed = arcs[..., 1:].astype(bool)
    heads = jnp.where(headed.any(-2), jnp.argmax(headed, axis=-2), -1).astype(jnp.int32)
    heads, lengths = _traced(heads, lengths)
    return jnp.where(is_word_of(heads, lengths), heads, 0)


def is_tree(heads: ArrayLike, lengths: ArrayLike | None = None, single_root: bool = False) -> jax.Array:
    """Whether every word's chain of heads ends at the root: bool `[*batch]`. (JAX)

    With `single_root`, exactly one word must have head 0.

    Example:
        >>> is_tree([[0, 1, 1], [0, 0, 1], [0, 3, 2], [0, 1, 9]])
        Array([ True,  True, False, False], dtype=bool)
        >>> is_tree([[0, 1, 1], [0, 0, 1]], single_root=True)
        Array([ True, False], dtype=bool)
    """
    return jnp.asarray(_is_tree(jnp, *_traced(heads, lengths), single_root))


def _is_tree(xp: Any, heads: Any, lengths: Any, single_root: bool = False) -> Any:
    is_word = is_word_of(heads, lengths)
    fits = (heads >= 0) & (heads <= lengths[..., None])
    ancestors = xp.concatenate([xp.zeros_like(heads[..., :1]), xp.where(is_word & fits, heads, 0)], axis=-1)
    for _ in range(heads.shape[-1].bit_length()):  # twice as far up each time
        ancestors = xp.take_along_axis(ancestors, ancestors, axis=-1)
    rooted = (fits | ~is_word).all(-1) & (ancestors == 0).all(-1)
    return rooted & ((is_word & (heads == 0)).sum(-1) == 1) if single_root else rooted


def check_trees(heads: ArrayLike, lengths: ArrayLike | None = None) -> None:
    """Raise unless all heads are trees.

    Raises:
        TypeError: heads or lengths that are no integers.
        ValueError: shapes that do not fit, lengths out of range, or no tree: which sentence, its heads, what is wrong.

    Example:
        >>> check_trees([[0, 1, 2], [2, 3, 1]])
        Traceback (most recent call last):
        ValueError: sentence 1: heads [2, 3, 1] are no tree: from word to head one goes round in 1 -> 2 -> 3 -> 1
    """
    heads, lengths = concrete(heads, lengths)
    bad = np.argwhere(~_is_tree(np, heads, lengths))
    if len(bad):
        index = tuple(bad[0].tolist())
        sentence = heads[index][: lengths[index]].tolist()
        where = f"sentence {', '.join(map(str, index))}: " if index else ""
        raise ValueError(f"{where}heads {sentence} are no tree: {_problem(sentence)}")


def check_trees_unless_traced(heads: ArrayLike, lengths: ArrayLike | None = None) -> None:
    """`check_trees` where the heads are known, not while a program is being traced."""
    if not any(isinstance(array, jax.core.Tracer) for array in (heads, lengths)):
        check_trees(heads, lengths)


def _problem(heads: Sequence[int]) -> str:
    for word, head in enumerate(heads, start=1):
        if not 0 <= head <= len(heads):
            return f"word {word} has head {head}, expected one of 0 (the root) to {len(heads)}"
        if head == word:
            return f"word {word} is its own head"
    cycle = find_cycle(heads)
    return f"from word to head one goes round in {' -> '.join(map(str, [*cycle, cycle[0]]))}"


def find_cycle(heads: Sequence[int]) -> list[int]:
    """The words of a cycle in one sentence's heads (all in 0..n), from dependent to head; or nothing.

    Example:
        >>> find_cycle([2, 0, 2]), find_cycle([2, 3, 1])
        ([], [1, 2, 3])
    """
    safe = {0}
    for start in range(1, len(heads) + 1):
        path: list[int] = []
        word = start
        while word not in safe and word not in path:
            path.append(word)
            word = heads[word - 1]
        if word not in safe:
            return path[path.index(word) :]
        safe.update(path)
    return []


def all_trees(n: int, single_root: bool = False) -> NDArray[np.int32]:
    """All dependency trees of n words, in lexicographic order: int32 `[trees, n]`.

    There are (n+1)^(n-1) of them, n^(n-1) with `single_root`.

    Raises:
        ValueError: n < 1, or more words than `LARGEST`.

    Example:
        >>> all_trees(2).tolist()
        [[0, 0], [0, 1], [2, 0]]
    """
    if not 1 <= n <= LARGEST:
        many = f" ({n ** (n - 1) if single_root else (n + 1) ** (n - 1)} trees)" if n > 0 else ""
        raise ValueError(f"all_trees lists the trees of 1 to {LARGEST} words, not of {n}{many}")
    options = [[head for head in range(n + 1) if head != word] for word in range(1, n + 1)]
    heads = np.stack(np.meshgrid(*options, indexing="ij"), axis=-1).reshape(-1, n).astype(np.int32)
    return heads[_is_tree(np, *concrete(heads, None), single_root)]


def _traced(heads: Any, lengths: Any) -> tuple[jax.Array, jax.Array]:
    return _checked(jnp, heads, lengths)


def concrete(heads: Any, lengths: Any) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    heads, lengths = _checked(np, heads, lengths)
    if lengths.size and not (lengths.min() >= 0 and lengths.max() <= heads.shape[-1]):
        raise ValueError(f"lengths go from {lengths.min()} to {lengths.max()}, expected 0 to {heads.shape[-1]} words")
    return heads, lengths


def _checked(xp: Any, heads: Any, lengths: Any) -> tuple[Any, Any]:
    """Heads and lengths as arrays of numpy or jax.numpy."""
    heads = xp.asarray(heads)
    if not heads.ndim:
        raise ValueError(f"heads are one number, {heads}: expected [*batch, n], one head a word")
    lengths = xp.full(heads.shape[:-1], heads.shape[-1]) if lengths is None else xp.asarray(lengths)
    for name, array in {"heads": heads, "lengths": lengths}.items():
        if not np.issubdtype(array.dtype, np.integer):
            raise TypeError(f"{name} must be integers, not {array.dtype}")
    if lengths.shape != heads.shape[:-1]:
        raise ValueError(
            f"heads {heads.shape} and lengths {lengths.shape} do not fit: expected [*batch, n] and [*batch]"
        )
    return heads, lengths


def is_word_of(heads: Any, lengths: Any) -> Any:
    return np.arange(heads.shape[-1]) < lengths[..., None]

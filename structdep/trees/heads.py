"""Heads and arcs of trees: one from the other, checks, and the list of all trees of few words."""

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
    """The arcs of a tree, from its heads (a JAX function).

    Args:
        heads: int `[*batch, n]`; a head outside of 0..n gives no arc.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.

    Returns:
        bool `[*batch, n+1, n+1]`, indexed by head and dependent.

    Raises:
        TypeError, ValueError: heads or lengths of a wrong dtype or shape.

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
    """The heads of a tree, from its arcs (a JAX function).

    Args:
        arcs: `[*batch, n+1, n+1]`, indexed by head and dependent, not 0 for each arc. Of several heads of a word, the
            first is taken.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.

    Returns:
        int32 `[*batch, n]`: 0 is the root, and padding; -1 for a word without a head.

    Raises:
        TypeError, ValueError: arcs or lengths of a wrong dtype or shape.

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
    """Whether heads are a tree: whether each word's chain of heads ends at the root (a JAX function).

    Args:
        heads: int `[*batch, n]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        single_root: whether exactly one word must have the head 0.

    Returns:
        bool `[*batch]`.

    Raises:
        TypeError, ValueError: heads or lengths of a wrong dtype or shape.

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
    """Raise an error unless all heads are trees.

    Args:
        heads: int `[*batch, n]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.

    Raises:
        TypeError: heads or lengths that are not integers.
        ValueError: shapes that do not fit, lengths out of range, or no tree: the message has the sentence, its heads,
            and what is wrong.

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
    """A cycle in the heads of a sentence.

    Args:
        heads: the heads of one sentence, each in 0..n.

    Returns:
        The words of a cycle, from dependent to head; empty if there is none.

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
    """All dependency trees of n words, in lexicographic order: (n+1)^(n-1) trees, or n^(n-1) with `single_root`.

    Args:
        n: the number of words, 1 to 7.
        single_root: whether exactly one word depends on the root.

    Returns:
        int32 `[trees, n]`.

    Raises:
        ValueError: n is not in 1..7.

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
        if array.size and not np.issubdtype(array.dtype, np.integer):
            raise TypeError(f"{name} must be integers, not {array.dtype}")
    heads, lengths = map(_wide, (heads, lengths))
    if lengths.shape != heads.shape[:-1]:
        raise ValueError(
            f"heads {heads.shape} and lengths {lengths.shape} do not fit: expected [*batch, n] and [*batch]"
        )
    return heads, lengths


def _wide(numbers: Any) -> Any:
    """Integers of 32 bits or more: numbers of words may not fit fewer. An empty list is of floats."""
    return numbers.astype(np.int32) if numbers.dtype.itemsize < 4 or not numbers.size else numbers


def is_word_of(heads: Any, lengths: Any) -> Any:
    return np.arange(heads.shape[-1]) < lengths[..., None]

"""Crossing arcs, projective trees, 1-Endpoint-Crossing trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structdep.trees.heads import check_trees, concrete, is_word_of


def crossing_arcs(heads: ArrayLike, lengths: ArrayLike | None = None) -> NDArray[np.bool_]:
    """For each word, whether the arc from its head crosses another arc; arcs from the root count.

    Args:
        heads: int `[*batch, n]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.

    Returns:
        bool `[*batch, n]`; False in padding.

    Raises:
        TypeError, ValueError: heads or lengths of a wrong dtype or shape.

    Example:
        >>> crossing_arcs([3, 4, 0, 3]).tolist()
        [True, True, True, False]
    """
    return np.asarray(_crossings(*concrete(heads, lengths)).any(-1))


def is_projective(heads: ArrayLike, lengths: ArrayLike | None = None) -> NDArray[np.bool_]:
    """Whether no two arcs of a tree cross, arcs from the root included.

    Args:
        heads: int `[*batch, n]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.

    Returns:
        bool `[*batch]`.

    Raises:
        TypeError, ValueError: heads or lengths of a wrong dtype or shape.

    Example:
        >>> is_projective([[2, 0, 2], [3, 0, 2]]).tolist()
        [True, False]
    """
    return np.asarray(~crossing_arcs(heads, lengths).any(-1))


def is_one_endpoint_crossing(heads: ArrayLike, lengths: ArrayLike | None = None) -> NDArray[np.bool_]:
    """Whether a tree is 1-Endpoint-Crossing: for each arc, all arcs that cross it share an endpoint.

    Args:
        heads: int `[*batch, n]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.

    Returns:
        bool `[*batch]`.

    Raises:
        TypeError, ValueError: heads or lengths of a wrong dtype or shape.

    References:
        Pitler, Kannan and Marcus 2013, Finding optimal 1-endpoint-crossing trees.

    Example:
        >>> is_one_endpoint_crossing([[0, 0, 0, 1, 1], [0, 0, 0, 1, 2]]).tolist()
        [True, False]
    """
    heads, lengths = concrete(heads, lengths)
    crossings = _crossings(heads, lengths).astype(np.float32)
    nodes = np.arange(heads.shape[-1] + 1)
    touches = (heads[..., None] == nodes) | (nodes[1:, None] == nodes)
    shared = crossings @ touches.astype(np.float32) == crossings.sum(-1, keepdims=True)
    return np.asarray(shared.any(-1).all(-1))


def projective_order(heads: ArrayLike) -> NDArray[np.int32]:
    """The words of a tree in an order in which the tree is projective: the in-order traversal.

    Args:
        heads: the heads of one sentence, int `[n]`.

    Returns:
        The numbers of the words, int32 `[n]`.

    Raises:
        TypeError, ValueError: heads of several sentences, or that are no tree.

    References:
        Nivre 2009, Non-projective dependency parsing in expected linear time.

    Example:
        >>> projective_order([3, 4, 0, 3]).tolist()  # 2 stands beside its head, 4
        [1, 3, 2, 4]
    """
    heads, _ = concrete(heads, None)
    if heads.ndim != 1:
        raise ValueError(f"projective_order takes the heads of one sentence, [n], not {heads.shape}")
    check_trees(heads)
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads.tolist(), start=1):
        dependents[head].append(word)
    order: list[int] = []
    stack = [(0, False)]
    while stack:
        node, left_is_done = stack.pop()
        if left_is_done:
            order.append(node)
        else:
            inorder = sorted([(d, False) for d in dependents[node]] + [(node, True)])
            stack.extend(reversed(inorder))
    return np.array(order[1:], np.int32)


def _crossings(heads: NDArray[np.integer], lengths: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether the arcs into two words cross: `[*batch, n, n]`."""
    words = np.arange(1, heads.shape[-1] + 1)
    left, right = np.minimum(heads, words), np.maximum(heads, words)
    starts_inside = (left[..., :, None] < left[..., None, :]) & (left[..., None, :] < right[..., :, None])
    overlap = starts_inside & (right[..., :, None] < right[..., None, :])
    is_word = is_word_of(heads, lengths)
    return (overlap | overlap.swapaxes(-1, -2)) & is_word[..., :, None] & is_word[..., None, :]

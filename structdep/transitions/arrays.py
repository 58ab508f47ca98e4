"""What numpy and JAX do by different functions."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
"""An array of numpy or of JAX."""


def inverse(index: Array, size: Array) -> Array:
    """Where each number stands among the first `size` entries of a row, -1 where it does not: int32 `[*batch, m]`.

    The numbers of `index`, int `[*batch, m]`, are below m - 1.

    Example:
        >>> inverse(np.array([2, 0, 1, 0]), np.array(2))
        array([ 1, -1,  0, -1])
    """
    xp = index.__array_namespace__()
    places = xp.broadcast_to(xp.arange(index.shape[-1], dtype=xp.int32), index.shape)
    last = index.shape[-1] - 1
    index = xp.where(places < size[..., None], index, last)
    found = xp.full_like(index, -1)
    if xp is np:
        np.put_along_axis(found, index, places, axis=-1)
    else:
        found = xp.put_along_axis(found, index, places, axis=-1, inplace=False)
    return xp.where(places == last, -1, found)


def counts(values: Array, bins: int) -> Array:
    """How often a row holds each of the numbers below `bins`: int `[*batch, bins]` from `[*batch, m]`.

    Example:
        >>> counts(np.array([[1, 1, 0], [2, 2, 2]]), 3)
        array([[1, 2, 0],
               [0, 0, 3]])
    """
    xp = values.__array_namespace__()
    rows = values.reshape(-1, values.shape[-1])
    flat = (rows + bins * xp.arange(len(rows))[:, None]).ravel()
    size = bins * len(rows)
    found = np.bincount(flat, minlength=size) if xp is np else xp.bincount(flat, length=size)
    return found.reshape(*values.shape[:-1], bins)

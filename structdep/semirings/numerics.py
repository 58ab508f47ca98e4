"""Sums and maxima that XLA compiles into vector code on CPUs.

XLA makes vector code of a reduction where its loop is short, and its operation is none for which it calls a library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import jax
import jax.numpy as jnp
from jax import lax

WINDOW = 16
"""Rows in one loop."""

Operation = Callable[[jax.Array, jax.Array], jax.Array]


def greatest(x: jax.Array, axes: int | Sequence[int]) -> jax.Array:
    """The greatest element along some axes."""
    return _reduced(x, axes, -jnp.inf, lambda a, b: jnp.where(a > b, a, b))


def total(x: jax.Array, axes: int | Sequence[int]) -> jax.Array:
    """The sum along some axes."""
    return _reduced(x, axes, 0, lambda a, b: jnp.where(b == 0, a, a + b))


def _reduced(x: jax.Array, axes: int | Sequence[int], zero: float, operation: Operation) -> jax.Array:
    axes = [axes] if isinstance(axes, int) else axes
    start = jnp.array(zero, x.dtype)
    for axis in sorted((axis % x.ndim for axis in axes), reverse=True):
        starts = range(0, max(x.shape[axis], 1), WINDOW)
        rows = [lax.slice_in_dim(x, i, min(i + WINDOW, x.shape[axis]), axis=axis) for i in starts]
        x = reduce(operation, [lax.reduce(own, start, operation, (axis,)) for own in rows])
    return x

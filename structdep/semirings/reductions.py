"""Sums as fast as XLA can compute them on CPUs.

XLA hands the sums of JAX to a library, which takes up to 50 times as long as a loop where the result is large.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import lax

T = TypeVar("T")

LARGE = 1 << 14
"""Sums of more cells than this are computed in loops; the library is up to four times as fast at small ones."""


def total(a: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    """The sum along some axes."""
    cells = prod(size for axis, size in enumerate(a.shape) if axis not in axes)
    return _total(a, axes) if axes and cells > LARGE else jnp.sum(a, axes)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _total(a: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    return lax.reduce(a, jnp.zeros((), a.dtype), lambda x, y: jnp.where(y == 0, x, x + y), axes)


@_total.defjvp
def _(axes: tuple[int, ...], primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    return _total(*primals, axes), jnp.sum(*tangents, axes)


def stored(values: T) -> T:
    """The values, stored: XLA does not compute them anew where they are read."""
    result: T = lax.optimization_barrier(values)  # type: ignore[no-untyped-call]
    return result

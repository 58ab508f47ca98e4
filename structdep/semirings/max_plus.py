"""The best derivation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import ClassVar, final

import jax
import jax.numpy as jnp
from jax import lax

from structdep.semirings.base import Semiring, semiring


@final
@semiring
class MaxPlus(Semiring):
    """Max-plus: the score of the best tree; its gradient is exactly one best tree, the first found among ties.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.MaxPlus().sum(jnp.array([1.0, 3.0]), 0)
        Array(3., dtype=float32)
    """

    idempotent: ClassVar[bool] = True

    def sum(self, a: jax.Array, axis: int | tuple[int, ...]) -> jax.Array:
        return _greatest(a, (axis,) if isinstance(axis, int) else axis)

    def plus(self, values: Sequence[jax.Array]) -> jax.Array:
        return reduce(lambda a, b: jnp.where(a >= b, a, b), values)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _greatest(a: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    """The greatest element; its derivative is that of the first among equals.

    XLA would call a library for a reduction by `jnp.maximum`, which takes up to twice as long on CPUs.
    """
    return lax.reduce(a, jnp.array(-jnp.inf, a.dtype), lambda x, y: jnp.where(x > y, x, y), axes)


@_greatest.defjvp
def _(axes: tuple[int, ...], primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    def rows(a: jax.Array) -> jax.Array:
        a = jnp.moveaxis(a, axes, range(len(axes)))
        return a.reshape(-1, *a.shape[len(axes) :])

    first = jnp.argmax(rows(*primals), axis=0, keepdims=True)
    return _greatest(*primals, axes), jnp.take_along_axis(rows(*tangents), first, axis=0)[0]

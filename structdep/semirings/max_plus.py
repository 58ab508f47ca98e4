"""The score of the best derivation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import ClassVar, final

import jax
import jax.numpy as jnp

from structdep.semirings.base import Semiring, semiring


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def greatest(a: jax.Array, axes: tuple[int, ...]) -> jax.Array:
    """The greatest element along some axes, NaN if there is one; its derivative is that of the first among equals."""
    return jnp.max(a, axes)


@greatest.defjvp
def _(axes: tuple[int, ...], primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    def rows(a: jax.Array) -> jax.Array:
        a = jnp.moveaxis(a, axes, range(len(axes)))
        return a.reshape(-1, *a.shape[len(axes) :])

    first = jnp.argmax(rows(*primals), axis=0, keepdims=True)
    return greatest(*primals, axes), jnp.take_along_axis(rows(*tangents), first, axis=0)[0]


@final
@semiring
class MaxPlus(Semiring):
    """The score of the best derivation. Its gradient is 1 at the scores that one best derivation uses, else 0.

    Example:
        >>> import jax, jax.numpy as jnp, structdep as sd
        >>> sd.MaxPlus().sum(jnp.array([1.0, 3.0]), 0)
        Array(3., dtype=float32)
        >>> jax.grad(sd.eisner)(jnp.zeros((3, 3)).at[2, 1].set(1.0))
        Array([[0., 0., 1.],
               [0., 0., 0.],
               [0., 1., 0.]], dtype=float32)
    """

    idempotent: ClassVar[bool] = True

    def sum(self, a: jax.Array, axis: int | tuple[int, ...]) -> jax.Array:
        """The greatest element, NaN if there is one; its derivative is that of the first among equals."""
        axes = (axis,) if isinstance(axis, int) else axis
        return greatest(a, tuple(one % a.ndim for one in axes))

    def plus(self, values: Sequence[jax.Array]) -> jax.Array:
        return reduce(lambda a, b: jnp.where(a >= b, a, b), values)

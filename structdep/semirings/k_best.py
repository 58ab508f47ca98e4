"""The k best derivations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from structdep.semirings.base import Semiring, semiring


@semiring
class KBest(Semiring):
    """The scores of the k best derivations, `[*batch, k]`, from the best down; -inf where there are fewer.

    The gradient of each is its derivation. In an ambiguous system a tree comes once for each of its derivations.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.eisner(jnp.arange(9.0).reshape(3, 3), semiring=sd.KBest(4))
        Array([  9.,   6.,   3., -inf], dtype=float32)
    """

    k: int = field(metadata={"static": True})
    additive: ClassVar[bool] = False

    def zeros(self, shape: Sequence[int], dtype: Any) -> jax.Array:
        return jnp.full((*shape, self.k), -jnp.inf, dtype)

    def ones(self, shape: Sequence[int], dtype: Any) -> jax.Array:
        return self.zeros(shape, dtype).at[..., 0].set(0)

    def lift(self, name: str, table: jax.Array) -> jax.Array:
        return jnp.pad(table[..., None], [(0, 0)] * table.ndim + [(0, self.k - 1)], constant_values=-jnp.inf)

    def times(self, a: jax.Array, b: jax.Array) -> jax.Array:
        """The best sums of one of each; the i-th of one and the j-th of the other have i·j - 1 better ones."""
        pairs = [(i, j) for i in range(self.k) for j in range(self.k) if (i + 1) * (j + 1) <= self.k]
        return self._best(jnp.stack([a[..., i] + b[..., j] for i, j in pairs], axis=-1))

    def sum(self, a: jax.Array, axis: int | tuple[int, ...]) -> jax.Array:
        axes = tuple(x % (a.ndim - 1) for x in ((axis,) if isinstance(axis, int) else axis))
        moved = jnp.moveaxis(a, axes, range(-1 - len(axes), -1))
        return self._best(moved.reshape(*moved.shape[: a.ndim - 1 - len(axes)], -1))

    def _best(self, values: jax.Array) -> jax.Array:
        return jax.lax.top_k(values, self.k)[0]

"""What is known of a tree before it is parsed."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Constraints:
    """Known heads, forbidden arcs, or both: every query then is about the trees that obey them.

    Args:
        heads: int `[*batch, n]`, the head of each word; -1 (any negative number) where it is not known.
        forbidden: bool `[*batch, n+1, n+1]`, True where there must be no arc.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.argmax(sd.charts.eisner(), jnp.zeros((4, 4)), constraints=sd.Constraints(heads=jnp.array([3, -1, -1])))
        Array([3, 3, 0], dtype=int32)
    """

    heads: ArrayLike | None = None
    forbidden: ArrayLike | None = None

    def allowed(self, shape: tuple[int, ...]) -> jax.Array:
        """Whether each arc may be, for arc scores of this shape.

        Raises:
            TypeError: heads that are no integers, forbidden arcs that are no booleans.
            ValueError: shapes that do not fit.
        """
        allowed = jnp.ones(shape, bool)
        if self.heads is not None:
            heads = jnp.asarray(self.heads)
            if not jnp.issubdtype(heads.dtype, jnp.integer):
                raise TypeError(f"heads must be integers, -1 where not known, not {heads.dtype}")
            _check_shape("heads", heads, (*shape[:-2], shape[-1] - 1))
            known = jnp.pad(heads, [(0, 0)] * (heads.ndim - 1) + [(1, 0)], constant_values=-1)[..., None, :]
            allowed &= (known < 0) | (known == jnp.arange(shape[-1])[:, None])
        if self.forbidden is not None:
            forbidden = jnp.asarray(self.forbidden)
            if forbidden.dtype != bool:
                raise TypeError(f"forbidden must be booleans, one an arc, not {forbidden.dtype}")
            _check_shape("forbidden", forbidden, shape)
            allowed &= ~forbidden
        return allowed


def _check_shape(name: str, array: jax.Array, expected: tuple[int, ...]) -> None:
    if array.shape != expected:
        raise ValueError(f"{name} have shape {array.shape}, expected {expected}")

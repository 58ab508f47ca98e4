"""Known heads and forbidden arcs of a sentence."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Constraints:
    """Known heads, forbidden arcs, or both: queries then consider only the trees that obey them.

    Args:
        heads: int `[*batch, n]`, the head of each word; negative if unknown.
        forbidden: bool `[*batch, n+1, n+1]`, indexed by head and dependent; True forbids the arc.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.argmax(sd.charts.eisner(), jnp.zeros((4, 4)), constraints=sd.Constraints(heads=jnp.array([3, -1, -1])))
        Array([3, 3, 0], dtype=int32)
    """

    heads: ArrayLike | None = None
    forbidden: ArrayLike | None = None

    def allowed(self, shape: tuple[int, ...]) -> jax.Array:
        """Which arcs the constraints allow.

        Args:
            shape: the shape of arc scores, `(*batch, n+1, n+1)`.

        Returns:
            bool, of this shape, indexed by head and dependent.

        Raises:
            TypeError: `heads` that are not integers, or `forbidden` that is not bool.
            ValueError: `heads` or `forbidden` that do not have the shape of the scores.
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

"""Max-plus with the Hamming cost: what a hinge loss maximizes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from structdep.semirings.base import Semiring, semiring
from structdep.semirings.max_plus import MaxPlus


@semiring
class CostAugmented(MaxPlus):
    """The best of score + weight · (number of words whose head differs from `gold_heads`, int `[*batch, n]`).

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.inside(sd.charts.eisner(), jnp.zeros((3, 3)), semiring=sd.CostAugmented(jnp.array([0, 1])))
        Array(2., dtype=float32)
    """

    gold_heads: ArrayLike
    weight: float | jax.Array = 1.0

    def lift(self, name: str, table: jax.Array) -> jax.Array:
        if name != "arc":
            return table
        nodes = table.shape[-1]
        gold = jnp.asarray(self.gold_heads)
        if not jnp.issubdtype(gold.dtype, jnp.integer):
            raise TypeError(f"gold_heads must be integers (the head of each word), not {gold.dtype}")
        if gold.shape[:-1] != table.shape[:-2] or nodes - gold.shape[-1] not in (1, 2):
            raise ValueError(
                f"gold_heads have shape {gold.shape}, expected [*batch, n] for arc scores of shape {table.shape} "
                "(with n+1 or n+2 nodes)"
            )
        gold = jnp.pad(gold, [(0, 0)] * (gold.ndim - 1) + [(1, nodes - 1 - gold.shape[-1])])
        wrong = jnp.arange(nodes)[:, None] != gold[..., None, :]
        return table + self.weight * wrong

    def chart(self) -> Semiring:
        return MaxPlus()

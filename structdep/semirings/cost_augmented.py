"""Scores with the Hamming cost of a tree, for margin losses."""

from __future__ import annotations

from typing import Any, final

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from structdep.semirings.base import Semiring, Value, instance, semiring
from structdep.semirings.max_plus import MaxPlus


@final
@semiring
class CostAugmented(Semiring):
    """Another semiring, over scores to which each wrong head adds a cost.

    The score of a tree becomes score + weight · (number of words whose head differs from `gold_heads`). With `MaxPlus`,
    the best tree is the one that a hinge loss compares with the gold tree; with `LogSum`, the value is the first term
    of the softmax-margin loss.

    Args:
        gold_heads: int `[*batch, n]`, the gold head of each word.
        weight: the cost of a wrong head, in units of the scores: a number, or one for each sentence, `[*batch]`.
        base: the semiring, a class or an instance.

    Raises:
        TypeError, ValueError: by a query, if `gold_heads` are not integers, or `gold_heads` or `weight` do not have
            the shape of the scores' heads or batch.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.inside(sd.charts.eisner(), jnp.zeros((3, 3)), semiring=sd.CostAugmented(jnp.array([0, 1])))
        Array(2., dtype=float32)
        >>> sd.argmax(sd.charts.eisner(), jnp.zeros((3, 3)), semiring=sd.CostAugmented(jnp.array([0, 1])))
        Array([2, 0], dtype=int32)
    """

    gold_heads: ArrayLike
    weight: float | jax.Array = 1.0
    base: Semiring | type[Semiring] = MaxPlus()

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", instance(self.base))

    @property
    def idempotent(self) -> bool:  # type: ignore[override]
        """Whether a sum is one of its terms: that of `base`."""
        return self.chart().idempotent

    @property
    def names(self) -> frozenset[str]:
        """See `Semiring.names`."""
        return instance(self.base).names

    def lift(self, name: str, table: jax.Array) -> Value:
        return instance(self.base).lift(name, self._with_cost(table) if name == "arc" else table)

    def chart(self) -> Semiring:
        return instance(self.base).chart()

    def randomness(self) -> Any:
        return instance(self.base).randomness()

    def lower(self, value: Value) -> Value:
        return instance(self.base).lower(value)

    def _with_cost(self, table: jax.Array) -> jax.Array:
        nodes = table.shape[-1]
        gold = jnp.asarray(self.gold_heads)
        if not jnp.issubdtype(gold.dtype, jnp.integer):
            raise TypeError(f"gold_heads must be integers (the head of each word), not {gold.dtype}")
        if gold.shape != (*table.shape[:-2], nodes - 1):
            raise ValueError(
                f"gold_heads have shape {gold.shape}, expected [*batch, n] for arc scores of shape {table.shape}"
            )
        gold = jnp.pad(gold, [(0, 0)] * (gold.ndim - 1) + [(1, 0)])
        wrong = jnp.arange(nodes)[:, None] != gold[..., None, :]
        weight = jnp.asarray(self.weight)
        if weight.shape not in ((), table.shape[:-2]):
            raise ValueError(
                f"weight has shape {weight.shape}, expected a number, or one for each sentence, {table.shape[:-2]}"
            )
        return table + weight[..., None, None] * wrong

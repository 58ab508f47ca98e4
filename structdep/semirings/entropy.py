"""Entropies, without cancellation where scores are large."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, final

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient

from structdep.semirings.base import Semiring, semiring


class Entropies(NamedTuple):
    """The result of `Entropy`.

    Args:
        log_partition: log Σ exp(score) over derivations, float `[*batch]`; -inf if there is none.
        entropy: -Σ p log p over derivations with p ∝ exp(score), float `[*batch]`, in nats; 0 if there is none.
    """

    log_partition: jax.Array
    entropy: jax.Array


@final
@semiring
class Entropy(Semiring):
    """The log-partition and the entropy of derivations: the result is `Entropies(log_partition, entropy)`.

    `TreeDistribution.entropy` of a chart is computed from marginals instead, which compiles faster.

    Products add the entropies of independent parts; sums add the entropy of the choice between alternatives. No large
    numbers are subtracted, as they are in log Z - E[score].

    References:
        Cortes, Mohri, Rastogi and Riley 2008, On the computation of the relative entropy of probabilistic automata.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> found = sd.eisner(jnp.zeros((3, 3)), semiring=sd.Entropy)
        >>> jnp.exp(found.entropy).round(4)
        Array(3., dtype=float32)
    """

    zero: ClassVar[Any] = Entropies(-jnp.inf, 0.0)  # type: ignore[arg-type]

    def ones(self, shape: Sequence[int], dtype: Any) -> Entropies:
        return Entropies(jnp.zeros(shape, dtype), jnp.zeros(shape, dtype))

    def lift(self, name: str, table: jax.Array) -> Entropies:
        return Entropies(table, jnp.zeros_like(table))

    def times(self, a: Entropies, b: Entropies) -> Entropies:
        return Entropies(a.log_partition + b.log_partition, a.entropy + b.entropy)

    def sum(self, a: Entropies, axis: int | tuple[int, ...]) -> Entropies:
        top = jnp.max(a.log_partition, axis, keepdims=True)
        top = stop_gradient(jnp.where(jnp.isneginf(top), 0, top))
        possible = ~jnp.isneginf(a.log_partition)
        relative = jnp.where(possible, a.log_partition - top, 0)
        weights = jnp.where(possible, jnp.exp(relative), 0)
        total = jnp.sum(weights, axis)
        exists = total > 0
        total = jnp.where(exists, total, 1)
        # Divided by their own total, the weights do not have the rounding error of a large log-partition.
        entropy = jnp.log(total) + jnp.sum(weights * (a.entropy - relative), axis) / total
        return Entropies(jnp.where(exists, jnp.log(total) + jnp.squeeze(top, axis), -jnp.inf), entropy)

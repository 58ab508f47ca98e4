"""Moments of additive quantities under p(derivation) ∝ exp(score): risk, entropy, any feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, final

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from structdep.semirings.base import Semiring, semiring
from structdep.semirings.log_sum import LogSum


class Moments(NamedTuple):
    """Log-partition, mean and variance, `[*batch]`."""

    log_partition: jax.Array
    mean: jax.Array
    variance: jax.Array


@final
@semiring
class Expectation(Semiring):
    """Mean and variance of Σ `quantities` over the scores that a derivation uses (Eisner 2002; Li, Eisner 2009).

    `quantities` are tables, named and shaped as the scores are, finite where scores are; absent ones are 0. Values are
    log-weight, mean and variance: independent parts add up, alternatives mix.

    Raises:
        TypeError, ValueError: by what computes with it, if quantities have no names, or other names or shapes.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> roots = jnp.zeros((3, 3)).at[0].set(1.0)
        >>> moments = sd.eisner(jnp.zeros((3, 3)), semiring=sd.Expectation({"arc": roots}))
        >>> [round(float(x), 4) for x in moments[1:]]
        [1.3333, 0.2222]
    """

    quantities: Mapping[str, ArrayLike] | None
    zero: ClassVar[Any] = Moments(-jnp.inf, 0.0, 0.0)  # type: ignore[arg-type]

    def ones(self, shape: Sequence[int], dtype: Any) -> Moments:
        return Moments(*(jnp.zeros(shape, dtype) for _ in Moments._fields))

    @property
    def names(self) -> frozenset[str]:
        if not isinstance(self.quantities, Mapping | None):
            raise TypeError(
                f'quantities are tables by name, such as {{"arc": ..}}, not {type(self.quantities).__name__}'
            )
        return frozenset(self.quantities or ())

    def lift(self, name: str, table: jax.Array) -> Moments:
        quantity = jnp.asarray((self.quantities or {}).get(name, 0.0), table.dtype)
        sizes = list(zip(quantity.shape[::-1], table.shape[::-1], strict=False))[::-1]
        # Where a system looks at a sentinel, tables have one node more than those of arcs that are given.
        if quantity.ndim > table.ndim or any(own not in (1, full, full - 1) for own, full in sizes):
            raise ValueError(f"quantities {name!r} have shape {quantity.shape}, expected that of the scores")
        if sizes:
            quantity = jnp.pad(quantity, [(0, 0 if own == 1 else full - own) for own, full in sizes])
        quantity = jnp.where(jnp.isneginf(table), 0, jnp.broadcast_to(quantity, table.shape))
        return Moments(table, quantity, jnp.zeros_like(table))

    def chart(self) -> Semiring:
        return Expectation(None)

    def times(self, a: Moments, b: Moments) -> Moments:
        return Moments(*(x + y for x, y in zip(a, b, strict=True)))

    def sum(self, a: Moments, axis: int | tuple[int, ...]) -> Moments:
        total = LogSum().sum(a.log_partition, axis)
        top = jnp.where(jnp.isneginf(total), 0, total)
        weights = jnp.exp(a.log_partition - jnp.expand_dims(top, axis))
        mean = jnp.sum(weights * a.mean, axis)
        spread = a.variance + (a.mean - jnp.expand_dims(mean, axis)) ** 2
        return Moments(total, mean, jnp.sum(weights * spread, axis))

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
    """The result of `Expectation`.

    Args:
        log_partition: log Σ exp(score) over derivations, float `[*batch]`; -inf if there is none.
        mean: the mean of the quantity, float `[*batch]`.
        variance: the variance of the quantity, float `[*batch]`.
    """

    log_partition: jax.Array
    mean: jax.Array
    variance: jax.Array


@final
@semiring
class Expectation(Semiring):
    """The mean and the variance of an additive quantity, under p(derivation) ∝ exp(score).

    The quantity of a derivation is the sum of `quantities` over the scores that the derivation uses, such as its number
    of root arcs. The result is `Moments(log_partition, mean, variance)`.

    Args:
        quantities: a mapping from names of scores to tables, each of the shape of the score's table (axes of size 1 are
            broadcast). They are finite wherever scores are finite. Absent tables count as 0.

    Raises:
        TypeError, ValueError: by a query, if quantities are no mapping, or have names or shapes that the scores do not
            have.

    References:
        Eisner 2002, Parameter estimation for probabilistic finite-state transducers. Li and Eisner 2009, First- and
        second-order expectation semirings.

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
        """See `Semiring.names`."""
        if not isinstance(self.quantities, Mapping | None):
            raise TypeError(
                f'quantities are tables by name, such as {{"arc": ..}}, not {type(self.quantities).__name__}'
            )
        return frozenset(self.quantities or ())

    def lift(self, name: str, table: jax.Array) -> Moments:
        quantity = jnp.asarray((self.quantities or {}).get(name, 0.0), table.dtype)
        sizes = zip(quantity.shape[::-1], table.shape[::-1], strict=False)
        if quantity.ndim > table.ndim or any(own not in (1, full) for own, full in sizes):
            raise ValueError(
                f"quantities {name!r} have shape {quantity.shape}, expected that of the scores, {table.shape}"
            )
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

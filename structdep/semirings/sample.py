"""One derivation, drawn at random: the gradient is its arcs."""

from __future__ import annotations

from typing import final

import jax

from structdep.semirings.base import Semiring, semiring
from structdep.semirings.log_sum import LogSum


@final
@semiring
class Sample(Semiring):
    """The log-partition; its gradient is one derivation drawn with p(derivation) ∝ exp(score), exactly, by `key`.

    Example:
        >>> import jax, jax.numpy as jnp, structdep as sd
        >>> drawn = jax.grad(sd.eisner, argnums=0)(jnp.zeros((3, 3)), None, sd.Sample(jax.random.key(0)))
        >>> drawn.sum(0)
        Array([0., 1., 1.], dtype=float32)
    """

    key: jax.Array

    def chart(self) -> Semiring:
        return LogSum()

    def randomness(self) -> jax.Array | None:
        return self.key

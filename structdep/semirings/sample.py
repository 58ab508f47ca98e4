"""One random derivation, as a gradient: the tracebacks of the engines draw it."""

from __future__ import annotations

from typing import final

import jax

from structdep.semirings.base import Semiring, semiring
from structdep.semirings.log_sum import LogSum


@final
@semiring
class Sample(Semiring):
    """The log-partition, whose gradient is a random derivation: 1 at the scores that it uses, else 0.

    The derivation is drawn exactly, with p(derivation) ∝ exp(score). `structdep.sample` returns its heads.

    Args:
        key: one key of `jax.random`, for all sentences.

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

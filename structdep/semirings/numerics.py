"""Reductions and an exponential that XLA compiles into one vectorized loop on CPUs.

jaxlib hands `jnp.sum` and `jnp.max` over many elements to a library that allocates its intermediate results, and calls a
scalar `exp`: in a chart, two to four times slower than the loops that these functions become. Elsewhere they are `jnp`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

POWERS_OF_TWO = (1.0, 0.693147206, 0.240226469, 0.0555032878, 0.00961848898, 0.00133999316, 0.000153458079)
"""Least greatest relative error (2e-9) of a polynomial for 2^f, |f| <= 1/2, fitted by iterated weighted least squares."""


@jax.custom_jvp
def exp(x: jax.Array) -> jax.Array:
    """e^x for float32 x <= 88, to 2e-7; exactly 0 below e^-87.6, also for -inf. Other types: `jnp.exp`."""
    if x.dtype != jnp.float32:
        return jnp.exp(x)
    return lax.platform_dependent(x, cpu=_exp, default=jnp.exp)


@exp.defjvp
def _(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    value = exp(*primals)
    return value, value * tangents[0]


def _exp(x: jax.Array) -> jax.Array:
    y = jnp.maximum(x * 1.44269504, -127.0)
    whole = jnp.round(y)
    fraction = y - whole
    power = jnp.full_like(x, POWERS_OF_TWO[-1])
    for coefficient in POWERS_OF_TWO[-2::-1]:
        power = power * fraction + coefficient
    return power * lax.bitcast_convert_type((whole.astype(jnp.int32) + 127) << 23, jnp.float32)


def reduce_max(x: jax.Array, axes: Sequence[int]) -> jax.Array:
    """The greatest element along some axes."""
    return lax.reduce(x, jnp.array(-jnp.inf, x.dtype), lambda a, b: jnp.where(a > b, a, b), tuple(axes))


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def reduce_sum(x: jax.Array, axes: Sequence[int]) -> jax.Array:
    """The sum along some axes."""
    return lax.reduce(x, jnp.zeros((), x.dtype), lambda a, b: jnp.where(b == 0, a, a + b), tuple(axes))


@reduce_sum.defjvp
def _(axes: Sequence[int], primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    return reduce_sum(*primals, axes), jnp.sum(*tangents, axis=tuple(axes))


"""The peak rates of a machine in float32, measured: operations on values in registers, and bytes moved.

A rate of arithmetic is that of chains of one operation, which XLA compiles to one loop over vectors. Chains are
independent, so that the processor starts an operation before the last one ends.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import NamedTuple

import jax
import jax.numpy as jnp

from benchmarks.bounds import EXPONENTIALS, LOGARITHMS, MAXIMA, REALS
from benchmarks.measure import seconds
from structdep.batching import compiler_options

CHAINS = 8
"""Chains that are independent."""
SIZES = {"256 kB": 2**18, "8 MB": 2**23, "256 MB": 2**28}
"""The arrays that are copied, in bytes."""

Clock = Callable[[], float]
Operation = Callable[[jax.Array, jax.Array, jax.Array], jax.Array]
"""From a value of a chain and two numbers between 0 and 1 to the next value of the chain."""


def add_and_compare(x: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.where(x + b > a, x + b, a)


def multiply_and_add(x: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    return x * b + a


def add_power(x: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    """Adds a power of 2, of a sum, as a log-sum does. Errors of the power are below 1e-6."""
    exponent = x - a
    shifted = exponent + 1.5 * 2**23  # rounds to whole numbers
    rest = exponent - (shifted - 1.5 * 2**23)
    power = jnp.float32(1.326e-3)
    for factor in (9.671e-3, 5.551e-2, 2.4022e-1, 6.9315e-1, 1.0):
        power = power * rest + factor
    whole = jax.lax.bitcast_convert_type(shifted, jnp.int32) << 23
    scaled = jax.lax.bitcast_convert_type(jax.lax.bitcast_convert_type(power, jnp.int32) + whole, jnp.float32)
    return b + jnp.where(exponent > -125, scaled, 0)


def logarithm(x: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.log(x) + 2


class Kind(NamedTuple):
    """An operation, as how many it counts, and how often it is done in a chain."""

    operation: Operation
    counts: int
    depth: int


KINDS = {
    MAXIMA: Kind(add_and_compare, 2, 64),
    REALS: Kind(multiply_and_add, 2, 64),
    EXPONENTIALS: Kind(add_power, 1, 8),
    LOGARITHMS: Kind(logarithm, 1, 8),
}
"""What is measured for each rate. An exponential comes with a subtraction and an addition."""


def rate(name: str, clock: Clock = time.perf_counter) -> float:
    """The operations a second: the highest rate of some runs, as no run is faster than the machine."""
    kind = KINDS[name]
    size, repeats = (1 << 10, 100) if jax.default_backend() == "cpu" else (1 << 22, 20)
    a, b = (jax.random.uniform(key, (size,)) for key in jax.random.split(jax.random.key(0)))

    def again(_: int, y: jax.Array) -> jax.Array:
        chains = [y + 0.1 * (number + 1) for number in range(CHAINS)]
        for _ in range(kind.depth):
            chains = [kind.operation(x, a, b) for x in chains]
        return sum(chains, jnp.zeros_like(y)) / CHAINS

    done = repeats * size * CHAINS * kind.depth * kind.counts
    return done / min(_runs(partial(_loop(again, repeats), a), clock))


def bandwidth(size: int, clock: Clock = time.perf_counter) -> float:
    """Bytes a second, read and written, where an array of this size is changed in a loop."""
    repeats = max(16, 2**29 // size)
    array = jnp.zeros(size // 4)
    return repeats * 2 * size / median(_runs(partial(_loop(lambda _, y: y + 1, repeats), array), clock))


def _loop(body: Callable[[int, jax.Array], jax.Array], repeats: int) -> Callable[[jax.Array], jax.Array]:
    return jax.jit(lambda x: jax.lax.fori_loop(0, repeats, body, x), compiler_options=compiler_options())


def _runs(program: Callable[[], jax.Array], clock: Clock, rounds: int = 7) -> list[float]:
    return [seconds(program, clock) for _ in range(rounds)]

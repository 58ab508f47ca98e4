"""Sums of products, some terms at a time, in what a block of lanes has found so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from structdep.semirings import LogSum, MaxPlus, Semiring

State = Any


class Fold(Protocol):
    """`start`, then `add` any number of times, then `value`, of all rows. Values are in a `unit` of their own."""

    unit: float

    def start(self, shape: tuple[int, int], dtype: Any) -> State: ...
    def add(self, state: State, terms: Sequence[jax.Array]) -> State: ...
    def value(self, state: State) -> jax.Array: ...


class Greatest:
    """Of `MaxPlus`."""

    unit = 1.0

    def start(self, shape: tuple[int, int], dtype: Any) -> State:
        return jnp.full(shape, -jnp.inf, dtype)

    def add(self, state: State, terms: Sequence[jax.Array]) -> State:
        return reduce(jnp.maximum, terms, state)

    def value(self, state: State) -> jax.Array:
        return jnp.max(state, axis=0, keepdims=True)


class Logarithm:
    """Of `LogSum`, to base 2: the greatest so far, and the sum of powers relative to it."""

    unit = math.log(2)

    def start(self, shape: tuple[int, int], dtype: Any) -> State:
        return jnp.full(shape, np.finfo(dtype).min, dtype), jnp.zeros(shape, dtype)

    def add(self, state: State, terms: Sequence[jax.Array]) -> State:
        top, total = state
        greatest = reduce(jnp.maximum, terms, top)
        powers = [jnp.exp2(term - greatest) for term in terms]
        return greatest, reduce(jnp.add, powers, total * jnp.exp2(top - greatest))

    def value(self, state: State) -> jax.Array:
        top, total = state
        greatest = jnp.max(top, axis=0, keepdims=True)
        total = jnp.sum(total * jnp.exp2(top - greatest), axis=0, keepdims=True)
        return jnp.where(total > 0, greatest + jnp.log2(total), -jnp.inf)


def fold_of(semiring: Semiring) -> Fold | None:
    """How lanes add in this semiring, if they can."""
    folds: dict[type[Semiring], Fold] = {MaxPlus: Greatest(), LogSum: Logarithm()}
    return folds.get(type(semiring))

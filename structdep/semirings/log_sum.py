"""The log of the sum over derivations, and its gradient: marginals."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import Any

import jax
import jax.numpy as jnp

from structdep.semirings.base import Reader, Semiring, semiring
from structdep.semirings.max_plus import MaxPlus
from structdep.semirings.numerics import Stage, at_once, exp, unstack, window_sums


@semiring
class LogSum(Semiring):
    """Log-sum-exp: log Σ exp(score) over derivations; its gradient gives the marginals.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.LogSum().sum(jnp.array([0.0, 0.0]), 0)
        Array(0.6931472, dtype=float32)
    """

    def sum(self, a: jax.Array, axis: int | tuple[int, ...]) -> jax.Array:
        top = _finite(jnp.max(a, axis, keepdims=True))
        return _log(jnp.squeeze(top, axis), jnp.sum(exp(a - top), axis))

    def fold(self, read: Reader, stage: Stage = at_once) -> jax.Array:
        """All terms relative to the greatest: one exponential a term, one logarithm a value."""
        top = _finite(MaxPlus().fold(read, stage))
        parts = stage(lambda: [self._windows(*product, top) for product in read()])
        return stage(lambda: _log(top, reduce(jnp.add, [row for rows in parts for row in unstack(rows)])))

    def _windows(self, factors: Sequence[jax.Array], summed: int, top: jax.Array) -> list[jax.Array]:
        """Sums over windows of a product's summed axes, relative to `top`."""
        terms = exp(reduce(self.times, factors) - top)
        terms = terms.reshape(-1, *terms.shape[summed:])
        return window_sums(terms, 0) if summed else [terms]

    def pullback(
        self, read: Reader, value: jax.Array, cotangent: jax.Array, stage: Stage = at_once
    ) -> list[list[jax.Array]]:
        """Cotangents of the factors of a fold: a product has the weight exp(product - value), shared by its factors."""
        value = _finite(value)
        shapes = [[factor.shape for factor in factors] for factors, _ in jax.eval_shape(read)]
        weights = stage(lambda: [exp(reduce(self.times, factors) - value) * cotangent for factors, _ in read()])
        cotangents = [[weight] * len(factors) for weight, factors in zip(weights, shapes, strict=True)]
        return sum_to(cotangents, shapes, stage)


def sum_to(arrays: Any, shapes: Any, stage: Stage) -> Any:
    """Each array summed along the axes where its shape is to be 1, one axis of every array at a time."""
    leaves, structure = jax.tree.flatten(arrays)
    wanted = jax.tree.leaves(shapes, is_leaf=lambda shape: isinstance(shape, tuple))
    while True:
        axes = [
            next((a for a, size in enumerate(s) if size < x.shape[a]), None)
            for x, s in zip(leaves, wanted, strict=True)
        ]
        todo = [(number, axis) for number, axis in enumerate(axes) if axis is not None]
        if not todo:
            return jax.tree.unflatten(structure, leaves)
        sums = stage(partial(_window_sums, [leaves[number] for number, _ in todo], [axis for _, axis in todo]))
        for (number, axis), parts in zip(todo, sums, strict=True):
            leaves[number] = jnp.expand_dims(reduce(jnp.add, unstack(parts, axis)), axis)


def _window_sums(arrays: Sequence[jax.Array], axes: Sequence[int]) -> list[list[jax.Array]]:
    return [window_sums(array, axis) for array, axis in zip(arrays, axes, strict=True)]


def _finite(top: jax.Array) -> jax.Array:
    """0 in place of -inf: so that nothing is ever subtracted from -inf but something finite."""
    return jax.lax.stop_gradient(jnp.where(jnp.isneginf(top), 0, top))


def _log(top: jax.Array, total: jax.Array) -> jax.Array:
    positive = total > 0
    return jnp.where(positive, jnp.log(jnp.where(positive, total, 1)) + top, -jnp.inf)

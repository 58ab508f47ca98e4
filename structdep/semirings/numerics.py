"""Reductions and an exponential that XLA compiles into one vectorized loop on CPUs.

jaxlib hands `jnp.sum` and `jnp.max` over many elements to a library that allocates its intermediate results, and calls
a scalar `exp`: in a chart, two to four times slower than the loops that these functions become. On GPUs reductions by
windows are as fast as `jnp`'s, and `exp` is `jnp`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial, reduce
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental.xla_metadata import set_xla_metadata

Result = TypeVar("Result")

POWERS_OF_TWO = (1.0, 0.693146978, 0.240222421, 0.0555073374, 0.00967151277, 0.00132647273)
"""A polynomial for 2^f, |f| <= 1/2, exact for 0, of least greatest relative error (9e-8): by iterated least squares."""
BIASED = 1.5 * 2.0**23 + 127
"""Whole numbers w from -127 to 128 added to this have w + 127, the exponent of 2^w, in their last nine bits."""


@jax.custom_jvp
def exp(x: jax.Array) -> jax.Array:
    """e^x for float32 x <= 88, to 2e-7; exactly 0 below e^-87.6, also for -inf. Other types: `jnp.exp`."""
    return _exp(x) if x.dtype == jnp.float32 and jax.default_backend() == "cpu" else jnp.exp(x)


@exp.defjvp
def _(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    value = exp(*primals)
    return value, value * tangents[0]


@jax.jit  # traced once for each shape, where charts call it hundreds of times
def _exp(x: jax.Array) -> jax.Array:
    y = larger(jnp.full_like(x, -127.0), x * 1.44269504)
    whole = jnp.round(y)
    fraction = y - whole
    power = jnp.full_like(x, POWERS_OF_TWO[-1])
    for coefficient in POWERS_OF_TWO[-2::-1]:
        power = power * fraction + coefficient
    return power * lax.bitcast_convert_type(lax.bitcast_convert_type(whole + BIASED, jnp.int32) << 23, jnp.float32)


def larger(a: jax.Array, b: jax.Array) -> jax.Array:
    """The larger of two numbers, b where one is NaN: one instruction, where `jnp.maximum` takes three."""
    return jnp.where(a > b, a, b)


def smaller(a: jax.Array, b: jax.Array) -> jax.Array:
    """The other one."""
    return jnp.where(a > b, b, a)


@jax.custom_jvp
def log_add(a: jax.Array, b: jax.Array) -> jax.Array:
    """log(e^a + e^b); -inf where both are, with derivatives 0."""
    top = jnp.maximum(a, b)
    return top + jnp.log(1 + exp(jnp.minimum(a, b) - jnp.where(jnp.isneginf(top), 0, top)))


@log_add.defjvp
def _(primals: tuple[jax.Array, jax.Array], tangents: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
    value = log_add(*primals)
    a, b = (exp(primal - jnp.where(jnp.isneginf(value), 0, value)) for primal in primals)
    return value, a * tangents[0] + b * tangents[1]


Stage = Callable[[Callable[[], Any]], Any]
"""`stage(compute)` calls the function and has its results stored, not computed anew by each reader."""


def at_once(compute: Callable[[], Any]) -> Any:
    """The stage that leaves it to XLA."""
    return compute()


def apart(compute: Callable[[], Result]) -> Result:
    """What the function returns. On CPUs by a call that XLA does not inline, so that it does not compute it again where
    it is read, nor merges it with other work. Elsewhere XLA is left alone.
    """
    if jax.default_backend() != "cpu":
        return compute()

    def stage() -> Result:
        with _inlineable("true"):
            return compute()

    with _inlineable("false"):
        result: Result = jax.jit(stage)()
    return result


def _inlineable(value: str) -> AbstractContextManager[Any]:
    """For calls in this context, what XLA's inliner looks for."""
    return set_xla_metadata(inlineable=value)  # type: ignore[no-untyped-call]


def windows(x: jax.Array, axis: int, longest: int) -> list[tuple[jax.Array, int]]:
    """The array in pieces with an axis seen as two, of which the second, at the given place, is to be reduced.

    A reduction becomes vector code if its loop is unrolled, so only over a short axis.
    """
    size = x.shape[axis]
    rows = -(-size // longest)
    length = (
        min(range(-(-size // rows), max(longest // 2, 1) - 1, -1), key=lambda w: (size % w, -w)) if rows > 1 else size
    )
    rows = size // length
    whole = lax.slice_in_dim(x, 0, rows * length, axis=axis)
    pieces = [whole.reshape(*x.shape[:axis], rows, length, *x.shape[axis + 1 :])]
    if rows * length < size:
        rest = lax.slice_in_dim(x, rows * length, size, axis=axis)
        pieces.append(jnp.expand_dims(rest, axis))
    return [(piece, axis + 1) for piece in pieces]


def window_maxima(x: jax.Array, axis: int) -> list[jax.Array]:
    """The greatest elements of windows along an axis, which still has to be reduced by `combine`."""
    low = jnp.array(-jnp.inf, x.dtype)
    return [lax.reduce(piece, low, larger, (place,)) for piece, place in windows(x, axis, 16)]


def first_true(x: jax.Array) -> jax.Array:
    """The number of the first row in which each column is True; that of rows where none is."""
    numbers = jnp.arange(len(x), dtype=jnp.int32).reshape(-1, *[1] * (x.ndim - 1))
    return jnp.min(jnp.where(x, numbers, len(x)), axis=0)


def window_sums(x: jax.Array, axis: int) -> list[jax.Array]:
    """The sums of windows along an axis."""
    return [_sum(piece, place) for piece, place in windows(x, axis, 8)]


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _sum(x: jax.Array, axis: int) -> jax.Array:
    return lax.reduce(x, jnp.zeros((), x.dtype), lambda a, b: jnp.where(b == 0, a, a + b), (axis,))


@_sum.defjvp
def _(axis: int, primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    return _sum(*primals, axis), jnp.sum(*tangents, axis=axis)


def combine(operation: Callable[[Any, Any], Any], pieces: Iterable[jax.Array], axis: int = 0) -> jax.Array:
    """The rows of some arrays along an axis, combined to one row.

    They keep the axis: if each lost it, XLA would move the reshapes behind the operations, one a pass over the program.
    """
    rows = [lax.slice_in_dim(piece, row, row + 1, axis=axis) for piece in pieces for row in range(piece.shape[axis])]
    return reduce(operation, rows)


def sum_to(arrays: Sequence[jax.Array], shapes: Sequence[tuple[int, ...]], stage: Stage) -> list[jax.Array]:
    """Each array summed along the axes where its shape is to be 1, one axis of every array at a time."""
    result = list(arrays)
    while True:
        axes = [
            next((a for a, n in enumerate(shape) if n < x.shape[a]), None)
            for x, shape in zip(result, shapes, strict=True)
        ]
        todo = [(number, axis) for number, axis in enumerate(axes) if axis is not None]
        if not todo:
            return result
        sums = stage(partial(_window_sums, [(result[number], axis) for number, axis in todo]))
        for (number, axis), parts in zip(todo, sums, strict=True):
            result[number] = combine(jnp.add, parts, axis)


def _window_sums(arrays: Sequence[tuple[jax.Array, int]]) -> list[list[jax.Array]]:
    return [window_sums(array, axis) for array, axis in arrays]

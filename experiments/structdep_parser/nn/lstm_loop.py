"""The loop of a bidirectional LSTM, with a gradient that leaves the weights' share to one product behind the loop.

JAX's own gradient adds the recurrent weights' share up in every step, which costs more than the step itself.
"""

from typing import Any

import jax
import jax.numpy as jnp

Step = Any


@jax.custom_vjp
def lstm(gates: jax.Array, goes_on: jax.Array, recurrent: jax.Array, kept: jax.Array) -> jax.Array:
    """The states h, `[n, d, lines, half]`, of d LSTMs that read their inputs from the first on.

    Args:
        gates: what the inputs give to the gates i, f, o and to the new content, `[n, d, lines, 4 half]`.
        goes_on: 0 where a sequence begins, which knows nothing of the one before it, else 1: `[n, d, lines, 1]`.
        recurrent: what states give to the gates, `[d, half, 4 half]`.
        kept: what is left of the state before, by dropout and where a sequence begins: `[n, d, lines, half or 1]`. It
            has no gradient.

    Example:
        >>> gates, goes_on = jnp.ones((3, 2, 1, 8)), jnp.array([0.0, 1.0, 0.0])[:, None, None, None]
        >>> goes_on = jnp.broadcast_to(goes_on, (3, 2, 1, 1))
        >>> states = lstm(gates, goes_on, jnp.zeros((2, 2, 8)), goes_on)
        >>> states[:, 0, 0, 0].round(2)
        Array([0.37, 0.57, 0.37], dtype=float32)
    """
    return _forward(gates, goes_on, recurrent, kept)[0]


def _forward(
    gates: jax.Array, goes_on: jax.Array, recurrent: jax.Array, kept: jax.Array
) -> tuple[jax.Array, tuple[Any, ...]]:
    def step(state: Step, at: Step) -> tuple[Step, Step]:
        # What the next step keeps is taken here: a product before the matrix product would cost half a step.
        (h, c), (gates, kept, goes_on) = state, at
        i, f, o, new = jnp.split(gates + jnp.einsum("dbh,dhg->dbg", h, recurrent), 4, axis=-1)
        i, f, o, new = jax.nn.sigmoid(i), jax.nn.sigmoid(f + 1), jax.nn.sigmoid(o), jnp.tanh(new)
        now = f * c + i * new
        h = o * jnp.tanh(now)
        return (h * kept, now * goes_on), (h, now, jnp.concatenate([i, f, o, new], axis=-1))

    zeros = jnp.zeros((*gates.shape[1:-1], gates.shape[-1] // 4), gates.dtype)
    _, (states, cells, active) = jax.lax.scan(step, (zeros, zeros), (gates, _one_earlier(kept), _one_earlier(goes_on)))
    return states, (states, cells, active, goes_on, recurrent, kept)


def _backward(saved: tuple[Any, ...], cotangent: jax.Array) -> tuple[jax.Array, None, jax.Array, None]:
    states, cells, active, goes_on, recurrent, kept = saved
    before, backward = _one_later(cells) * goes_on, recurrent.swapaxes(1, 2)

    def step(state: Step, at: Step) -> tuple[Step, jax.Array]:
        (dh, dc), (given, cell, before, active, kept, goes_on) = state, at
        i, f, o, new = jnp.split(active, 4, axis=-1)
        dh, squashed = dh * kept + given, jnp.tanh(cell)
        dc = dc * goes_on + dh * o * (1 - squashed**2)
        shares = dc * new * i * (1 - i), dc * before * f * (1 - f), dh * squashed * o * (1 - o), dc * i * (1 - new**2)
        # XLA would otherwise work its parts out within the matrix product, and take half as long again.
        dgates = jax.lax.optimization_barrier(jnp.concatenate(shares, axis=-1))  # type: ignore[no-untyped-call]
        return (jnp.einsum("dbg,dgh->dbh", dgates, backward), dc * f), dgates

    zeros = jnp.zeros_like(states[0])
    steps = (cotangent, cells, before, active, _one_earlier(kept), _one_earlier(goes_on))
    _, dgates = jax.lax.scan(step, (zeros, zeros), steps, reverse=True)
    return dgates, None, jnp.einsum("ndbh,ndbg->dhg", _one_later(states) * kept, dgates), None


def _one_later(states: jax.Array) -> jax.Array:
    return jnp.pad(states[:-1], ((1, 0), (0, 0), (0, 0), (0, 0)))


def _one_earlier(masks: jax.Array) -> jax.Array:
    return jnp.pad(masks[1:], ((0, 1), (0, 0), (0, 0), (0, 0)))


lstm.defvjp(_forward, _backward)

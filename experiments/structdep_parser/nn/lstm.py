"""The loop of a bidirectional LSTM, with a gradient that leaves the weights' share to one product behind the loop.

JAX's own gradient adds the recurrent weights' share up in every step, which costs more than the step itself.
"""

from typing import Any

import jax
import jax.numpy as jnp

Step = Any


@jax.custom_vjp
def lstm(gates: jax.Array, mask: jax.Array, recurrent: jax.Array, kept: jax.Array) -> jax.Array:
    """The states h, `[n, d, batch, half]`, of d LSTMs that read their inputs from the first on.

    Args:
        gates: what the inputs give to the gates i, f, o and to the new content, `[n, d, batch, 4 half]`.
        mask: 1 where there is an input, 0 in padding (where states are 0), `[n, d, batch, 1]`.
        recurrent: what states give to the gates, `[d, half, 4 half]`.
        kept: the dropout mask of the states that are given on, `[d, batch, half]`. It has no gradient.

    Example:
        >>> gates, mask = jnp.ones((3, 2, 1, 8)), jnp.array([1.0, 1.0, 0.0])[:, None, None, None]
        >>> states = lstm(gates, jnp.broadcast_to(mask, (3, 2, 1, 1)), jnp.zeros((2, 2, 8)), jnp.ones((2, 1, 2)))
        >>> states[:, 0, 0, 0].round(2)
        Array([0.37, 0.57, 0.  ], dtype=float32)
    """
    return _forward(gates, mask, recurrent, kept)[0]


def _forward(
    gates: jax.Array, mask: jax.Array, recurrent: jax.Array, kept: jax.Array
) -> tuple[jax.Array, tuple[Any, ...]]:
    def step(state: Step, at: Step) -> tuple[Step, Step]:
        h, c = state
        gates, mask = at
        i, f, o, new = jnp.split(gates + jnp.einsum("dbh,dhg->dbg", h * kept, recurrent), 4, axis=-1)
        i, f, o, new = jax.nn.sigmoid(i), jax.nn.sigmoid(f + 1), jax.nn.sigmoid(o), jnp.tanh(new)
        now = mask * (f * c + i * new)
        h = o * jnp.tanh(now)
        return (h, now), (h, now, jnp.concatenate([i, f, o, new], axis=-1))

    zeros = jnp.zeros((*kept.shape,), gates.dtype)
    _, (states, cells, active) = jax.lax.scan(step, (zeros, zeros), (gates, mask))
    return states, (states, cells, active, mask, recurrent, kept)


def _backward(saved: tuple[Any, ...], cotangent: jax.Array) -> tuple[jax.Array, None, jax.Array, None]:
    states, cells, active, mask, recurrent, kept = saved

    def step(state: Step, at: Step) -> tuple[Step, jax.Array]:
        dh, dc = state
        given, cell, before, active, mask = at
        i, f, o, new = jnp.split(active, 4, axis=-1)
        dh, squashed = dh + given, jnp.tanh(cell)
        dc = mask * (dc + dh * o * (1 - squashed**2))
        shares = dc * new * i * (1 - i), dc * before * f * (1 - f), dh * squashed * o * (1 - o), dc * i * (1 - new**2)
        dgates = jnp.concatenate(shares, axis=-1)
        return (jnp.einsum("dbg,dhg->dbh", dgates, recurrent) * kept, dc * f), dgates

    zeros = jnp.zeros_like(kept)
    steps = (cotangent, cells, _one_later(cells), active, mask)
    _, dgates = jax.lax.scan(step, (zeros, zeros), steps, reverse=True)
    return dgates, None, jnp.einsum("ndbh,ndbg->dhg", _one_later(states) * kept, dgates), None


def _one_later(states: jax.Array) -> jax.Array:
    return jnp.pad(states[:-1], ((1, 0), (0, 0), (0, 0), (0, 0)))


lstm.defvjp(_forward, _backward)

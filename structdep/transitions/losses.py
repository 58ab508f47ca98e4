"""Losses of the scores of transitions along sequences, one value a sentence, to train a greedy parser."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from structdep.transitions.runs import as_float32
from structdep.transitions.sequences import Sequences

LEAST = -1e30
"""The least that a score counts: finite, so that differences have derivatives."""


def hinge(scores: jax.Array, found: Sequences, margin: float = 1.0) -> jax.Array:
    """Hinge loss of transitions: Σ max(0, margin + best wrong score - best right score) over the steps.

    A transition is right if it is best by the oracle, and wrong if it is legal but not best.

    Args:
        scores: float `[*batch, steps, transitions]`, the scores of a scorer for `found.features`.
        found: sequences, from `sequences`, `best_sequences` or `explore`.
        margin: in units of the scores.

    Returns:
        float32 `[*batch]`, 0 or more.

    Raises:
        TypeError, ValueError: scores that are not floats, or of another shape than `found.legal`.

    Example:
        >>> from structdep.transitions import arc_hybrid, sequences, static_oracle
        >>> found = sequences(static_oracle(arc_hybrid()), [2, 0])  # shift, la, shift, ra
        >>> hinge(jnp.zeros((4, 3)), found)  # only the second has alternatives
        Array(1., dtype=float32)
    """
    right, wrong = _best(scores, found.best), _best(scores, found.legal & ~found.best)
    losses = jnp.maximum(margin + wrong - right, 0)
    return jnp.sum(losses, axis=-1, where=_is_step(found))


def nll(scores: jax.Array, found: Sequences) -> jax.Array:
    """Negative log-likelihood of the right transitions, with p ∝ exp(score) over the legal transitions of each step.

    Args:
        scores: float `[*batch, steps, transitions]`, the scores of a scorer for `found.features`.
        found: sequences, from `sequences`, `best_sequences` or `explore`.

    Returns:
        float32 `[*batch]`, in nats, 0 or more.

    Raises:
        TypeError, ValueError: as by `hinge`.

    Example:
        >>> from structdep.transitions import arc_hybrid, sequences, static_oracle
        >>> found = sequences(static_oracle(arc_hybrid()), [2, 0])
        >>> nll(jnp.zeros((4, 3)), found).round(4)  # log 3
        Array(1.0986, dtype=float32)
    """
    every, right = (jax.nn.logsumexp(_allowed(scores, allowed), axis=-1) for allowed in (found.legal, found.best))
    return jnp.sum(every - right, axis=-1, where=_is_step(found))


def _best(scores: jax.Array, allowed: jax.Array) -> jax.Array:
    return jnp.max(_allowed(scores, allowed), axis=-1)


def _allowed(scores: jax.Array, allowed: jax.Array) -> jax.Array:
    """The scores in float32; `LEAST` for transitions that are not allowed, and for -inf."""
    if jnp.shape(scores) != jnp.shape(allowed):
        raise ValueError(f"scores have shape {jnp.shape(scores)}, expected that of `legal`, {jnp.shape(allowed)}")
    return jnp.maximum(jnp.where(allowed, as_float32(scores), -jnp.inf), LEAST)


def _is_step(found: Sequences) -> jax.Array:
    return jnp.asarray(found.best).any(-1)

"""What greedy parsing and beam search share: results, scores that may be compared, checks."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from structdep.transitions.configuration import Configuration
from structdep.transitions.notation import TransitionSystem, check_system
from structdep.transitions.scorers import Scorer, TableScorer


class Parse(NamedTuple):
    """The result of `greedy` and `beam_search`.

    Args:
        heads: the head of each word, int32 `[*batch, n]`: 0 is the root, and padding; -1 for words without a head,
            where a run of a system of your own gets stuck.
        scores: the sum of the scores of the transitions, float `[*batch]`.
        steps: the number of transitions, int32 `[*batch]`.
    """

    heads: jax.Array
    scores: jax.Array
    steps: jax.Array


def tree(end: Configuration) -> jax.Array:
    """The heads `[*batch, n]` at the end of a run."""
    heads = end.heads[..., 1:-1]
    return jnp.where(jnp.arange(heads.shape[-1]) < end.lengths[..., None], heads, 0)


def ranks(scores: jax.Array, allowed: jax.Array) -> jax.Array:
    """The scores, but -inf for what is not allowed, and for that alone: what scores -inf or NaN ranks before it."""
    least = float(np.finfo(np.float32).min)
    return jnp.where(allowed, jnp.where(scores > least, scores, least), -jnp.inf)


def checked(system: TransitionSystem, scorer: Scorer, lengths: ArrayLike, words: int) -> tuple[Any, jax.Array]:
    """A scorer as jitted functions take it, and numbers of words for which there is room.

    Raises:
        TypeError, ValueError: no transition system, tables of other sentences, lengths that are none.
    """
    check_system(system)
    numbers = checked_lengths(lengths, words)
    return checked_scorer(scorer, system, numbers.shape, words), numbers


def checked_scorer(scorer: Scorer, system: TransitionSystem, batch: tuple[int, ...], words: int) -> Any:
    """A scorer as jitted functions take it. Raises ValueError for tables of another system or other sentences."""
    if isinstance(scorer, TableScorer):
        scorer.check(system, batch, words)
    return as_pytree(scorer)


def as_pytree(scorer: Scorer) -> Any:
    """A plain function is static."""
    is_leaf = jax.tree_util.all_leaves([scorer])
    return jax.tree_util.Partial(scorer) if is_leaf else scorer  # type: ignore[no-untyped-call]


def checked_scores(scores: jax.Array, system: TransitionSystem, batch: tuple[int, ...]) -> jax.Array:
    """Scores of every transition in every configuration, as float32."""
    expected = (*batch, len(system.transitions))
    if jnp.shape(scores) != expected:
        raise ValueError(
            f"the scorer gives scores {jnp.shape(scores)} for features {batch}, expected {expected}: one for each of "
            f"{system.name}'s transitions {', '.join(system.names)}"
        )
    return as_float32(scores)


def as_float32(scores: jax.Array) -> jax.Array:
    """Scores of transitions as float32. Raises TypeError if they are no floating-point numbers."""
    if not jnp.issubdtype(scores.dtype, jnp.floating):
        raise TypeError(f"scores of transitions must be floating point, not {scores.dtype}")
    return scores.astype(jnp.float32)


def checked_lengths(lengths: ArrayLike, words: int) -> jax.Array:
    """Numbers of words for which there is room."""
    given = lengths if isinstance(lengths, jax.Array) else np.asarray(lengths)
    if not np.issubdtype(given.dtype, np.integer):
        raise TypeError(f"lengths must be integers (numbers of words), not {given.dtype}")
    if given.size and not isinstance(given, jax.core.Tracer):
        least, most = np.asarray(given).min(), np.asarray(given).max()
        if least < 0 or most > words:
            raise ValueError(f"lengths go from {least} to {most}, but there is room for 0 to {words} words")
    return jnp.asarray(given, jnp.int32)

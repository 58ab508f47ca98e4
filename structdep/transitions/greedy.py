"""Greedy parsing, of all sentences at once."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from numpy.typing import ArrayLike

from structdep.transitions.configuration import Configuration, apply, legal, start
from structdep.transitions.notation import TransitionSystem
from structdep.transitions.runs import Parse, checked, checked_scores, ranks, tree
from structdep.transitions.scorers import Scorer

State = tuple[Configuration, jax.Array, jax.Array, jax.Array]
"""Where each sentence is, what its transitions scored, how many they are, and whether the last step took one."""


def greedy(system: TransitionSystem, scorer: Scorer, lengths: ArrayLike, words: int) -> Parse:
    """Trees by the legal transition with the highest score in each configuration; ties go to the first in the system.

    Each run ends in a tree of the system's class after at most `system.most(length)` transitions, whatever the scores:
    no system of `structdep.transitions` gets stuck.

    Args:
        system: from `structdep.transitions`, or your own.
        scorer: a function from `Features` of int32 `[*batch]` to scores, float `[*batch, transitions]`.
        lengths: int `[*batch]`, the number of words of each sentence.
        words: the number of words of padded sentences, n.

    Returns:
        `Parse(heads, scores, steps)`: int32 `[*batch, n]`, float and int32 `[*batch]`.

    Raises:
        TypeError: no transition system; lengths that are not integers, or scores that are not floats.
        ValueError: lengths that are not in 0..n, or scores of another shape.

    Example:
        >>> from structdep.transitions import arc_hybrid, table_scorer
        >>> scorer = table_scorer(arc_hybrid(), {"arc": jnp.zeros((4, 4)).at[[2, 3, 0], [1, 2, 3]].set(1.0)})
        >>> greedy(arc_hybrid(), scorer, jnp.array(3), 3)
        Parse(heads=Array([2, 3, 0], dtype=int32), scores=Array(3., dtype=float32), steps=Array(6, dtype=int32))
    """
    return _greedy(system, *checked(system, scorer, lengths, words), words)


@partial(jax.jit, static_argnames=("system", "words"))
def _greedy(system: TransitionSystem, scorer: Scorer, lengths: jax.Array, words: int) -> Parse:
    def step(state: State) -> State:
        configuration, total, steps, _ = state
        scores = checked_scores(scorer(configuration.features), system, lengths.shape)
        allowed = legal(system, configuration)
        best = jnp.argmax(ranks(scores, allowed), axis=-1)
        gain = jnp.take_along_axis(scores, best[..., None], axis=-1)[..., 0]
        goes_on = allowed.any(-1)
        steps = steps + goes_on
        configuration = apply(system, configuration, jnp.where(goes_on, best, -1))
        return configuration, total + jnp.where(goes_on, gain, 0), steps, goes_on

    def is_on_the_way(state: State) -> jax.Array:
        configuration, _, steps, goes_on = state
        return (~configuration.is_final & goes_on & (steps < system.most(words))).any()

    total, steps = jnp.zeros(lengths.shape), jnp.zeros(lengths.shape, jnp.int32)
    state = start(system, lengths, words), total, steps, jnp.ones(lengths.shape, bool)
    end, total, steps, _ = lax.while_loop(is_on_the_way, step, state)
    return Parse(tree(end), total, steps)

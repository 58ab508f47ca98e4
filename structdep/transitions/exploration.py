"""Error exploration: training runs in which a parser follows its own errors."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from numpy.typing import ArrayLike

from structdep.transitions.configuration import NONE, Configuration, apply, legal, start
from structdep.transitions.gold import Gold
from structdep.transitions.oracles import Oracle, least
from structdep.transitions.runs import checked_scorer, checked_scores, ranks
from structdep.transitions.scorers import Scorer
from structdep.transitions.sequences import Sequences
from structdep.transitions.static import NEVER


def explore(
    oracle: Oracle,
    scorer: Scorer,
    gold: Gold,
    key: ArrayLike,
    steps: int,
    margin: float = 1.0,
    probability: float = 0.1,
) -> Sequences:
    """Runs in which a scorer sometimes follows its own errors, with the best transitions in each configuration.

    A transition is right if the oracle gives it the least cost, else wrong. The best wrong transition is followed if it
    scores higher than the best right one, and with `probability` if it comes within `margin` of it. Transitions that
    the oracle rules out are never followed: a static oracle allows no errors. The result has no gradient: to train,
    score `features` again, and compare the transitions that are `best` with the others that are `legal`.

    Args:
        oracle: from `dynamic_oracle`.
        scorer: a function from `Features` of int32 `[*batch]` to scores, float `[*batch, transitions]`.
        gold: the gold trees, `oracle.gold(heads, lengths)`.
        key: one key of `jax.random`.
        steps: the number of transitions to follow at most; 2n ends all runs of systems without swaps.
        margin: in units of the scores.
        probability: in [0, 1].

    Returns:
        `Sequences`, with arrays `[*batch, steps]` and `[*batch, steps, transitions]`.

    Raises:
        TypeError, ValueError: scores of another dtype or shape, tables of other sentences, `steps` below 0.

    References:
        Goldberg and Nivre 2013, Training deterministic parsers with non-deterministic oracles. Kiperwasser and Goldberg
        2016, Simple and accurate dependency parsing using bidirectional LSTM feature representations (the margin).

    Example:
        >>> from structdep.transitions import arc_hybrid, dynamic_oracle, table_scorer
        >>> oracle, shift_first = dynamic_oracle(arc_hybrid()), {"shift": jnp.ones((5, 5))}
        >>> scorer = table_scorer(oracle.system, shift_first)
        >>> explore(oracle, scorer, oracle.gold([2, 3, 0]), jax.random.key(0), 6).transitions
        Array([0, 0, 0, 2, 2, 2], dtype=int32)
    """
    if steps < 0:
        raise ValueError(f"steps is {steps}: write 0 or more")
    checked = checked_scorer(scorer, oracle.system, gold.lengths.shape, gold.heads.shape[-1] - 2)
    return _explore(oracle, checked, gold, key, steps, margin, probability)


@partial(jax.jit, static_argnames=("oracle", "steps"))
def _explore(
    oracle: Oracle,
    scorer: Scorer,
    gold: Gold,
    key: jax.Array,
    steps: int,
    margin: float | jax.Array,
    probability: float | jax.Array,
) -> Sequences:
    lengths = gold.lengths

    def step(configuration: Configuration, key: jax.Array) -> tuple[Configuration, Sequences]:
        features, allowed = configuration.features, legal(oracle.system, configuration)
        costs = oracle.costs(configuration, gold)
        best = least(costs)
        scores = checked_scores(scorer(features), oracle.system, lengths.shape)
        right, wrong = ranks(scores, best), ranks(scores, (costs < NEVER) & ~best)
        lead = wrong.max(-1) - right.max(-1)
        errs = (lead > 0) | ((lead > -margin) & (jax.random.uniform(key, lengths.shape) < probability))
        taken = jnp.where(errs, wrong.argmax(-1), right.argmax(-1))
        taken = jnp.where(best.any(-1), taken, NONE).astype(jnp.int32)
        return apply(oracle.system, configuration, taken), Sequences(features, taken, allowed, best)

    begin = start(oracle.system, lengths, gold.heads.shape[-1] - 2)
    _, found = lax.scan(step, begin, jax.random.split(key, steps))
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, lengths.ndim), found)

"""Error exploration: runs in which a parser follows its own errors, with what would have been best in each place."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from numpy.typing import ArrayLike

from structdep.transitions.configuration import NONE, Configuration, apply, legal, start
from structdep.transitions.gold import Gold
from structdep.transitions.oracles import Oracle, least
from structdep.transitions.runs import as_pytree, checked_scores, ranks
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
    """Runs of at most `steps` transitions by a scorer that errs (Goldberg, Nivre 2013; Kiperwasser, Goldberg 2016).

    Where the best wrong transition scores higher than the best right one it is followed, and where it comes within
    `margin` of it, with some `probability`. What an oracle rules out is never followed: with a static one there are no
    errors. Scores have no gradient here: score the features of the sequences again, and compare what is `best` there
    with the rest of what is `legal`.

    Args:
        oracle: from `dynamic_oracle`.
        scorer: as for `greedy`.
        gold: `oracle.gold(heads, lengths)`.
        key: of `jax.random`.
        steps: how many transitions to follow; 2n without swaps.

    Example:
        >>> from structdep.transitions import arc_hybrid, dynamic_oracle, table_scorer
        >>> oracle, shift_first = dynamic_oracle(arc_hybrid()), {"shift": jnp.ones((5, 5))}
        >>> scorer = table_scorer(oracle.system, shift_first)
        >>> explore(oracle, scorer, oracle.gold([2, 3, 0]), jax.random.key(0), 6).transitions
        Array([0, 0, 0, 2, 2, 2], dtype=int32)
    """
    return _explore(oracle, as_pytree(scorer), gold, key, steps, margin, probability)


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

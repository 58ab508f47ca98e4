"""From gold trees to the transitions that a parser is to learn, with the configurations that they are taken in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structdep.transitions.arrays import Array
from structdep.transitions.configuration import Configuration, Features, legal
from structdep.transitions.gold import Gold, gold_trees, refuse_unless
from structdep.transitions.notation import TransitionSystem
from structdep.transitions.oracles import Oracle, static_oracle


class Sequences(NamedTuple):
    """Runs: arrays `[*batch, steps]` and `[*batch, steps, transitions]`, neutral behind a run's end.

    `features` int32; `transitions` int32, those that were taken, -1 behind the end; `legal` and `best` bool, what could
    be taken and what the oracle wanted.
    """

    features: Features
    transitions: Array
    legal: Array
    best: Array


def sequences(
    oracle: Oracle, heads: ArrayLike, lengths: ArrayLike | None = None, rng: np.random.Generator | None = None
) -> Sequences:
    """The runs by which an oracle makes trees, `heads` int `[*batch, n]`; in numpy.

    Of several best transitions the system's last is taken (reduce early), or a random one if there is an `rng`.

    Raises:
        TypeError, ValueError: no trees, or one that no run makes.

    Example:
        >>> from structdep.transitions import arc_hybrid
        >>> found = sequences(static_oracle(arc_hybrid()), [[2, 0], [0, 0]], [2, 1])
        >>> found.transitions.tolist(), found.features.s0.tolist()
        ([[0, 1, 0, 2], [0, 2, -1, -1]], [[0, 1, 0, 2], [0, 1, 0, 0]])
    """
    gold = oracle.gold(heads, lengths)
    configurations, best, taken = zip(*oracle.follow(gold, rng), strict=True)
    made = _has_made(configurations[-1], gold)
    refuse_unless(made, oracle.system, gold)

    def stacked(arrays: Iterable[Array]) -> Array:
        return np.stack([*arrays], axis=made.ndim).take(range(len(configurations) - 1), axis=made.ndim)

    features = Features(*map(stacked, zip(*(c.features for c in configurations), strict=True)))
    allowed = stacked(legal(oracle.system, c) for c in configurations)
    return Sequences(features, stacked(taken), allowed, stacked(best))


def makes(system: TransitionSystem, heads: ArrayLike, lengths: ArrayLike | None = None) -> NDArray[np.bool_]:
    """Whether the system's static oracle makes each tree: bool `[*batch]`.

    Example:
        >>> from structdep.transitions import arc_hybrid, mh4
        >>> [makes(system, [[2, 0, 2, 3], [3, 4, 0, 3]]).tolist() for system in (arc_hybrid(), mh4())]
        [[True, False], [True, True]]
    """
    gold = gold_trees(system, heads, lengths)
    *_, (end, _, _) = static_oracle(system).follow(gold)
    return _has_made(end, gold)


def _has_made(end: Configuration, gold: Gold) -> NDArray[np.bool_]:
    return np.asarray(end.is_final & (end.heads == gold.heads).all(-1))

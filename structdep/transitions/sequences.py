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
    """Runs, with what could be done in each configuration. Behind the end of a run, entries are neutral.

    Args:
        features: the nodes at s2, s1, s0, b0 and b1 before each transition, int32 `[*batch, steps]` each.
        transitions: the transitions that were taken, int32 `[*batch, steps]`; -1 behind the end.
        legal: the transitions that could be taken, bool `[*batch, steps, transitions]`.
        best: the transitions that the oracle prefers, bool `[*batch, steps, transitions]`.
    """

    features: Features
    transitions: Array
    legal: Array
    best: Array


def sequences(
    oracle: Oracle, heads: ArrayLike, lengths: ArrayLike | None = None, rng: np.random.Generator | None = None
) -> Sequences:
    """The runs by which an oracle makes trees; in numpy.

    Args:
        oracle: from `static_oracle` or `dynamic_oracle`.
        heads: the gold trees, int `[*batch, n]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        rng: draws one of several best transitions; without it, the last in the system is taken (reduce early).

    Returns:
        `Sequences`, with arrays `[*batch, steps]` and `[*batch, steps, transitions]`.

    Raises:
        TypeError: heads or lengths that are not integers.
        ValueError: heads that are no trees, or trees that no run makes.

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
    """Whether the static oracle of a system makes each tree: whether the tree is in the system's class.

    Args:
        system: a transition system.
        heads: the trees, int `[*batch, n]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.

    Returns:
        bool `[*batch]`, an array of numpy.

    Raises:
        TypeError, ValueError: heads that are no trees.

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

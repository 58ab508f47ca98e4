"""Oracles: what each transition costs on the way to gold trees, in numpy and in JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structdep.transitions.arrays import Array
from structdep.transitions.configuration import NONE, Configuration, apply, start
from structdep.transitions.dynamic import arc_costs, dynamic_costs
from structdep.transitions.gold import Gold, check_class, gold_trees
from structdep.transitions.notation import TransitionSystem, check_system
from structdep.transitions.static import NEVER, static_costs
from structdep.transitions.systems import arc_eager, arc_hybrid, arc_standard

Step = tuple[Configuration, NDArray[np.bool_], NDArray[np.int32]]
"""Where runs are, which transitions are best there, and the one that is taken (-1: none)."""


@dataclass(frozen=True)
class Oracle:
    """The costs of transitions on the way to gold trees; made by `static_oracle` and `dynamic_oracle`.

    `costs` and `best` take arrays of numpy or of JAX, and can be jitted.

    Args:
        system: the transition system.
        rule: a function from the system, a configuration and gold trees to costs.
        lazy: whether swaps wait; see `static_oracle`.
    """

    system: TransitionSystem
    rule: Callable[[TransitionSystem, Configuration, Gold], Array]
    lazy: bool = False

    def gold(self, heads: ArrayLike, lengths: ArrayLike | None = None) -> Gold:
        """Gold trees, with what the oracle needs to know of them.

        Args:
            heads: int `[*batch, n]`.
            lengths: int `[*batch]`, the number of words of each sentence; default: n.

        Returns:
            `Gold`, whose arrays are int32 `[*batch, n+2]`.

        Raises:
            TypeError: heads or lengths that are not integers.
            ValueError: heads that are no trees, or no trees of the system's class. (For MH_4, only the runs show this.)
        """
        gold = gold_trees(self.system, heads, lengths)
        check_class(self.system, gold)
        return gold._replace(parts=_projective_parts(gold)) if self.lazy else gold

    def costs(self, configuration: Configuration, gold: Gold) -> Array:
        """The cost of each transition: how many words can no longer get their gold heads after it.

        Args:
            configuration: where the runs are, `[*batch]`.
            gold: the gold trees of the same sentences.

        Returns:
            int32 `[*batch, transitions]`; 2^30 for transitions that are illegal or ruled out.
        """
        return self.rule(self.system, configuration, gold)

    def best(self, configuration: Configuration, gold: Gold) -> Array:
        """The transitions of least cost.

        Args:
            configuration: where the runs are, `[*batch]`.
            gold: the gold trees of the same sentences.

        Returns:
            bool `[*batch, transitions]`; all False in a final configuration.
        """
        return least(self.costs(configuration, gold))

    def follow(self, gold: Gold, rng: np.random.Generator | None = None) -> Iterator[Step]:
        """Runs of least cost, in numpy, until no run has a transition.

        Args:
            gold: the gold trees.
            rng: draws one of several best transitions; without it, the last in the system is taken.

        Yields:
            Configurations `[*batch]`, the best transitions, bool `[*batch, transitions]`, and the transition that is
            taken, int32 `[*batch]`, -1 behind the end of a run.
        """
        configuration = start(self.system, gold.lengths, gold.heads.shape[-1] - 2)
        while True:
            best = self.best(configuration, gold)
            liked = best * (np.arange(1, best.shape[-1] + 1) if rng is None else rng.random(best.shape))
            taken = np.where(best.any(-1), liked.argmax(-1), NONE).astype(np.int32)
            yield configuration, best, taken
            if (taken == NONE).all():
                return
            configuration = apply(self.system, configuration, taken)


def static_oracle(system: TransitionSystem, lazy: bool = False) -> Oracle:
    """The oracle that knows one run for each tree, with arcs as early as possible.

    Args:
        system: from `structdep.transitions`.
        lazy: whether swaps wait until the words of a maximal projective part have their arcs; only for
            `arc_standard(swap=True)`.

    Returns:
        An oracle, whose `costs` are 0 for one transition.

    Raises:
        TypeError: no transition system.
        ValueError: `lazy` with another system.

    References:
        Nivre 2009, Non-projective dependency parsing in expected linear time (swaps bring words into projective order).
        Nivre, Kuhlmann and Hall 2009, An improved oracle for dependency parsing with online reordering (lazy swaps).

    Example:
        >>> oracle = static_oracle(arc_standard(swap=True))
        >>> [oracle.system.names[t] for *_, t in oracle.follow(oracle.gold([3, 4, 0, 3])) if t >= 0]
        ['shift', 'shift', 'shift', 'swap', 'la', 'shift', 'shift', 'la', 'ra', 'ra']
    """
    check_system(system)
    if lazy and system != arc_standard(swap=True):
        raise ValueError(f"swaps can wait in {arc_standard(swap=True).name}, not in {system.name}")
    return Oracle(system, static_costs, lazy)


def dynamic_oracle(system: TransitionSystem, by_arc: bool = False) -> Oracle:
    """The oracle that knows the best transitions in every configuration.

    Swaps of `arc_hybrid(swap=True)` are an exception: only the swaps that the gold tree needs have a cost. After any
    other swap, costs may be too low, so do not follow swaps that the oracle rules out; `explore` does not.

    Args:
        system: `arc_eager()`, `arc_hybrid()` or `arc_hybrid(swap=True)`.
        by_arc: whether the cost is the number of gold arcs that a transition makes unreachable, each considered alone,
            as in the papers. The default is the exact loss of the best run that follows. For `arc_hybrid()`, both are
            the same.

    Returns:
        An oracle.

    Raises:
        ValueError: another system.

    References:
        Goldberg and Nivre 2013, Training deterministic parsers with non-deterministic oracles. De Lhoneux, Stymne and
        Nivre 2017, Arc-hybrid non-projective dependency parsing with a static-dynamic oracle (swap).

    Example:
        >>> oracle = dynamic_oracle(arc_hybrid())
        >>> shifted = apply(oracle.system, start(oracle.system, np.array(2), 2), np.array(0))
        >>> dict(zip(oracle.system.names, oracle.costs(shifted, oracle.gold([2, 0])).tolist()))
        {'shift': 2, 'la': 0, 'ra': 1}
    """
    known = (arc_eager(), arc_hybrid(), arc_hybrid(swap=True))
    if system not in known:
        names = ", ".join(s.name for s in known)
        raise ValueError(f"{system.name} has no dynamic oracle, {names} have one: take static_oracle")
    return Oracle(system, arc_costs if by_arc else dynamic_costs)


def least(costs: Array) -> Array:
    """Where costs are least, and not `NEVER`."""
    return (costs == costs.min(-1, keepdims=True)) & (costs < NEVER)


def _projective_parts(gold: Gold) -> NDArray[np.int32]:
    """For each node the top of its maximal projective part: what arc-standard makes of a tree without swapping."""
    *_, (end, _, _) = Oracle(arc_standard(), static_costs).follow(gold)
    nodes = np.arange(gold.heads.shape[-1], dtype=np.int32)
    tops = np.where(end.heads == NONE, nodes, end.heads)
    for _ in range(len(nodes).bit_length()):
        tops = np.take_along_axis(tops, tops, axis=-1)
    return tops

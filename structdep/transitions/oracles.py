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
from structdep.transitions.notation import TransitionSystem
from structdep.transitions.static import NEVER, static_costs
from structdep.transitions.systems import arc_eager, arc_hybrid, arc_standard

Step = tuple[Configuration, NDArray[np.bool_], NDArray[np.int32]]
"""Where runs are, which transitions are best there, and the one that is taken (-1: none)."""


@dataclass(frozen=True)
class Oracle:
    """The costs of a system's transitions, given gold trees: made by `static_oracle` and `dynamic_oracle`.

    `costs` and `best` take arrays of numpy or of JAX, and may stand in jitted code.
    """

    system: TransitionSystem
    rule: Callable[[TransitionSystem, Configuration, Gold], Array]
    lazy: bool = False

    def gold(self, heads: ArrayLike, lengths: ArrayLike | None = None) -> Gold:
        """What the oracle needs to know of trees, `heads` int `[*batch, n]`.

        Raises:
            TypeError, ValueError: no trees, or none of the system's class (of MH_4 only its runs tell).
        """
        gold = gold_trees(self.system, heads, lengths)
        check_class(self.system, gold)
        return gold._replace(parts=_projective_parts(gold)) if self.lazy else gold

    def costs(self, configuration: Configuration, gold: Gold) -> Array:
        """How many words each transition costs, `NEVER` where it must not be taken: int32 `[*batch, transitions]`."""
        return self.rule(self.system, configuration, gold)

    def best(self, configuration: Configuration, gold: Gold) -> Array:
        """The transitions of least cost: bool `[*batch, transitions]`; none in a final configuration."""
        return least(self.costs(configuration, gold))

    def follow(self, gold: Gold, rng: np.random.Generator | None = None) -> Iterator[Step]:
        """Runs of least cost, in numpy, until nothing can be taken; of equals the system's last, or a random one."""
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
    """The oracle that knows one run for each tree: arcs as soon as they can be made.

    Swaps bring words into projective order (Nivre 2009); `lazy` lets them wait until the words of a maximal projective
    part have their arcs (Nivre, Kuhlmann, Hall 2009: arc-standard with swap).

    Example:
        >>> oracle = static_oracle(arc_standard(swap=True))
        >>> [oracle.system.names[t] for *_, t in oracle.follow(oracle.gold([3, 4, 0, 3])) if t >= 0]
        ['shift', 'shift', 'shift', 'swap', 'la', 'shift', 'shift', 'la', 'ra', 'ra']
    """
    if lazy and system != arc_standard(swap=True):
        raise ValueError(f"swaps can wait in {arc_standard(swap=True).name}, not in {system.name}")
    return Oracle(system, static_costs, lazy)


def dynamic_oracle(system: TransitionSystem, by_arc: bool = False) -> Oracle:
    """The oracle that knows what is best in every configuration: arc-eager, and arc-hybrid without and with swap.

    `by_arc` counts the arcs that a transition makes unreachable, each looked at alone, as the papers do; the default is
    the true loss, see `structdep.transitions.loss`. In arc-hybrid without swap the two are the same.

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

"""Oracles: from gold trees to the transitions that a parser is to learn, and the configurations they are taken in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structdep.transitions.arrays import Array
from structdep.transitions.configuration import NONE, Configuration, Features, apply, legal, start
from structdep.transitions.dynamic import arc_costs, dynamic_costs
from structdep.transitions.gold import Gold, gold_trees, refuse_unless
from structdep.transitions.notation import TransitionSystem
from structdep.transitions.static import NEVER, static_costs
from structdep.transitions.systems import arc_eager, arc_hybrid, arc_standard


@dataclass(frozen=True)
class Oracle:
    """The costs of a system's transitions, given gold trees: made by `static_oracle` and `dynamic_oracle`.

    `costs` and `best` take arrays of numpy or of JAX, and may stand in jitted code.
    """

    system: TransitionSystem
    rule: Callable[[TransitionSystem, Configuration, Gold], Array]
    lazy: bool = False

    def gold(self, heads: ArrayLike, lengths: ArrayLike | None = None) -> Gold:
        """What the oracle needs to know of trees, `heads` int `[*batch, n]`. ValueError: no trees of the class."""
        gold = gold_trees(self.system, heads, lengths)
        return gold._replace(parts=_projective_parts(gold)) if self.lazy else gold

    def costs(self, configuration: Configuration, gold: Gold) -> Array:
        """How many words each transition costs, `NEVER` where it must not be taken: int32 `[*batch, transitions]`."""
        return self.rule(self.system, configuration, gold)

    def best(self, configuration: Configuration, gold: Gold) -> Array:
        """The transitions of least cost: bool `[*batch, transitions]`; none in a final configuration."""
        return least(self.costs(configuration, gold))


def static_oracle(system: TransitionSystem, lazy: bool = False) -> Oracle:
    """The oracle that knows one run for each tree: arcs as soon as they can be made.

    Swaps bring words into projective order (Nivre 2009); `lazy` lets them wait until the words of a maximal projective
    part have their arcs (Nivre, Kuhlmann, Hall 2009: arc-standard with swap).

    Example:
        >>> oracle = static_oracle(arc_standard(swap=True))
        >>> [oracle.system.names[t] for t in sequences(oracle, [3, 4, 0, 3]).transitions]
        ['shift', 'shift', 'shift', 'swap', 'la', 'shift', 'shift', 'la', 'ra', 'ra']
    """
    if lazy and system != arc_standard(swap=True):
        raise ValueError(f"swaps can wait in {arc_standard(swap=True).name}, not in {system.name}")
    return Oracle(system, static_costs, lazy)


def dynamic_oracle(system: TransitionSystem, by_arc: bool = False) -> Oracle:
    """The oracle that knows what is best in every configuration: arc-eager, and arc-hybrid without and with swap.

    `by_arc` counts the arcs that a transition makes unreachable, each looked at alone, as the papers do; the default is
    the true loss, see `structdep.transitions.dynamic`. In arc-hybrid without swap the two are the same.

    Example:
        >>> oracle = dynamic_oracle(arc_hybrid())
        >>> oracle.costs(start(oracle.system, np.array(2), 2), oracle.gold([2, 0])).tolist()[0]
        0
    """
    known = (arc_eager(), arc_hybrid(), arc_hybrid(swap=True))
    if system not in known:
        names = ", ".join(s.name for s in known)
        raise ValueError(f"{system.name} has no dynamic oracle, {names} have one: take static_oracle")
    return Oracle(system, arc_costs if by_arc else dynamic_costs)


class Sequences(NamedTuple):
    """Runs: arrays `[*batch, steps]` and `[*batch, steps, transitions]`, what comes after the end being neutral.

    `features` int32; `transitions` int32, those that were taken, -1 behind the end; `legal` and `best` bool, what could
    be taken and what the oracle wanted.
    """

    features: Features
    transitions: Array
    legal: Array
    best: Array


def sequences(
    oracle: Oracle,
    heads: ArrayLike,
    lengths: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> Sequences:
    """The runs that make these trees, `heads` int `[*batch, n]`, by an oracle; in numpy.

    Of several best transitions the system's last is taken (reduce early), or one at random if there is an `rng`.

    Raises:
        ValueError: no tree, or a tree that no run makes.
    """
    gold = oracle.gold(heads, lengths)
    configurations, taken, best = zip(*_follow(oracle, gold, rng), strict=True)
    end = configurations[-1]
    made = end.is_final & (end.heads == gold.heads).all(-1)
    refuse_unless(made, oracle.system, np.asarray(heads), end.lengths)

    def stacked(arrays: Iterable[Array]) -> Array:
        return np.stack([*arrays], axis=made.ndim).take(range(len(configurations) - 1), axis=made.ndim)

    features = Features(*map(stacked, zip(*(c.features for c in configurations), strict=True)))
    allowed = stacked(legal(oracle.system, c) for c in configurations)
    return Sequences(features, stacked(taken), allowed, stacked(best))


def _follow(
    oracle: Oracle, gold: Gold, rng: np.random.Generator | None = None
) -> Iterator[tuple[Configuration, NDArray[np.int32], NDArray[np.bool_]]]:
    """Configurations, what is taken there, and what is best; at last where nothing is."""
    lengths = (gold.heads != NONE).sum(-1)
    configuration = start(oracle.system, lengths, gold.heads.shape[-1] - 2)
    while True:
        best = oracle.best(configuration, gold)
        liked = best * (np.arange(1, best.shape[-1] + 1) if rng is None else rng.random(best.shape))
        taken = np.where(best.any(-1), liked.argmax(-1), -1).astype(np.int32)
        yield configuration, taken, best
        if (taken < 0).all():
            return
        configuration = apply(oracle.system, configuration, taken)


def least(costs: Array) -> Array:
    """Where costs are least, and not `NEVER`."""
    return (costs == costs.min(-1, keepdims=True)) & (costs < NEVER)


def _projective_parts(gold: Gold) -> NDArray[np.int32]:
    """For each node the top of its maximal projective part: what arc-standard makes of a tree without swapping."""
    *_, (end, _, _) = _follow(Oracle(arc_standard(), static_costs), gold)
    nodes = np.arange(gold.heads.shape[-1], dtype=np.int32)
    tops = np.where(end.heads == NONE, nodes, end.heads)
    for _ in range(len(nodes).bit_length()):
        tops = np.take_along_axis(tops, tops, axis=-1)
    return tops

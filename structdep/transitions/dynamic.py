"""Dynamic oracles: what each transition costs, in any configuration (Goldberg, Nivre 2013)."""

from __future__ import annotations

from structdep.transitions.arrays import Array
from structdep.transitions.configuration import Configuration, apply, at, legal
from structdep.transitions.gold import Gold
from structdep.transitions.loss import loss
from structdep.transitions.notation import TransitionSystem
from structdep.transitions.static import NEVER


def dynamic_costs(system: TransitionSystem, configuration: Configuration, gold: Gold, by_arc: bool = False) -> Array:
    """The loss after each transition less the loss before it, `NEVER` where it must not be taken.

    int32 `[*batch, transitions]`. In swaps it is static (de Lhoneux, Stymne, Nivre 2017): one is taken where, and only
    where, it brings two words into projective order. `by_arc` counts the arcs that are closed one by one.
    """
    xp = configuration.stack.__array_namespace__()
    allowed = _allowed(system, configuration, gold)
    before = loss(system, configuration, gold, by_arc)
    costs = []
    for number in range(len(system.transitions)):
        after = apply(system, configuration, xp.where(allowed[..., number], number, -1))
        costs.append(loss(system, after, gold, by_arc) - before)
    return xp.where(allowed, xp.stack(costs, axis=-1), NEVER)


def arc_costs(system: TransitionSystem, configuration: Configuration, gold: Gold) -> Array:
    """The costs as published: `dynamic_costs` by arcs."""
    return dynamic_costs(system, configuration, gold, by_arc=True)


def _allowed(system: TransitionSystem, configuration: Configuration, gold: Gold) -> Array:
    """The legal transitions; a swap where it is needed, and then nothing else."""
    xp = configuration.stack.__array_namespace__()
    allowed = legal(system, configuration)
    nodes = configuration.features._asdict()
    for number, transition in enumerate(system.transitions):
        for left, right in transition.inverted:
            needed = allowed[..., number] & (at(gold.ranks, nodes[left]) > at(gold.ranks, nodes[right]))
            allowed &= needed[..., None] == (xp.arange(len(system.transitions)) == number)
    return allowed

"""Static oracles: the one transition to take on the way to a gold tree."""

from __future__ import annotations

from structdep.transitions.arrays import Array
from structdep.transitions.configuration import Configuration, at, legal
from structdep.transitions.gold import Gold
from structdep.transitions.notation import PLACES, Transition, TransitionSystem

NEVER = 2**30
"""The cost of a transition that must not be taken."""


def static_costs(system: TransitionSystem, configuration: Configuration, gold: Gold) -> Array:
    """0 for the transition to take, `NEVER` for all others: int32 `[*batch, transitions]`.

    A transition is right if the arc that it makes is gold, if the nodes that it removes have all their dependents, and
    if it turns the nodes that it swaps into projective order. Of the right ones the system's last is taken: arcs before
    swaps before shifts. An arc that could be made is best made now: with a node less, all others are nearer to each
    other, so that every tree which a system without swaps has is found.
    """
    return last_alone(are_right(system, configuration, gold))


def last_alone(right: Array) -> Array:
    """The costs that leave only the last of the right transitions."""
    xp = right.__array_namespace__()
    moves = right.shape[-1]
    last = moves - 1 - xp.argmax(xp.flip(right, axis=-1), axis=-1)
    return xp.where(right & (xp.arange(moves) == last[..., None]), 0, NEVER)


def are_right(system: TransitionSystem, configuration: Configuration, gold: Gold) -> Array:
    """The legal transitions on some way to the gold tree: bool `[*batch, transitions]`."""
    xp = configuration.stack.__array_namespace__()
    right = xp.stack([_is_right(t, configuration, gold) for t in system.transitions], axis=-1)
    return right & legal(system, configuration)


def _is_right(transition: Transition, configuration: Configuration, gold: Gold) -> Array:
    nodes = configuration.features._asdict()
    right = ~configuration.is_final
    if transition.arc:
        head, dependent = (nodes[place] for place in transition.arc)
        right &= at(gold.heads, dependent) == head
    for place in transition.removed:
        dependents = (configuration.heads == nodes[place][..., None]).sum(-1)
        right &= dependents == at(gold.dependents, nodes[place])
    for left, middle in transition.inverted:
        following = nodes[PLACES[PLACES.index(middle) + 1]]
        right &= at(gold.ranks, nodes[left]) > at(gold.ranks, nodes[middle])
        right &= at(gold.parts, nodes[middle]) != at(gold.parts, following)
    return right

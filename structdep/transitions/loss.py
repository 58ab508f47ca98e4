"""How many gold heads can no longer be had: the loss of any configuration, which dynamic oracles are made of.

A gold arc is open where, looked at alone, it can still be made. In arc-hybrid with the root first, all open arcs can be
made together (Goldberg, Nivre 2013: arc-decomposability). In arc-eager, if runs are to end in trees, and in arc-hybrid
with the root last and one dependent of it, they cannot: there the lowest word w on the stack that has no head waits for
a node y to end it, and all between w and y is closed with it. Open arcs that lead in or out of there are lost, those
from y apart, and the loss has them for the best y.
"""

from __future__ import annotations

from typing import NamedTuple

from structdep.transitions.arrays import Array, counts, inverse
from structdep.transitions.configuration import NONE, Configuration, at
from structdep.transitions.gold import Gold
from structdep.transitions.notation import TransitionSystem
from structdep.transitions.systems import without_head

MANY = 2**30


class Nodes(NamedTuple):
    """Slots of nodes on the stack (-1 for none), whether they stay there, or are yet to come: `[*batch, n+2]`."""

    slots: Array
    stays: Array
    comes: Array


def loss(system: TransitionSystem, configuration: Configuration, gold: Gold, by_arc: bool = False) -> Array:
    """The fewest words without their gold heads after any run from here: int32 `[*batch]`.

    Swaps are taken where the projective order demands them. `by_arc` counts arcs that are not open, and leaves it at
    that.
    """
    xp = configuration.stack.__array_namespace__()
    nodes = _nodes(system, configuration, gold)
    is_open = _open(system, configuration, gold, nodes)
    is_word = gold.heads != NONE
    lost = (is_word & (configuration.heads != gold.heads) & ~is_open).sum(-1, dtype=xp.int32)
    decomposable = _attaches_below(system) and not system.root_last
    return lost if by_arc or decomposable else lost + _closed(configuration, gold, nodes, is_open)


def _attaches_below(system: TransitionSystem) -> bool:
    """Whether a word on the stack can get its head from the stack."""
    return any(transition.arc == ("s1", "s0") for transition in system.transitions)


def _nodes(system: TransitionSystem, configuration: Configuration, gold: Gold) -> Nodes:
    xp = configuration.stack.__array_namespace__()
    slots = inverse(configuration.stack, configuration.stacked)
    in_buffer = inverse(configuration.buffer, configuration.buffered) >= 0
    first = xp.where(in_buffer, gold.ranks, MANY).min(-1, keepdims=True)
    comes_back = (slots >= 0) & (gold.ranks > first) & system.swaps
    return Nodes(slots, (slots >= 0) & ~comes_back, in_buffer | comes_back)


def _of_heads(table: Array, gold: Gold) -> Array:
    """What a table says of each word's gold head."""
    xp = table.__array_namespace__()
    return xp.take_along_axis(table, xp.maximum(gold.heads, 0), axis=-1)


def _open(system: TransitionSystem, configuration: Configuration, gold: Gold, nodes: Nodes) -> Array:
    """The words without head whose gold arcs can still be made: bool `[*batch, n+2]`.

    Both must be there; and if both stay on the stack, the head directly below, in systems with an arc for that.
    """
    there = nodes.stays | nodes.comes
    both_stay = nodes.stays & _of_heads(nodes.stays, gold)
    beside = _attaches_below(system) & (_of_heads(nodes.slots, gold) == nodes.slots - 1)
    waiting = (gold.heads != NONE) & (configuration.heads == NONE)
    return waiting & there & _of_heads(there, gold) & (~both_stay | beside)


def _closed(configuration: Configuration, gold: Gold, nodes: Nodes, is_open: Array) -> Array:
    """The open arcs that the waiting word w costs, for the best of the nodes y that may end it: int32 `[*batch]`.

    By ranks, [w, y) is closed: an arc u → v with u < w is lost if v < y, one with w <= u < v if u < y <= v, and one
    with w <= v < u if v < y < u. Where y is the root, w alone can have it as its head, and must.
    """
    xp = configuration.stack.__array_namespace__()
    headless = without_head(configuration)
    word = at(configuration.stack, xp.argmax(headless, axis=-1))
    w, v, beyond = at(gold.ranks, word)[..., None], gold.ranks, gold.ranks.shape[-1]
    u = _of_heads(v, gold)
    may_go = is_open & (w <= v)
    first = xp.where(may_go, xp.where(u < w, v, xp.minimum(u, v)) + 1, beyond)
    behind = xp.where(may_go & (w <= u), xp.where(u < v, v + 1, u), beyond)
    by_rank = xp.cumsum(counts(first, beyond + 1) - counts(behind, beyond + 1), axis=-1)
    number = xp.arange(beyond)
    by_root = (is_open & ((gold.heads == 0) != (number == word[..., None]))).sum(-1, keepdims=True)
    lost = xp.where(number == 0, by_root, xp.take_along_axis(by_rank, v, axis=-1))
    waits = headless.any(-1) & at(nodes.stays, word)
    return xp.where(waits, xp.where(nodes.comes, lost, MANY).min(-1), 0)

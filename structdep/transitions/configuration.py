"""Configurations of transition systems as arrays, and the effect of transitions, for arrays of numpy and of JAX.

The arrays that come in decide whether numpy or JAX computes. Nothing is written in place, and no shape depends on data:
all functions may be batched, jitted and vmapped.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from structdep.transitions.arrays import Array
from structdep.transitions.notation import PLACES, Transition, TransitionSystem

NONE = -1


class Features(NamedTuple):
    """The nodes next to the border of stack and buffer, which scorers may look at.

    All are int32 `[*batch]`: 0 is the root, 1 to length are words, and length + 1 means that there is no node.

    Args:
        s2: the third node of the stack, from its top.
        s1: the second node of the stack.
        s0: the top of the stack.
        b0: the front of the buffer.
        b1: the second node of the buffer.
    """

    s2: Array
    s1: Array
    s0: Array
    b0: Array
    b1: Array


class Configuration(NamedTuple):
    """Configurations of sentences: stack, buffer, and the heads that words have got.

    Args:
        stack: int32 `[*batch, n+2]`; the first `stacked` entries are the nodes of the stack, s0 last.
        stacked: int32 `[*batch]`.
        buffer: int32 `[*batch, n+2]`; the first `buffered` entries are the nodes of the buffer, b0 last.
        buffered: int32 `[*batch]`.
        heads: int32 `[*batch, n+2]`, the head of each node; -1 if it has none yet.
        lengths: int32 `[*batch]`, the number of words of each sentence.
    """

    stack: Array
    stacked: Array
    buffer: Array
    buffered: Array
    heads: Array
    lengths: Array

    @property
    def features(self) -> Features:
        """The nodes next to the bar, which scores may look at."""
        on_stack = (self._node(self.stack, self.stacked, depth) for depth in (2, 1, 0))
        in_buffer = (self._node(self.buffer, self.buffered, depth) for depth in (0, 1))
        return Features(*on_stack, *in_buffer)

    def _node(self, array: Array, size: Array, depth: int) -> Array:
        xp = array.__array_namespace__()
        return xp.where(size > depth, at(array, xp.maximum(size - 1 - depth, 0)), self.lengths + 1)

    @property
    def is_final(self) -> Array:
        """Whether the root alone is left: bool `[*batch]`."""
        return self.stacked + self.buffered == 1


def at(table: Array, node: Array) -> Array:
    """What a table `[*batch, n+2]` says of a node `[*batch]`."""
    xp = table.__array_namespace__()
    return xp.take_along_axis(table, node[..., None], axis=-1)[..., 0]


def start(system: TransitionSystem, lengths: Array, words: int) -> Configuration:
    """The first configuration of sentences of `lengths` words, with room for `words`."""
    xp = lengths.__array_namespace__()
    lengths = lengths.astype(xp.int32)
    slot = xp.broadcast_to(xp.arange(words + 2, dtype=xp.int32), (*lengths.shape, words + 2))
    last = xp.where(slot == 0, 0, lengths[..., None] + 1 - slot) if system.root_last else lengths[..., None] - slot
    ones = xp.ones_like(lengths)
    return Configuration(
        stack=xp.zeros_like(slot),
        stacked=0 * ones if system.root_last else ones,
        buffer=xp.maximum(last, 0),
        buffered=lengths + system.root_last,
        heads=xp.full_like(slot, NONE),
        lengths=lengths,
    )


def legal(system: TransitionSystem, configuration: Configuration) -> Array:
    """The transitions that may be taken: bool `[*batch, transitions]`; none in a final configuration."""
    xp = configuration.stack.__array_namespace__()
    nodes = configuration.features._asdict()
    return xp.stack([_is_legal(t, configuration, nodes) for t in system.transitions], axis=-1)


def _is_legal(transition: Transition, configuration: Configuration, nodes: dict[str, Array]) -> Array:
    stack, buffer = transition.before
    allowed = (configuration.stacked >= len(stack)) & (configuration.buffered >= len(buffer))
    dependents = transition.arc[1:] if transition.arc else ()
    for place in {*transition.crossing, *transition.removed, *dependents}:
        allowed &= nodes[place] != 0
    for place in dependents:
        allowed &= at(configuration.heads, nodes[place]) == NONE
    for place in set(transition.removed).difference(dependents):
        allowed &= at(configuration.heads, nodes[place]) != NONE
    for left, right in transition.inverted:
        allowed &= nodes[left] < nodes[right]
    return allowed if transition.requires is None else allowed & transition.requires(configuration)


def apply(system: TransitionSystem, configuration: Configuration, transition: Array) -> Configuration:
    """The next configuration: `transition`, int `[*batch]`, numbers those of the system, -1 leaves all as it is."""
    xp = configuration.stack.__array_namespace__()
    nodes = xp.stack([*configuration.features, xp.full_like(configuration.lengths, NONE)], axis=-1)

    def chosen(places: NDArray[np.int32]) -> Array:
        return xp.take_along_axis(nodes, xp.asarray(places)[transition], axis=-1)

    effects = _effects(system)
    popped = xp.asarray(effects.popped)[transition]
    stack, stacked = _push(configuration.stack, configuration.stacked - popped[..., 0], chosen(effects.stack))
    buffer, buffered = _push(configuration.buffer, configuration.buffered - popped[..., 1], chosen(effects.buffer))
    arc = chosen(effects.arc)
    is_dependent = xp.arange(stack.shape[-1]) == arc[..., 1:]
    heads = xp.where(is_dependent, arc[..., :1], configuration.heads)
    return Configuration(stack, stacked, buffer, buffered, heads, configuration.lengths)


def _push(array: Array, size: Array, nodes: Array) -> tuple[Array, Array]:
    """An array with these nodes at its end, those that are none left out."""
    xp = array.__array_namespace__()
    slots = xp.arange(array.shape[-1])
    for column in range(nodes.shape[-1]):
        node = nodes[..., column : column + 1]
        array = xp.where((slots == size[..., None]) & (node != NONE), node, array)
        size = size + (node[..., 0] != NONE)
    return array, size


class Effects(NamedTuple):
    """What each transition does, a row each, and a last row that does nothing.

    How many nodes it takes from stack and buffer; the places of those that it then puts there, and of head and
    dependent: numbers of `PLACES`, or the next one for none.
    """

    popped: NDArray[np.int32]
    stack: NDArray[np.int32]
    buffer: NDArray[np.int32]
    arc: NDArray[np.int32]


@cache
def _effects(system: TransitionSystem) -> Effects:
    sides = [(t.before[0], t.after[0], t.before[1][::-1], t.after[1][::-1]) for t in system.transitions]
    stack = [_rest(before, after) for before, after, _, _ in sides]
    buffer = [_rest(before, after) for _, _, before, after in sides]
    popped = [[s, b] for (s, _), (b, _) in zip(stack, buffer, strict=True)]
    return Effects(
        np.array([*popped, [0, 0]], np.int32),
        _table([pushed for _, pushed in stack]),
        _table([pushed for _, pushed in buffer]),
        _table([t.arc or ("", "") for t in system.transitions]),
    )


def _rest(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    """How many nodes to take from an end, and which to put there."""
    same = 0
    while before[same : same + 1] == after[same : same + 1] != ():
        same += 1
    return len(before) - same, after[same:]


def _table(rows: list[tuple[str, ...]]) -> NDArray[np.int32]:
    width = max(map(len, rows))
    table = np.full((len(rows) + 1, width), len(PLACES), np.int32)
    for row, places in zip(table, rows, strict=False):
        row[: len(places)] = [PLACES.index(place) if place else len(PLACES) for place in places]
    return table

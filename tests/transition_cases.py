"""Transition systems and their oracles, random scores for them, and plain configurations as arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from plain_transitions import Plain

from structdep.transitions import (
    Configuration,
    TransitionSystem,
    arc_eager,
    arc_hybrid,
    arc_standard,
    dynamic_oracle,
    mh4,
    static_oracle,
)

SYSTEMS = (arc_standard(), arc_standard(swap=True), arc_hybrid(), arc_hybrid(swap=True), arc_eager(), mh4())
each_system = pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
ORACLES = {
    "arc_standard": static_oracle(arc_standard()),
    "arc_standard_swap": static_oracle(arc_standard(swap=True)),
    "arc_standard_swap, lazy": static_oracle(arc_standard(swap=True), lazy=True),
    "arc_hybrid": static_oracle(arc_hybrid()),
    "arc_hybrid, dynamic": dynamic_oracle(arc_hybrid()),
    "arc_hybrid_swap": static_oracle(arc_hybrid(swap=True)),
    "arc_hybrid_swap, dynamic": dynamic_oracle(arc_hybrid(swap=True)),
    "arc_hybrid_swap, by arc": dynamic_oracle(arc_hybrid(swap=True), by_arc=True),
    "arc_eager": static_oracle(arc_eager()),
    "arc_eager, dynamic": dynamic_oracle(arc_eager()),
    "arc_eager, by arc": dynamic_oracle(arc_eager(), by_arc=True),
    "mh4": static_oracle(mh4()),
}
Tables = dict[str, NDArray[np.float32]]


def some_tables(
    system: TransitionSystem, words: int, batch: tuple[int, ...] = (), seed: int = 0, ends: Sequence[str] = ("", ":s1")
) -> Tables:
    """Random scores of all transitions."""
    rng = np.random.default_rng(seed)
    arity = {"": 2, ":s1": 2, ":full": 3}
    return {
        name + end: rng.normal(size=(*batch, *[words + 2] * arity[end])).astype(np.float32)
        for name in system.names
        for end in ends
    }


def as_arrays(configurations: Sequence[Plain]) -> Configuration:
    """A batch of configurations of as many words each."""
    words = len(configurations[0].heads)
    rows = [
        (
            _padded(c.stack, words),
            len(c.stack),
            _padded(c.buffer[::-1], words),
            len(c.buffer),
            (-1, *c.heads, -1),
            words,
        )
        for c in configurations
    ]
    columns: Any = zip(*rows, strict=True)
    return Configuration(*(np.array(column, np.int32) for column in columns))


def _padded(nodes: tuple[int, ...], words: int) -> tuple[int, ...]:
    return (*nodes, *[0] * (words + 2 - len(nodes)))


def as_plain(configuration: Configuration) -> list[Plain]:
    """The configurations of a batch."""
    stack, stacked, buffer, buffered, heads, lengths = (np.asarray(array) for array in configuration)
    return [
        Plain(
            tuple(stack[i, : stacked[i]].tolist()),
            tuple(buffer[i, : buffered[i]][::-1].tolist()),
            tuple(heads[i, 1 : lengths[i] + 1].tolist()),
        )
        for i in range(len(lengths))
    ]

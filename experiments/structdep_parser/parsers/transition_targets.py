"""What transition parsers are trained on: the runs of a static oracle, or what a dynamic one needs to know of trees."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import jax
import numpy as np

from structdep.transitions import Gold, Oracle, Sequences, sequences, static_oracle
from structdep_parser.data.batch import TreeBatch
from structdep_parser.data.conllu import Heads
from structdep_parser.data.corpus import padded

AT_ONCE = 256
Room = Callable[[int], int]


class Runs:
    """For batches of a corpus the runs that an oracle makes of its trees, computed once, when first needed.

    `room` says how many transitions there are at most in a sentence of at most so many words.
    """

    def __init__(self, oracle: Oracle, trees: Heads, room: Room | None = None) -> None:
        self.oracle, self.trees, self.room = oracle, trees, room or self._room

    def of(self, trees: Heads) -> "Runs":
        """Of other trees, in as much room: what is longer is cut, and never is without swaps."""
        return Runs(self.oracle, trees, self.room)

    @cached_property
    def each(self) -> list[Sequences]:
        return runs(self.oracle, self.trees)

    def _room(self, words: int) -> int:
        """At least as many as all need that never swap."""
        pairs = zip(self.trees, self.each, strict=True)
        return max([2 * words, *(len(run.transitions) for tree, run in pairs if len(tree) <= words)])

    def __call__(self, batch: TreeBatch) -> Sequences:
        """`[B, steps]`; without any transitions in rows that only fill the batch."""
        rows, words = batch.heads.shape
        steps = self.room(words)
        made: Sequences = jax.tree.map(lambda leaf: np.zeros((rows, steps, *leaf.shape[1:]), leaf.dtype), self.each[0])
        for row, index in enumerate(np.asarray(batch.index).tolist()):
            if index >= 0:
                for table, run in zip(jax.tree.leaves(made), jax.tree.leaves(self.each[index]), strict=True):
                    table[row, : len(run)] = run[:steps]
        return made


def runs(oracle: Oracle, trees: Heads) -> list[Sequences]:
    """The run of each tree, arrays `[steps]`; sentences of similar length go side by side.

    Example:
        >>> from structdep.transitions import arc_hybrid
        >>> [run.transitions.tolist() for run in runs(static_oracle(arc_hybrid()), [np.array([2, 0]), np.array([0])])]
        [[0, 1, 0, 2], [0, 2]]
    """
    made: list[Sequences] = [None] * len(trees)  # type: ignore[list-item]
    order = np.argsort([len(tree) for tree in trees], kind="stable").tolist()
    for first in range(0, len(order), AT_ONCE):
        members = order[first : first + AT_ONCE]
        lengths = np.array([len(trees[member]) for member in members])
        heads = np.zeros((len(members), lengths.max()), np.int32)
        for row, member in zip(heads, members, strict=True):
            row[: len(trees[member])] = trees[member]
        found = sequences(oracle, heads, lengths)
        steps = (found.transitions >= 0).sum(-1).tolist()
        for row, member in enumerate(members):
            made[member] = _trimmed(found, row, steps[row])
    return made


def _trimmed(found: Sequences, row: int, steps: int) -> Sequences:
    trimmed: Sequences = jax.tree.map(lambda leaf: leaf[row, :steps], found)
    return trimmed


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Exploration:
    """Trees `[B, n]` as an oracle looks at them, and how many transitions to follow."""

    gold: Gold
    steps: int = field(metadata={"static": True})


class Explorations:
    """For batches of a corpus, its trees, with as much room for transitions as its sentences need without errors."""

    def __init__(self, oracle: Oracle, trees: Heads, room: Room | None = None) -> None:
        self.oracle, self.trees = oracle, trees
        self.room = room or Runs(static_oracle(oracle.system), trees).room

    def of(self, trees: Heads) -> "Explorations":
        """Of other trees, in as much room."""
        return Explorations(self.oracle, trees, self.room)

    def __call__(self, batch: TreeBatch) -> Exploration:
        gold = self.oracle.gold(padded(batch, self.trees), batch.lengths)
        return Exploration(gold, self.room(batch.heads.shape[1]))

"""Attachment scores: the number of words with the right head, and with the right relation."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from structdep.trees.heads import concrete, is_word_of


@dataclass(frozen=True)
class AttachmentCounts:
    """Counts of words with the right head, and with the right head and relation; counts of several sentences add up.

    Args:
        total: the number of words.
        uas_correct: the number of words with the right head.
        las_correct: the number of words with the right head and the right relation.

    Example:
        >>> first = AttachmentCounts.of([2, 0], ["det", "root"], [2, 0], ["amod", "root"])
        >>> second = AttachmentCounts.of([0, 1], ["root", "obj"], [2, 0], ["nsubj", "root"])
        >>> first + second, (first + second).uas, (first + second).las
        (AttachmentCounts(total=4, uas_correct=2, las_correct=1), 0.5, 0.25)
    """

    total: int = 0
    uas_correct: int = 0
    las_correct: int = 0

    @classmethod
    def of(
        cls,
        gold_heads: ArrayLike,
        gold_deprels: ArrayLike,
        heads: ArrayLike,
        deprels: ArrayLike,
        lengths: ArrayLike | None = None,
    ) -> AttachmentCounts:
        """Counts of predicted trees against gold trees.

        Args:
            gold_heads: int `[*batch, n]`.
            gold_deprels: the relations of the gold trees, numbers or strings, `[*batch, n]`.
            heads: the predicted heads, int `[*batch, n]`.
            deprels: the predicted relations, `[*batch, n]`.
            lengths: int `[*batch]`, the number of words of each sentence; default: n.

        Returns:
            The counts of all sentences together.

        Raises:
            TypeError: gold heads or lengths that are not integers.
            ValueError: arrays of different shapes, or lengths out of range.
        """
        gold, lengths = concrete(gold_heads, lengths)
        arrays = {"gold_deprels": gold_deprels, "heads": heads, "deprels": deprels}
        found = {name: np.asarray(array) for name, array in arrays.items()}
        for name, array in found.items():
            if array.shape != gold.shape:
                raise ValueError(f"{name} have shape {array.shape}, gold_heads {gold.shape}: expected one entry a word")
        is_word = is_word_of(gold, lengths)
        attached = is_word & (gold == found["heads"])
        labeled = attached & (found["gold_deprels"] == found["deprels"])
        return cls(int(is_word.sum()), int(attached.sum()), int(labeled.sum()))

    def __add__(self, other: AttachmentCounts) -> AttachmentCounts:
        sums = (self.total + other.total, self.uas_correct + other.uas_correct, self.las_correct + other.las_correct)
        return AttachmentCounts(*sums)

    @property
    def uas(self) -> float:
        """Unlabelled attachment score, uas_correct / total, in 0..1; NaN if there are no words."""
        return self.uas_correct / self.total if self.total else math.nan

    @property
    def las(self) -> float:
        """Labelled attachment score, las_correct / total, in 0..1; NaN if there are no words."""
        return self.las_correct / self.total if self.total else math.nan

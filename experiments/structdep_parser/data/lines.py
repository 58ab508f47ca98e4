"""Sequences behind one another in lines of one width, so that sentences of all lengths are read in arrays of one shape.

An array `start` `[lines, width]` says where sequences are: at each place the number of the first place of its sequence,
where places are counted through all lines; padding is a sequence of one place. Nothing else has to be known in order to
read each sequence by itself.
"""

from bisect import bisect_left, insort

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray


class Room:
    """What is left of lines of one width; `put` finds the place of a sequence, in the fullest line with room for it.

    Args:
        width: places in each line.
        most: how many lines there are; as many as are needed where it is None.
        alone: each sequence has a line of its own, in order.

    Example:
        >>> room = Room(8, 2)
        >>> [room.put(length) for length in (5, 4, 3, 4, 1)], room.lines
        ([0, 8, 5, 12, None], 2)
        >>> lonely = Room(8, alone=True)
        >>> [lonely.put(length) for length in (3, 3, 9)]
        [0, 8, None]
    """

    def __init__(self, width: int, most: int | None = None, alone: bool = False) -> None:
        self.width, self.most, self.alone, self.lines = width, most, alone, 0
        self.left: list[tuple[int, int]] = []

    def put(self, length: int) -> int | None:
        """Its first place, counted through all lines; None where there is no room."""
        at = bisect_left(self.left, (length, 0))
        if at < len(self.left):
            left, line = self.left.pop(at)
        elif self.lines == self.most or length > self.width:
            return None
        else:
            left, line = self.width, self.lines
            self.lines += 1
        if not self.alone and left > length:
            insort(self.left, (left - length, line))
        return (line + 1) * self.width - left


def begins(start: jax.Array) -> jax.Array:
    """Whether a sequence, or padding, begins at each place."""
    return start == jnp.arange(start.size).reshape(start.shape)


def ends(start: jax.Array) -> jax.Array:
    """Whether a sequence, or padding, ends at each place.

    Example:
        >>> start = jnp.array([[0, 0, 0, 3], [4, 4, 6, 6]])
        >>> begins(start).astype(int).tolist(), ends(start).astype(int).tolist()
        ([[1, 0, 0, 1], [1, 0, 1, 0]], [[0, 0, 1, 1], [0, 1, 0, 1]])
    """
    return jnp.pad(begins(start)[:, 1:], ((0, 0), (0, 1)), constant_values=True)


def one_a_line(lengths: jax.Array, width: int) -> jax.Array:
    """The starts where each line has one sequence, of this length.

    Example:
        >>> one_a_line(jnp.array([2, 3]), 3).tolist()
        [[0, 0, 2], [3, 3, 3]]
    """
    places = jnp.arange(len(lengths) * width).reshape(len(lengths), width)
    return jnp.where(jnp.arange(width) < lengths[:, None], places[:, :1], places)


def empty(lines: int, width: int) -> NDArray[np.int32]:
    """The starts of lines with padding alone."""
    return np.arange(lines * width, dtype=np.int32).reshape(lines, width)

"""A language of list operations whose answers depend on trees (after Nangia and Bowman 2018): max( 2 9 min( 4 7 ) )."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

DIGITS = 10
OPERATORS = {DIGITS: max, DIGITS + 1: min}
CLOSE, ROOT = DIGITS + 2, DIGITS + 3
TOKENS = ROOT + 1
"""Numbers of tokens: the digits, the operators with their opening brackets, the closing bracket, and the root."""
MOST_ARGUMENTS, NESTING = 3, 0.5


class Expressions(NamedTuple):
    """Expressions as arrays: `tokens` and `heads` `[count, n]`, `lengths` and `answers` `[count]`, all int32.

    In the true tree, arguments and the closing bracket depend on their operator, and the first operator on the root.
    """

    tokens: jax.Array
    heads: jax.Array
    lengths: jax.Array
    answers: jax.Array

    def rows(self, chosen: slice | jax.Array) -> Expressions:
        return Expressions(*(field[chosen] for field in self))


@dataclass
class Expression:
    """Tokens and their heads, from 1; 0 is the root."""

    tokens: list[int]
    heads: list[int]
    answer: int = -1

    @property
    def is_nested(self) -> bool:
        return len(OPERATORS.keys() & set(self.tokens)) > 1


def generate(count: int, words: int, depth: int, seed: int) -> Expressions:
    """`count` random expressions of at most `words` tokens, with 2 to `depth` operators inside one another.

    Example:
        >>> found = generate(1, words=8, depth=2, seed=4)
        >>> found.tokens[0].tolist(), found.heads[0].tolist(), int(found.answers[0])
        ([10, 11, 4, 8, 12, 5, 12, 0], [0, 1, 2, 2, 2, 1, 1, 0], 5)
    """
    if words < 7:
        raise ValueError(f"an expression has at most {words} tokens: one operator inside another needs at least 7")
    if depth < 2:
        raise ValueError(f"operators have depth {depth}: answers depend on trees where it is at least 2")
    made = _short_and_nested(np.random.default_rng(seed), words, depth)
    chosen = [next(made) for _ in range(count)]
    lengths = [len(one.tokens) for one in chosen]
    tokens, heads = (np.zeros((count, words), np.int32) for _ in range(2))
    for row, (one, length) in enumerate(zip(chosen, lengths, strict=True)):
        tokens[row, :length], heads[row, :length] = one.tokens, one.heads
    return Expressions(*map(jnp.asarray, (tokens, heads, lengths, [one.answer for one in chosen])))


def _short_and_nested(random: np.random.Generator, words: int, depth: int) -> Iterator[Expression]:
    while True:
        made = Expression([], [])
        made.answer = _extend(made, random, 0, int(random.integers(len(OPERATORS))), depth)
        if made.is_nested and len(made.tokens) <= words:
            yield made


def _extend(made: Expression, random: np.random.Generator, head: int, operator: int, depth: int) -> int:
    """Append an operator with its arguments, and return its value.

    An operator inside another is never the same: the maximum of maxima would not depend on the tree.
    """
    made.tokens.append(DIGITS + operator)
    made.heads.append(head)
    own, values = len(made.tokens), []
    for _ in range(random.integers(2, MOST_ARGUMENTS + 1)):
        if depth > 1 and random.random() < NESTING:
            values.append(_extend(made, random, own, 1 - operator, depth - 1))
        else:
            values.append(int(random.integers(DIGITS)))
            made.tokens.append(values[-1])
            made.heads.append(own)
    made.tokens.append(CLOSE)
    made.heads.append(own)
    return OPERATORS[DIGITS + operator](values)

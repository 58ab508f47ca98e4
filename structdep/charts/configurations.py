"""Scores of transitions, as functions of the configuration: stack top s0, below it s1, buffer front b0."""

from structdep.deduction import Position, Product, Score

shift = Score("shift", sentinel=True)
"""`shift[s0, b0]`: push b0 on the stack."""


def reduce_scores(*names: str) -> tuple[Score, ...]:
    """The tables of each reduce transition t: `t[s0, b0]`, `t:s1[s1, s0]` and `t:full[s1, s0, b0]`, all optional."""
    return tuple(Score(name + features, sentinel=True) for name in names for features in ("", ":s1", ":full"))


def reduce(name: str, s1: Position, s0: Position, b0: Position) -> Product:
    """The score of reduce transition `name` in a configuration: the product of its tables."""
    pair, below, full = reduce_scores(name)
    return pair[s0, b0] * below[s1, s0] * full[s1, s0, b0]

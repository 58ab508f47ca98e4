"""`inside(system, scores, semiring)`: the value of a chart."""

from __future__ import annotations

from typing import Any

import jax
from numpy.typing import ArrayLike

from structdep.inference.constraints import Constraints
from structdep.inference.derivatives import evaluate
from structdep.inference.scores import Tables, flat, problem
from structdep.semirings import MaxPlus, Semiring
from structdep.semirings.base import chart_of, instance
from structdep.trees.classes import System


def inside(
    system: System,
    scores: Tables,
    lengths: ArrayLike | None = None,
    semiring: Semiring | type[Semiring] = MaxPlus,
    constraints: Constraints | None = None,
) -> Any:
    """The semiring sum over all derivations of the product of their scores.

    Args:
        system: from `structdep.charts`, your own, or `structdep.spanning.all_trees()`.
        scores: `[*batch, n+1, n+1]`, `[head, dependent]`, row 0 the root, -inf where an arc is forbidden; or a mapping
            from score names to arrays (tables of transitions have n+2 positions, the last is the sentinel; `label`,
            `[*batch, n+1, n+1, labels]`, adds a choice of labels to each arc).
        lengths: int `[*batch]`, the number of words of each sentence; n where absent.
        semiring: `MaxPlus` (the best score), `LogSum` (the log-partition), .., a class or an instance.
        constraints: known heads and forbidden arcs, which all derivations have to obey.

    Returns:
        float32 (or wider, as the scores) `[*batch]`; -inf where no tree is allowed, NaN where a score is NaN or +inf.
        Derivatives of any order, in forward and reverse mode, are exact, and zero in padding.

    Raises:
        TypeError, ValueError: scores or lengths of wrong dtypes or shapes.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> scores = jnp.zeros((3, 3)).at[0, 2].set(5.0).at[2, 1].set(1.0)
        >>> sd.inside(sd.charts.eisner(), scores)
        Array(6., dtype=float32)
        >>> jnp.exp(sd.inside(sd.charts.eisner(), jnp.zeros((3, 3)), semiring=sd.LogSum)).round(4)
        Array(3., dtype=float32)
    """
    semiring = instance(semiring)
    tables, lengths = problem(system, scores, lengths, constraints).lift(semiring)
    rows: tuple[dict[str, Any], jax.Array] = flat((tables, lengths), lengths.ndim)
    value = evaluate(system, chart_of(semiring), *rows, semiring.randomness())
    return jax.tree.map(lambda leaf: leaf.reshape(*lengths.shape, *leaf.shape[1:]), semiring.lower(value))

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
    """The semiring sum over all derivations of the semiring product of their scores.

    Args:
        system: a system from `structdep.charts`, `structdep.spanning.all_trees()`, or your own.
        scores: arc scores, float `[*batch, n+1, n+1]`, indexed by head and dependent; row 0 is the root, and -inf
            forbids an arc. Or a mapping from the names of scores to tables: `system.declared` lists the names and the
            number of positions of each. Tables of transitions have n+2 positions an axis, the last of which is the
            sentinel behind the sentence. `label`, `[*batch, n+1, n+1, labels]`, scores the labels of each arc, for
            every system.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        semiring: what is computed, a class or an instance, such as `MaxPlus` or `KBest(5)`.
        constraints: known heads and forbidden arcs. Derivations that violate them do not count.

    Returns:
        A value for each sentence, in the dtype of the scores, at least float32. `MaxPlus`, `LogSum`, `CostAugmented`,
        `Counting` and `Sample`: an array `[*batch]`, -inf if no tree is allowed. `KBest(k)`: `[*batch, k]`. `Entropy`:
        the pair `Entropies(log_partition, entropy)`, and `Expectation`: the triple `Moments(log_partition, mean,
        variance)`, all `[*batch]`. `Pair`: a tuple of the results of both semirings. `SingleRoot(semiring)`: the result
        of `semiring`. Values are NaN if a score is NaN or +inf. Derivatives are exact, in forward and reverse mode and
        of any order, and 0 in padding.

    Raises:
        TypeError: scores or lengths of a wrong dtype; a system, semiring or constraints of a wrong type.
        ValueError: wrong shapes, unknown names of scores, or lengths out of range.

    References:
        Goodman 1999, Semiring parsing.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> scores = jnp.zeros((3, 3)).at[0, 2].set(5.0).at[2, 1].set(1.0)
        >>> sd.inside(sd.charts.eisner(), scores)
        Array(6., dtype=float32)
        >>> jnp.exp(sd.inside(sd.charts.eisner(), jnp.zeros((3, 3)), semiring=sd.LogSum)).round(4)
        Array(3., dtype=float32)
        >>> sd.inside(sd.charts.eisner(), scores, semiring=sd.KBest(2))
        Array([6., 5.], dtype=float32)
    """
    semiring = instance(semiring)
    tables, lengths = problem(system, scores, lengths, constraints).lift(semiring)
    rows: tuple[dict[str, Any], jax.Array] = flat((tables, lengths), lengths.ndim)
    value = evaluate(system, chart_of(semiring), *rows, semiring.randomness())
    return jax.tree.map(lambda leaf: leaf.reshape(*lengths.shape, *leaf.shape[1:]), semiring.lower(value))

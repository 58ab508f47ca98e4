"""What a chart tells: the best tree, the probability of each arc, the nearest tree."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from structdep.deduction import DeductionSystem
from structdep.inside import flat, inside, run
from structdep.scores import Tables, problem
from structdep.semirings import LogSum, MaxPlus, Semiring
from structdep.trees import check_trees_unless_traced, heads_to_arcs


def argmax(
    system: DeductionSystem,
    scores: Tables,
    lengths: ArrayLike | None = None,
    semiring: Semiring | type[Semiring] = MaxPlus,
) -> jax.Array:
    """The best tree of the system's class: `heads` int32 `[*batch, n]`, 0 in padding.

    Always one tree of the class, also among ties: then the one that takes the first rule, then the leftmost split.
    Where no tree is allowed, or a score is NaN, every head is -1. Arguments and errors as in `inside`; `CostAugmented`
    gives the tree that a hinge loss pushes down.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.argmax(sd.charts.mhk(4), jnp.zeros((3, 3)).at[2, 1].set(1.0))
        Array([2, 0], dtype=int32)
    """
    semiring = semiring() if isinstance(semiring, type) else semiring
    if not semiring.idempotent:
        raise ValueError(f"argmax needs a semiring with a best derivation: MaxPlus, say, not {type(semiring).__name__}")
    tables, lengths = problem(system, scores, lengths)
    lifted = {name: semiring.lift(name, table) for name, table in tables.items()}
    value, uses = run(system, semiring.chart(), True, *flat((lifted, lengths), lengths.ndim))
    arcs = uses["arc"].reshape(tables["arc"].shape)[..., 1 : arc_words(system, tables) + 1]
    heads = jnp.argmax(arcs, axis=-2).astype(jnp.int32)
    value = value.reshape(lengths.shape)
    exists = (value != semiring.zero) & ~jnp.isnan(value)
    padding = jnp.arange(heads.shape[-1]) >= lengths[..., None]
    return jnp.where(exists[..., None] | padding, heads, -1)


def arc_words(system: DeductionSystem, tables: dict[str, jax.Array]) -> int:
    """The number of words of masked tables."""
    return tables["arc"].shape[-1] - 1 - system.last


def marginals(system: DeductionSystem, scores: Tables, lengths: ArrayLike | None = None) -> Any:
    """The probability of each score's use, in the shape of the scores: the gradient of the log-partition.

    For an unambiguous system (`system.unambiguous`) the arc marginals are those of trees, p(tree) ∝ exp(score);
    otherwise those of derivations, where a tree counts once for each of its derivations. All zero where no tree is
    allowed.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.marginals(sd.charts.eisner(), jnp.zeros((3, 3))).round(4)
        Array([[0.    , 0.6667, 0.6667],
               [0.    , 0.    , 0.3333],
               [0.    , 0.3333, 0.    ]], dtype=float32)
    """

    def widen(table: ArrayLike) -> jax.Array:
        return jnp.asarray(table).astype(jnp.promote_types(jnp.asarray(table).dtype, jnp.float32))

    wide = jax.tree.map(widen, scores)
    return jax.grad(lambda s: inside(system, s, lengths, LogSum).sum())(wide)


def nearest_tree(system: DeductionSystem, heads: ArrayLike, lengths: ArrayLike | None = None) -> jax.Array:
    """A tree of the system's class with as many of these heads as one can have: int32 `[*batch, n]`.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.nearest_tree(sd.charts.eisner(), jnp.array([3, 4, 0, 3]))
        Array([3, 3, 0, 3], dtype=int32)
    """
    check_trees_unless_traced(heads, lengths)
    return argmax(system, heads_to_arcs(heads, lengths).astype(jnp.float32), lengths)

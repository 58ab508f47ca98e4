"""What a class of trees tells: the best tree, a random one, the probability of each arc, the nearest tree."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from structdep.inference.constraints import Constraints
from structdep.inference.derivation import heads
from structdep.inference.inside import inside
from structdep.inference.scores import Problem, Tables, all_wide, flat, problem
from structdep.semirings import LogSum, MaxPlus, Semiring, SingleRoot
from structdep.semirings.base import chart_of, instance
from structdep.trees.classes import System
from structdep.trees.heads import check_trees_unless_traced, heads_to_arcs


def argmax(
    system: System,
    scores: Tables,
    lengths: ArrayLike | None = None,
    semiring: Semiring | type[Semiring] = MaxPlus,
    constraints: Constraints | None = None,
    *,
    single_root: bool = False,
) -> jax.Array:
    """The best tree of each sentence, among the trees of the system.

    If several trees are best, the result is one of them. With `CostAugmented`, it is the tree that a hinge loss
    compares with the gold tree.

    Args:
        system: a system from `structdep.charts`, `structdep.spanning.all_trees()`, or your own.
        scores: arc scores, float `[*batch, n+1, n+1]`, or a mapping from names to tables; see `inside`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        semiring: `MaxPlus`, `CostAugmented`, or an idempotent semiring of your own.
        constraints: known heads and forbidden arcs.
        single_root: whether exactly one word depends on the root.

    Returns:
        The head of each word, int32 `[*batch, n]`: 0 is the root, and padding. -1 for all words of a sentence if no
        tree is allowed, a score is NaN or +inf, or a sum of scores overflows.

    Raises:
        TypeError: as by `inside`.
        ValueError: as by `inside`; a semiring in which no derivation is the best, such as `LogSum`.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.argmax(sd.charts.mhk(4), jnp.zeros((3, 3)).at[2, 1].set(1.0))
        Array([2, 0], dtype=int32)
    """
    semiring = instance(semiring)
    if not semiring.idempotent or len(jax.tree.leaves(semiring.chart().zero)) != 1:
        raise ValueError(f"argmax needs a semiring with a best derivation: MaxPlus, say, not {type(semiring).__name__}")
    given = problem(system, scores, lengths, constraints)
    return _derived(system, given, SingleRoot(semiring) if single_root else semiring, None)


def sample(
    system: System,
    scores: Tables,
    key: jax.Array,
    lengths: ArrayLike | None = None,
    constraints: Constraints | None = None,
    *,
    single_root: bool = False,
) -> jax.Array:
    """A random tree of each sentence, drawn with p(derivation) ∝ exp(score).

    In an ambiguous system, a tree is drawn with the sum of the probabilities of its derivations.

    Args:
        system: a system from `structdep.charts`, `structdep.spanning.all_trees()`, or your own.
        scores: arc scores, float `[*batch, n+1, n+1]`, or a mapping from names to tables; see `inside`.
        key: one key of `jax.random`, for all sentences.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        constraints: known heads and forbidden arcs.
        single_root: whether exactly one word depends on the root.

    Returns:
        The head of each word, int32 `[*batch, n]`, as by `argmax`.

    Raises:
        TypeError, ValueError: as by `inside`.

    Example:
        >>> import jax, jax.numpy as jnp, structdep as sd
        >>> sd.sample(sd.charts.eisner(), jnp.zeros((3, 3)).at[2, 1].set(99.0), jax.random.key(0))
        Array([2, 0], dtype=int32)
    """
    given = problem(system, scores, lengths, constraints)
    return _derived(system, given, SingleRoot(LogSum()) if single_root else LogSum(), key)


def _derived(system: System, given: Problem, semiring: Semiring, key: jax.Array | None) -> jax.Array:
    """The heads of a best derivation, or of a random one, -1 where there is none."""
    tables, lengths = given.lift(semiring)
    rows, row_lengths = flat((tables, lengths), lengths.ndim)
    found = heads(system, chart_of(semiring), rows, row_lengths, key)
    return found.reshape(*lengths.shape, given.words)


def best_labels(scores: ArrayLike, heads: ArrayLike) -> jax.Array:
    """The best label of the arc of each word.

    Args:
        scores: scores of labels, float `[*batch, n+1, n+1, labels]`, indexed by head, dependent and label.
        heads: the head of each word, int `[*batch, n]`.

    Returns:
        int32 `[*batch, n]`; 0 for words whose head is -1.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.best_labels(jnp.zeros((3, 3, 4)).at[2, 1, 3].set(1.0), jnp.array([2, 0]))
        Array([3, 0], dtype=int32)
    """
    return jnp.where(jnp.asarray(heads) < 0, 0, jnp.argmax(_of_heads(scores, heads), axis=-1)).astype(jnp.int32)


def sample_labels(scores: ArrayLike, heads: ArrayLike, key: jax.Array) -> jax.Array:
    """A random label of the arc of each word, p(label) ∝ exp(score): int32 `[*batch, n]`; see `best_labels`."""
    drawn = jax.random.categorical(key, _of_heads(scores, heads))
    return jnp.where(jnp.asarray(heads) < 0, 0, drawn).astype(jnp.int32)


def with_labels(scores: ArrayLike, labels: ArrayLike) -> jax.Array:
    """The scores of labels, -inf where a word has another than in `labels`, int `[*batch, n]` (-1: not known)."""
    table, labels = jnp.asarray(scores), jnp.asarray(labels)
    if not jnp.issubdtype(labels.dtype, jnp.integer):
        raise TypeError(f"labels must be integers, -1 where not known, not {labels.dtype}")
    if labels.shape != (expected := (*table.shape[:-3], table.shape[-2] - 1)):
        raise ValueError(f"labels have shape {labels.shape}, expected {expected}: one for each word")
    known = jnp.pad(labels, [(0, 0)] * (labels.ndim - 1) + [(1, 0)], constant_values=-1)[..., None, :, None]
    return jnp.where((known < 0) | (known == jnp.arange(table.shape[-1])), table, -jnp.inf)


def _of_heads(scores: ArrayLike, heads: ArrayLike) -> jax.Array:
    """The labels' scores of each word's arc, `[*batch, n, labels]`."""
    table, heads = jnp.asarray(scores)[..., 1:, :], jnp.maximum(jnp.asarray(heads), 0)
    return jnp.take_along_axis(table, heads[..., None, :, None], axis=-3)[..., 0, :, :]


def marginals(
    system: System,
    scores: Tables,
    lengths: ArrayLike | None = None,
    constraints: Constraints | None = None,
    semiring: Semiring | type[Semiring] = LogSum,
) -> Any:
    """The expected count of each score: the gradient of the log-partition.

    If derivations use a score at most once, as they do `arc`, its expected count is a probability, a *marginal*. In an
    unambiguous system, p(tree) ∝ exp(score of the tree). In an ambiguous system, p(derivation) ∝ exp(score of the
    derivation), so that a tree counts once for each of its derivations; see `system.unambiguous`.

    Args:
        system: a system from `structdep.charts`, `structdep.spanning.all_trees()`, or your own.
        scores: arc scores, float `[*batch, n+1, n+1]`, or a mapping from names to tables; see `inside`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        constraints: known heads and forbidden arcs.
        semiring: `LogSum`, or `SingleRoot(LogSum)` for trees with exactly one arc from the root.

    Returns:
        Expected counts in the shape of the scores: an array, or a dictionary by name. All 0 if no tree is allowed.

    Raises:
        TypeError: the value of the semiring is a tuple, or as by `inside`.
        ValueError: as by `inside`.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.marginals(sd.charts.eisner(), jnp.zeros((3, 3))).round(4)
        Array([[0.    , 0.6667, 0.6667],
               [0.    , 0.    , 0.3333],
               [0.    , 0.3333, 0.    ]], dtype=float32)
    """

    def total(scores: Tables) -> jax.Array:
        value = inside(system, scores, lengths, semiring, constraints)
        if not isinstance(value, jax.Array):
            raise TypeError(f"{instance(semiring)} has no single number as its value: take structdep.LogSum")
        return value.sum()

    return jax.grad(total)(all_wide(scores))


def nearest_tree(system: System, heads: ArrayLike, lengths: ArrayLike | None = None) -> jax.Array:
    """A tree of the system that has as many heads of a given tree as possible.

    Args:
        system: a system from `structdep.charts`, or your own.
        heads: any tree, int `[*batch, n]`, such as a gold tree outside of the system's class.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.

    Returns:
        The head of each word, int32 `[*batch, n]`: the tree itself if the system has it.

    Raises:
        TypeError, ValueError: as by `structdep.trees.check_trees`, if `heads` are no trees (not inside of `jax.jit`).

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.nearest_tree(sd.charts.eisner(), jnp.array([3, 4, 0, 3]))
        Array([3, 3, 0, 3], dtype=int32)
    """
    check_trees_unless_traced(heads, lengths)
    return argmax(system, heads_to_arcs(heads, lengths).astype(jnp.float32), lengths)

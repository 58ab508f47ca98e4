"""The class of all trees: no rules, but an algorithm for each of several semirings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient

from structdep._engines import xla
from structdep._engines.masking import is_valid, nan_unless
from structdep._engines.query import Arguments, Query, Request
from structdep._engines.xla.chart import Fill
from structdep.deduction import Score
from structdep.semirings import Entropy, Expectation, KBest, LogSum, MaxPlus, Moments, Pair, Semiring, SingleRoot
from structdep.semirings.base import instance
from structdep.spanning.entropy import entropies
from structdep.spanning.k_best import k_best_trees, score_of
from structdep.spanning.matrix_tree import log_partition
from structdep.spanning.mst import best_tree
from structdep.spanning.sampling import random_tree
from structdep.trees import heads_to_arcs


@dataclass(frozen=True)
class SpanningTrees:
    """All dependency trees, as a system for queries; made by `all_trees`.

    Args:
        single_root: whether exactly one word depends on the root.

    Example:
        >>> print(SpanningTrees(single_root=True))
        all_trees_single_root: time O(n^3), space O(n^2), one derivation a tree
    """

    single_root: bool = False
    unambiguous: ClassVar[bool] = True
    last: ClassVar[int] = 0

    @property
    def name(self) -> str:
        """The name in messages."""
        return "all_trees_single_root" if self.single_root else "all_trees"

    @property
    def trees(self) -> str:
        """The name of the class of trees."""
        return "all with a single root" if self.single_root else "all"

    @property
    def declared(self) -> dict[str, tuple[Score, int]]:
        """The scores by name, each with its number of positions: only `arc`."""
        return {"arc": (Score("arc"), 2)}

    def __str__(self) -> str:
        return f"{self.name}: time O(n^3), space O(n^2), one derivation a tree"


def all_trees(single_root: bool = False) -> SpanningTrees:
    """All dependency trees by arc scores, as a system for queries.

    The log-partition and marginals are computed by the Matrix-Tree theorem. Best, random and k best trees are exact.
    Queries take the semirings `MaxPlus`, `LogSum`, `KBest`, `Expectation`, `Entropy`, and those that build on them:
    `CostAugmented`, `Counting`, `Sample`, `SingleRoot`, `Pair`.

    Args:
        single_root: whether exactly one word depends on the root.

    Returns:
        A system in time O(n^3), the first argument of queries. They raise `ValueError` for other semirings.

    References:
        Koo, Globerson, Carreras and Collins 2007; Smith and Smith 2007 (the Matrix-Tree theorem). Chu and Liu 1965;
        Edmonds 1967 (maximum spanning trees). Murty 1968; Lawler 1972 (the k best).

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> from structdep.spanning import all_trees
        >>> jnp.exp(sd.inside(all_trees(), jnp.zeros((5, 5)), semiring=sd.LogSum)).round()
        Array(125., dtype=float32)
        >>> crossing = jnp.zeros((5, 5)).at[[3, 4, 0, 3], [1, 2, 3, 4]].set(1.0)
        >>> sd.argmax(all_trees(), crossing)
        Array([3, 4, 0, 3], dtype=int32)
        >>> sd.TreeDistribution(all_trees(single_root=True), crossing).k_best(2).scores
        Array([4., 3.], dtype=float32)
    """
    return SpanningTrees(single_root)


@xla.run.register(SpanningTrees)
def run_all_trees(
    system: SpanningTrees, request: Request, arguments: Arguments, fill: Fill
) -> tuple[Any, dict[str, Any]]:
    """See `xla.run`."""
    semiring, lengths = request.semiring, arguments.lengths
    arcs = arguments.tables["arc"]
    if isinstance(semiring, SingleRoot) and request.query in (Query.BEST, Query.SAMPLE):
        base = replace(request, semiring=instance(semiring.base))
        value, counts = run_all_trees(
            all_trees(True), base, arguments._replace(tables={"arc": semiring.join(arcs)}), fill
        )
        return (jnp.full_like(value, -jnp.inf), value), counts

    def value_of(arcs: Any) -> Any:
        return nan_unless(is_valid(arcs), _value(semiring, arcs, lengths, system.single_root))

    if request.query is Query.VALUE:
        return value_of(arcs), {}
    if request.query is Query.SAMPLE:
        heads, exists = random_tree(arcs, lengths, system.single_root, arguments.keys)
        return value_of(arcs), {"arc": _counts(heads, exists, arcs, lengths)}
    if request.query is Query.BEST and isinstance(semiring, MaxPlus):
        value, heads = _best(arcs, lengths, system.single_root)
        value = nan_unless(is_valid(arcs), value)
        return value, {"arc": _counts(heads, jnp.isfinite(value), arcs, lengths)}
    value, pull = jax.vjp(value_of, arcs)
    ones = jax.tree.map(jnp.ones_like, value)
    return value, {"arc": pull(ones if arguments.cotangent is None else arguments.cotangent)[0]}


def _value(semiring: Semiring, arcs: Any, lengths: jax.Array, single_root: bool) -> Any:
    """The sum over all trees, `[batch, ..]`; its derivatives are those of JAX."""
    match semiring:
        case SingleRoot():
            value = _value(base := instance(semiring.base), semiring.join(arcs), lengths, True)
            return base.zeros(lengths.shape, jax.tree.leaves(value)[0].dtype), value
        case Pair():
            parts = zip(semiring.both, arcs, strict=True)
            return tuple(_value(part, own, lengths, single_root) for part, own in parts)
        case Expectation():
            return _moments(arcs, lengths, single_root)
        case Entropy():
            return entropies(arcs, lengths, single_root)
        case KBest():
            return _k_best(semiring.k, semiring.lower(semiring.plus([arcs])), lengths, single_root)
        case LogSum():
            return log_partition(arcs, lengths, single_root)
        case MaxPlus():
            return _best(arcs, lengths, single_root)[0]
    known = "MaxPlus, LogSum, KBest, Expectation, Entropy, and what is made of them"
    raise ValueError(f"all trees have an algorithm for {known}, none for {type(semiring).__name__}")


def _best(arcs: jax.Array, lengths: jax.Array, single_root: bool) -> tuple[jax.Array, jax.Array]:
    """The score of the best tree, -inf if there is none, and its heads."""
    heads, exists = best_tree(stop_gradient(arcs), lengths, single_root)
    score = score_of(arcs[..., None], lengths, heads, jnp.zeros_like(heads))
    return jnp.where(exists, score, -jnp.inf), heads


def _counts(heads: jax.Array, exists: jax.Array, arcs: jax.Array, lengths: jax.Array) -> jax.Array:
    """1 for the arcs of trees that exist, else 0."""
    return (heads_to_arcs(heads, lengths) & exists[:, None, None]).astype(arcs.dtype)


def _k_best(k: int, arcs: jax.Array, lengths: jax.Array, single_root: bool) -> tuple[jax.Array, ...]:
    found, heads, ranks = k_best_trees(stop_gradient(arcs), lengths, single_root, k)
    scores = jax.vmap(partial(score_of, arcs, lengths))(heads, ranks)
    return tuple(jnp.where(jnp.isneginf(found), -jnp.inf, scores))


def _moments(arcs: Moments, lengths: jax.Array, single_root: bool) -> Moments:
    """Derivatives of the logarithm of E[exp(t · quantity)], at t = 0: mean and variance."""

    def along(t: jax.Array) -> jax.Array:
        tilted = arcs.log_partition + t * arcs.mean + t**2 / 2 * arcs.variance
        return log_partition(tilted, lengths, single_root)

    def slope(t: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.jvp(along, (t,), (jnp.ones_like(t),))

    zero = jnp.zeros((), arcs.mean.dtype)
    (value, mean), (_, variance) = jax.jvp(slope, (zero,), (jnp.ones_like(zero),))
    rounded = jnp.minimum(variance, 0)
    return Moments(value, mean, variance - jax.lax.stop_gradient(rounded))

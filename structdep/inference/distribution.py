"""A distribution over trees, p(tree) ∝ exp(score): each query is the value of a chart, its gradient, or a traceback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from structdep import charts
from structdep.deduction import LABEL
from structdep.inference import queries
from structdep.inference.constraints import Constraints
from structdep.inference.divergences import cross_entropy
from structdep.inference.inside import inside
from structdep.inference.scores import Tables, all_wide, allowed_by, named, problem, wide, with_arcs
from structdep.semirings import Entropy, KBest, LogSum, MaxPlus, Semiring, SingleRoot
from structdep.spanning import SpanningTrees
from structdep.trees import heads_to_arcs
from structdep.trees.classes import System


class Labelled(NamedTuple):
    """Labelled trees: heads, and the labels of their arcs.

    Args:
        heads: the head of each word, int32 `[.., *batch, n]`, as by `argmax`.
        labels: the label of the arc of each word, int32 `[.., *batch, n]`, in 0..labels-1.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> tables = {"arc": jnp.zeros((3, 3)), "label": jnp.zeros((3, 3, 4)).at[2, 1, 3].set(1.0)}
        >>> best = sd.TreeDistribution(sd.charts.eisner(), tables).argmax()
        >>> best.heads, best.labels
        (Array([2, 0], dtype=int32), Array([3, 0], dtype=int32))
    """

    heads: jax.Array
    labels: jax.Array


class Best(NamedTuple):
    """The k best trees of each sentence, best first.

    Args:
        heads: int32 `[k, *batch, n]`, as by `argmax`; -1 where a sentence has fewer trees.
        scores: float `[k, *batch]`; -inf where a sentence has fewer trees.
        labels: int32 `[k, *batch, n]`; None if labels have no scores.
    """

    heads: jax.Array
    scores: jax.Array
    labels: jax.Array | None


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TreeDistribution:
    """The distribution over the trees of a system with p(tree) ∝ exp(score).

    All queries are methods, and can be differentiated in the scores. The distribution is a pytree: `jax.jit`,
    `jax.vmap` and `jax.grad` take it as an argument. Below, *trees* are heads, int `[*batch, n]`, or `Labelled` if
    `label` scores are given.

    Args:
        system: an unambiguous system: `charts.eisner()`, `charts.mh4_trees()`, `spanning.all_trees()`, .. With an
            ambiguous system, queries that sum over trees raise `ValueError`, unless `over` is "derivations".
        scores: arc scores, float `[*batch, n+1, n+1]`, or a mapping from names to tables; see `inside`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        constraints: known heads and forbidden arcs: other trees have probability 0.
        single_root: whether exactly one word depends on the root, in all trees.
        over: "trees", or "derivations": probabilities are then those of the system's derivations, and a tree that has
            several of them counts several times.

    Raises:
        ValueError: `over` is neither; or, by a query that sums over trees, the system is ambiguous.

    Example:
        >>> import jax, jax.numpy as jnp, structdep as sd
        >>> trees = sd.TreeDistribution(sd.charts.eisner(), jnp.zeros((5, 5)))
        >>> jnp.exp(trees.log_partition()).round(), jnp.exp(-trees.log_prob(jnp.array([3, 3, 0, 3]))).round()
        (Array(55., dtype=float32), Array(55., dtype=float32))
        >>> trees.sample(jax.random.key(0), 100).shape
        (100, 4)
        >>> trees.k_best(2).scores, trees.minimum_risk().shape, trees.marginals().shape
        (Array([0., 0.], dtype=float32), (4,), (5, 5))
    """

    system: System = field(metadata={"static": True})
    scores: Tables
    lengths: ArrayLike | None = None
    constraints: Constraints | None = None
    single_root: bool = field(default=False, metadata={"static": True}, kw_only=True)
    over: str = field(default="trees", metadata={"static": True}, kw_only=True)

    def __post_init__(self) -> None:
        if self.over not in ("trees", "derivations"):
            raise ValueError(f'a distribution is over "trees" or over "derivations", not over {self.over!r}')

    def log_partition(self) -> jax.Array:
        """log Σ exp(score) over all trees, float `[*batch]`; -inf if there is no tree."""
        return self._inside(LogSum())

    def exists(self) -> jax.Array:
        """Whether there is any tree, bool `[*batch]`; also False if a score is NaN or +inf."""
        return jnp.isfinite(self.max())

    def max(self) -> jax.Array:
        """The score of the best tree, float `[*batch]`; its gradient is 1 at the scores of this tree, else 0."""
        return self._inside(MaxPlus())

    def argmax(self) -> jax.Array | Labelled:
        """The best tree: heads, int32 `[*batch, n]`, -1 if there is no tree; `Labelled` if `label` scores are given."""
        return self._labelled(self._best(self.tables()), queries.best_labels)

    def marginals(self) -> Any:
        """The probability that a tree contains each scored part, such as an arc: in the shape of the scores."""
        semiring = self._graded(LogSum())
        return queries.marginals(self.system, self.scores, self.lengths, self.constraints, semiring)

    def arc_marginals(self) -> jax.Array:
        """The probability of each arc, float `[*batch, n+1, n+1]`, whatever has scores."""
        return replace(self, scores=self.tables()).marginals()["arc"]

    def score(self, trees: ArrayLike | Labelled) -> jax.Array:
        """The scores of given trees.

        Args:
            trees: heads, int `[.., *batch, n]`, or `Labelled`. Any number of trees of each sentence, on leading axes.
                -1 leaves the head of a word open.

        Returns:
            float `[.., *batch]`; -inf for a tree that the system or the constraints exclude. If heads are open, the
            log-sum of the scores of all trees with the given heads; if labels have scores but `trees` has no labels,
            the log-sum over labels.

        Raises:
            TypeError, ValueError: trees of a wrong dtype or shape, or labels without `label` scores.
        """
        own = self._for_each(trees)
        return replace(own, scores=own._obeying(trees))._inside(LogSum())

    def log_prob(self, trees: ArrayLike | Labelled) -> jax.Array:
        """The log-probabilities of given trees.

        Args:
            trees: as for `score`.

        Returns:
            float `[.., *batch]`, at most 0, in nats; for a tree with open heads, of all its completions together.

        Raises:
            TypeError, ValueError: as by `score`.
        """
        found = _difference(self.score(trees), self.log_partition())
        return _zero_where(found > 0, found)

    def sample(self, key: jax.Array, n: int) -> jax.Array | Labelled:
        """Independent random trees, drawn exactly.

        Args:
            key: one key of `jax.random`.
            n: the number of trees of each sentence.

        Returns:
            Heads, int32 `[n, *batch, words]`, -1 if there is no tree; or `Labelled`.

        Raises:
            ValueError: n is below 0.
        """
        self._graded(LogSum())
        if n < 0:
            raise ValueError(f"the trees to draw are none or more, not {n}")
        return jax.vmap(partial(self._sample, self.tables()))(jax.random.split(key, n))

    def k_best(self, k: int) -> Best:
        """The k best trees of each sentence, all different, best first.

        Trees with the same heads and different labels are different trees.

        Args:
            k: the number of trees, 1 or more.

        Returns:
            `Best(heads, scores, labels)`: int32 `[k, *batch, n]`, float `[k, *batch]`, and int32 `[k, *batch, n]`, or
            None if labels have no scores. A sentence with fewer trees has heads -1 and scores -inf.

        Raises:
            TypeError, ValueError: k is not a whole number of 1 or more.
        """
        scores, pull = jax.vjp(lambda t: replace(self, scores=t)._inside(KBest(k)), self.tables())
        seeds = jnp.moveaxis(jnp.ones_like(scores)[..., None] * jnp.eye(k, dtype=scores.dtype), -1, 0)
        (uses,) = jax.vmap(pull)(seeds)
        scores = jnp.moveaxis(scores, -1, 0)
        heads = jnp.argmax(uses["arc"][..., 1:], axis=-2).astype(jnp.int32)
        heads = jnp.where(~jnp.isfinite(scores)[..., None] & self._is_word(), -1, heads)
        return Best(heads, scores, queries.best_labels(uses[LABEL], heads) if LABEL in uses else None)

    def entropy(self) -> jax.Array:
        """The entropy, -Σ p log p in nats, float `[*batch]`; 0 if there is no tree."""
        if isinstance(self.system, SpanningTrees):
            return self._inside(Entropy()).entropy
        return self.cross_entropy(self)  # charts of entropies take long to compile

    def cross_entropy(self, other: TreeDistribution) -> jax.Array:
        """The cross-entropy, -Σ p log q, from this distribution p to another one, q.

        Args:
            other: q, of the same sentences, over the same trees.

        Returns:
            float `[*batch]`, in nats: inf where p has a tree that q excludes, 0 where p has no tree, and NaN where a
            score is NaN or +inf.

        Raises:
            ValueError: the two have different sentences, classes of trees or numbers of labels; or different systems,
                if one is ambiguous, or if that of q scores more than arcs and labels.
        """
        return cross_entropy(self, other)

    def kl_divergence(self, other: TreeDistribution) -> jax.Array:
        """The Kullback-Leibler divergence, Σ p log (p / q), from this distribution p to another one, q.

        Args:
            other: q, as for `cross_entropy`.

        Returns:
            float `[*batch]`, 0 or more, in nats; inf where p has a tree that q excludes.

        Raises:
            ValueError: as by `cross_entropy`.
        """
        found = self.cross_entropy(other) - self.entropy()
        return _zero_where(found < 0, found)

    def expected_attachment(self, heads: ArrayLike) -> jax.Array:
        """The expected number of words whose head is the given one.

        Args:
            heads: int `[.., *batch, n]`; -1 for a word that does not count.

        Returns:
            float `[.., *batch]`, in words.

        Raises:
            TypeError, ValueError: heads of a wrong dtype or shape.
        """
        own = self._for_each(heads)
        own._obeying(heads)  # checks dtype and shape
        found = jnp.where(heads_to_arcs(heads, own.lengths), self.arc_marginals(), 0).sum((-2, -1))
        return jnp.where(problem(self.system, self.scores, self.lengths).has_only_numbers, found, jnp.nan)

    def minimum_risk(self) -> jax.Array:
        """The tree with the greatest expected attachment (minimum Bayes risk): heads, as by `argmax`."""
        sound = problem(self.system, self.scores, self.lengths).has_only_numbers[..., None, None]
        possible = sound & ~jnp.isneginf(self.tables()["arc"])
        return self._best({"arc": jnp.where(possible, self.arc_marginals(), -jnp.inf)})

    def covariance(self, direction: Any) -> Any:
        """The covariances of each scored part of a tree with a linear function of the tree: a Hessian-vector product.

        Args:
            direction: the weights of the linear function, shaped as the scores: its value is the sum of the weights of
                all parts of the tree.

        Returns:
            For each score, the covariance of its count in a tree with the function, shaped as the scores.

        Raises:
            ValueError: `direction` does not have the shape of the scores.
        """
        scores, direction = all_wide(self.scores), all_wide(direction)
        shapes, found = (jax.tree.map(jnp.shape, tables) for tables in (scores, direction))
        if shapes != found:
            raise ValueError(f"a direction has the shape of the scores, {shapes}, not {found}")
        direction = jax.tree.map(lambda own, table: table.astype(own.dtype), scores, direction)
        return jax.vjp(lambda scores: replace(self, scores=scores).marginals(), scores)[1](direction)[0]

    def tables(self) -> dict[str, jax.Array]:
        """The scores by name, in float32 or wider, `arc` among them, with -inf where constraints forbid an arc."""
        return with_arcs(self.system, self.scores, self.lengths, self.constraints)

    def _inside(self, semiring: Semiring) -> Any:
        return inside(self.system, self.scores, self.lengths, self._graded(semiring), self.constraints)

    def _graded(self, semiring: Semiring) -> Semiring:
        """The semiring for this number of roots; refused if its sums are of derivations, and trees are wanted."""
        if not (semiring.idempotent or self.system.unambiguous or self.over == "derivations"):
            twin = f"{self.system.name.removesuffix('_transitions')}_trees"
            twin = {"mh3_trees": "arc_hybrid_trees"}.get(twin, twin)
            advice = f"take structdep.charts.{twin}(..), " if hasattr(charts, twin) else "take a system that does not, "
            raise ValueError(
                f"{self.system.name} derives a tree several times, so that sums over its derivations are not sums over "
                f'trees: {advice}or say over="derivations"'
            )
        return SingleRoot(semiring) if self.single_root else semiring

    def _for_each(self, trees: ArrayLike | Labelled) -> TreeDistribution:
        """One for each of some trees `[.., *batch, n]`."""
        heads = jnp.asarray(trees.heads if isinstance(trees, Labelled) else trees)
        tables = self.tables()
        own, more = replace(self, scores=tables), heads.shape[: max(heads.ndim + 1 - tables["arc"].ndim, 0)]

        def each(leaf: Any) -> jax.Array:
            array = jnp.asarray(leaf)
            return jnp.broadcast_to(array, (*more, *array.shape))

        return jax.tree.map(each, own, is_leaf=lambda leaf: isinstance(leaf, list | tuple)) if more else own

    def _obeying(self, trees: ArrayLike | Labelled) -> dict[str, jax.Array]:
        """The scores, -inf where a tree has another head, or another label."""
        if not isinstance(trees, Labelled):
            return allowed_by(Constraints(trees), self.tables())
        tables = allowed_by(Constraints(trees.heads), self.tables())
        if LABEL not in tables:
            raise ValueError(f"trees have labels, but no scores are named {LABEL!r}: give their heads alone")
        return tables | {LABEL: queries.with_labels(tables[LABEL], trees.labels)}

    def _best(self, tables: Tables) -> jax.Array:
        return queries.argmax(
            self.system, tables, self.lengths, constraints=self.constraints, single_root=self.single_root
        )

    def _labelled(self, heads: jax.Array, choose: Callable[[ArrayLike, jax.Array], jax.Array]) -> jax.Array | Labelled:
        tables = named(self.scores)
        if LABEL not in tables:
            return heads
        return Labelled(heads, jnp.where(self._is_word(), choose(wide(LABEL, tables[LABEL]), heads), 0))

    def _sample(self, tables: Tables, key: jax.Array) -> jax.Array | Labelled:
        trees, labels = jax.random.split(key)
        heads = queries.sample(self.system, tables, trees, self.lengths, self.constraints, single_root=self.single_root)
        return self._labelled(heads, partial(queries.sample_labels, key=labels))

    def _is_word(self) -> jax.Array:
        given = problem(self.system, self.scores, self.lengths)
        return jnp.arange(given.words) < given.lengths[..., None]


def _difference(a: jax.Array, b: jax.Array) -> jax.Array:
    """a - b, -inf where a is, also if b is."""
    impossible = jnp.isneginf(a)
    return jnp.where(impossible, -jnp.inf, jnp.where(impossible, 0, a) - jnp.where(impossible, 0, b))


def _zero_where(is_rounded: jax.Array, value: jax.Array) -> jax.Array:
    """0 where rounding has changed the sign; the derivatives are those of the value."""
    rounded = jnp.where(is_rounded, value, 0)  # elsewhere, the value may be infinite
    return jnp.where(is_rounded, rounded - jax.lax.stop_gradient(rounded), value)

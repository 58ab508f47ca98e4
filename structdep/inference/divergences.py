"""How far one distribution over trees is from another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from structdep.deduction import LABEL
from structdep.inference.scores import Problem, named, problem

if TYPE_CHECKING:
    from structdep.inference.distribution import TreeDistribution

Arrays = dict[str, jax.Array]


def cross_entropy(p: TreeDistribution, q: TreeDistribution) -> jax.Array:
    """-Σ p log q in nats, `[*batch]`: see `TreeDistribution.cross_entropy`."""
    sentences = [problem(one.system, one.scores, one.lengths, one.constraints) for one in (p, q)]
    _check_comparable(p, q)
    _check_same(*sentences)
    tables = q.tables()
    own = {name: jnp.zeros_like(table) for name, table in tables.items()} | p.tables()
    marginals = replace(p, scores=own).marginals()
    exists = jnp.any(marginals["arc"] > 0, (-2, -1))
    relative, rest, missing = _relative(tables, marginals, exists)
    log_partition = replace(q, scores=relative).log_partition()
    entropy = jnp.where(missing, jnp.inf, log_partition - jnp.where(missing, 0, rest))
    sound = sentences[0].has_only_numbers & sentences[1].has_only_numbers
    return jnp.where(sound, jnp.where(exists, entropy, 0), jnp.nan)


def _relative(tables: Arrays, marginals: Arrays, exists: jax.Array) -> tuple[Arrays, jax.Array, jax.Array]:
    """Scores with a constant taken off those of all arcs to a word, so that a tree scores about 0 in expectation.

    The log-partition of these scores is small, and large numbers need not cancel. Each word has one head: without
    rounding, the probabilities of its arcs add up to 1.

    Returns:
        The scores, their expectation `[*batch]`, and whether a possible tree scores -inf, bool `[*batch]`.
    """
    arcs, axes = marginals["arc"], exists.ndim
    per_word = arcs.sum(-2)
    of_words = _expected(arcs, tables["arc"], axes, per_word=True)
    others = [_expected(marginals[name], table, axes) for name, table in tables.items() if name != "arc"]
    of_others = sum(others, jnp.zeros_like(of_words[..., 0]))
    missing = jnp.isneginf(of_words).any(-1) | jnp.isneginf(of_others)
    mean = jnp.where(jnp.isneginf(of_words), 0, of_words) / jnp.where(per_word > 0, per_word, 1)
    centred = tables["arc"] - mean[..., None, :]
    of_one_word = jnp.where(missing, 0, of_others) / jnp.where(exists, per_word.sum(-1), 1)
    # The other scores and what is taken off for them add up to 0.
    rest = _expected(arcs, centred, axes)
    return tables | {"arc": centred - of_one_word[..., None, None]}, rest, missing


def _expected(marginals: jax.Array, table: jax.Array, batch_axes: int, per_word: bool = False) -> jax.Array:
    """Σ marginals · table, where what has no probability counts for nothing."""
    used, finite = marginals > 0, jnp.isfinite(table)
    axes = -2 if per_word else tuple(range(batch_axes, table.ndim))
    total = jnp.sum(jnp.where(used & finite, marginals, 0) * jnp.where(used & finite, table, 0), axes)
    return jnp.where(jnp.any(used & jnp.isneginf(table), axes), -jnp.inf, total)


def _check_comparable(p: TreeDistribution, q: TreeDistribution) -> None:
    same = p.system == q.system or (bool(p.system.trees) and p.system.trees == q.system.trees)
    if not same or (q.single_root and not p.single_root):
        raise ValueError(f"not over the same trees: {_described(p)} and {_described(q)}")
    if p.system != q.system and not (p.system.unambiguous and q.system.unambiguous):
        raise ValueError(
            f"not over the same derivations: {p.system.name} and {q.system.name}; compare two distributions of one "
            "system, or of systems that derive each tree once"
        )
    labels = [np.shape(own[LABEL])[-1] if LABEL in own else 0 for own in map(named, (p.scores, q.scores))]
    if labels[0] != labels[1]:
        raise ValueError(f"not of the same labels: one distribution scores {labels[0]}, the other {labels[1]}")
    extra = named(q.scores).keys() - {"arc", LABEL}
    if extra and p.system != q.system:
        raise ValueError(
            f"{q.system.name} scores {sorted(extra)}, which {p.system.name} does not declare: "
            "compare two distributions of one system, or score arcs"
        )


def _check_same(p: Problem, q: Problem) -> None:
    if p.lengths.shape != q.lengths.shape or p.words != q.words:
        raise ValueError(
            f"not of the same sentences: a batch of {p.lengths.shape} with up to {p.words} words, "
            f"and one of {q.lengths.shape} with up to {q.words}"
        )
    if not isinstance(p.lengths != q.lengths, jax.core.Tracer) and (p.lengths != q.lengths).any():
        raise ValueError(f"not of the same sentences: they have {p.lengths.tolist()} and {q.lengths.tolist()} words")


def _described(one: TreeDistribution) -> str:
    roots = ", single root" if one.single_root else ""
    return f"{one.system.name} ({one.system.trees or 'trees of its own'}{roots})"

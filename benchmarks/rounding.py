"""Errors of float32 for `benchmarks.numerics`: each answer beside that of float64, which gets the same scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

import structdep as sd
from structdep.spanning import SpanningTrees
from structdep.trees.classes import System

EPSILON = float(np.finfo(np.float32).eps)
Numbers = NDArray[np.floating[Any]]
Tables = Mapping[str, Numbers]


@dataclass(frozen=True)
class Errors:
    """The largest errors among some sentences.

    One *unit* is EPSILON times the size of a sentence: Σ |score| over the scores of a tree in expectation, plus the
    entropy. The log-partition is no larger than this size, and rounding each score changes it by half a unit at most.

    Args:
        log_partition: in units.
        marginals: differences of probabilities.
        marginals_in_units: the same, in units.
        entropy: in nats.
        entropy_in_units: in units.
        best_tree: how much the best tree of float32 scores less than that of float64, divided by EPSILON and by
            Σ |score| of the latter.
        samples: the largest standardized deviation of an arc's frequency in samples of float32 from its probability.
        exact_samples: the same of samples of float64, by the same random numbers where C++ draws them.
    """

    log_partition: float
    marginals: float
    marginals_in_units: float
    entropy: float
    entropy_in_units: float
    best_tree: float
    samples: float = 0.0
    exact_samples: float = 0.0

    def __or__(self, other: Errors) -> Errors:
        """The larger of each two."""
        return Errors(**{name: max(value, getattr(other, name)) for name, value in asdict(self).items()})


@dataclass(frozen=True)
class Answers:
    """The answers of all queries, in one precision."""

    log_partition: Numbers
    marginals: dict[str, Numbers]
    entropy: Numbers
    heads: NDArray[np.int32]


class Queries:
    """The queries of one system that are measured. XLA compiles each once for a shape and a precision."""

    def __init__(self, system: System, engine: str) -> None:
        self.system, self.engine = system, engine
        self._answers = jax.jit(self._ask)
        self._score = jax.jit(jax.value_and_grad(self._best_score, has_aux=True))
        self._sample = jax.jit(self._draw, static_argnums=2)

    def answers(self, tables: Tables) -> Answers:
        return Answers(*jax.tree.map(np.asarray, self._answers(tables)))

    def frequencies(self, tables: Tables, key: jax.Array, draws: int) -> Numbers:
        """How often each arc is in the samples of a sentence, `[batch, n+1, n+1]`."""
        return np.asarray(self._sample(tables, key, draws))

    def score(self, tables: Tables, heads: NDArray[np.int32]) -> tuple[Numbers, Numbers]:
        """The scores of trees, `[batch]`, and the sums of the absolute scores of their parts."""
        (_, scores), uses = self._score(tables, heads)
        return np.asarray(scores), _size(tables, uses)

    def _ask(self, tables: Tables) -> tuple[Any, ...]:
        value, pull = jax.vjp(partial(sd.inside, self.system, semiring=sd.LogSum), tables)
        return value, pull(jnp.ones_like(value))[0], self._entropy(tables), sd.argmax(self.system, tables)

    def _entropy(self, tables: Tables) -> jax.Array:
        """By XLA, that of `structdep.Entropy`; by C++, what `TreeDistribution` makes of values and marginals."""
        if self.engine == "xla" and not isinstance(self.system, SpanningTrees):
            return sd.inside(self.system, tables, semiring=sd.Entropy).entropy
        return sd.TreeDistribution(self.system, tables, over="derivations").entropy()

    def _best_score(self, tables: Tables, heads: jax.Array) -> tuple[jax.Array, jax.Array]:
        scores = sd.inside(self.system, tables, constraints=sd.Constraints(heads))
        return scores.sum(), scores

    def _draw(self, tables: Tables, key: jax.Array, draws: int) -> jax.Array:
        heads = jax.vmap(partial(sd.sample, self.system, tables))(jax.random.split(key, draws))
        return sd.trees.heads_to_arcs(heads).mean(0)


def errors(single: Queries, double: Queries, tables: Tables, draws: int = 0) -> Errors:
    """The largest errors among the sentences of some tables; samples are of the first sentence."""
    wide = {name: table.astype(np.float64) for name, table in tables.items()}
    found = single.answers(tables)
    with jax.enable_x64(True):
        exact = double.answers(wide)
        (best, size_of_best), (reached, _) = (double.score(wide, own.heads) for own in (exact, found))
    unit = EPSILON * (_size(wide, exact.marginals) + exact.entropy)
    of_scores = [np.abs(found.marginals[name] - table) for name, table in exact.marginals.items()]
    marginals = np.max([_largest(difference) for difference in of_scores], 0)
    entropy = np.abs(found.entropy - exact.entropy)
    return Errors(
        float(np.max(np.abs(found.log_partition - exact.log_partition) / unit)),
        float(np.max(marginals)),
        float(np.max(marginals / unit)),
        float(np.max(entropy)),
        float(np.max(entropy / unit)),
        float(np.max((best - reached) / (EPSILON * size_of_best))),
        *(_deviations(single, double, tables, exact.marginals["arc"][0], draws) if draws else ()),
    )


def _deviations(single: Queries, double: Queries, tables: Tables, probabilities: Numbers, draws: int) -> list[float]:
    """The largest standardized deviations of frequencies in samples: of float32, and of float64."""
    first = {name: table[:1] for name, table in tables.items()}
    drawn = [single.frequencies(first, jax.random.key(0), draws)]
    with jax.enable_x64(True):
        wide = {name: table.astype(np.float64) for name, table in first.items()}
        drawn.append(double.frequencies(wide, jax.random.key(0), draws))
    # One arc that is drawn though it is most improbable is a deviation of 1.
    variance = np.maximum(probabilities * (1 - probabilities), 1 / draws) / draws
    return [float(np.max(np.abs(frequency[0] - probabilities) / np.sqrt(variance))) for frequency in drawn]


def _size(tables: Tables, uses: Mapping[str, Numbers]) -> Numbers:
    """Σ |score| · its expected count, `[batch]`."""
    parts: list[Numbers] = []
    for name, table in tables.items():
        finite = np.where(np.isfinite(table), np.abs(table), 0)
        parts.append((finite * np.asarray(uses[name])).reshape(len(table), -1).sum(1))
    return np.sum(parts, 0)


def _largest(differences: Numbers) -> Numbers:
    return differences.reshape(len(differences), -1).max(1)

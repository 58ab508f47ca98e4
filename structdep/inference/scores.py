"""Checks, masks and names scores as users give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from structdep._engines.masking import declared, is_of_numbers, is_valid, masked, without_inf
from structdep._lowering.plan import plan
from structdep.deduction import LABEL, NODE, DeductionSystem
from structdep.inference.constraints import Constraints
from structdep.semirings import Semiring
from structdep.semirings.base import chart_of, check_values, is_final
from structdep.trees.classes import System, check_system

Tables = ArrayLike | Mapping[str, ArrayLike]
"""Scores: an array of arc scores `[*batch, n+1, n+1]`, or a mapping from score names to arrays."""

CONVENTION = "scores are [*batch, n+1, n+1], [head, dependent], row 0 the root"


@dataclass(frozen=True)
class Problem:
    """Checked scores: as they were `given`, [*batch, nodes, ..] in float32 or wider; `lengths` [*batch].

    There is room for so many `words`; `labels` [*batch, nodes, nodes, labels] where arcs have labels.
    """

    system: System
    given: dict[str, jax.Array]
    lengths: jax.Array
    words: int
    labels: jax.Array | None = None

    @cached_property
    def tables(self) -> dict[str, jax.Array]:
        """The scores, -inf where impossible."""
        return masked(self.system, self.given, self.lengths)

    @cached_property
    def has_only_numbers(self) -> jax.Array:
        """Whether no score of a sentence is NaN or +inf, bool `[*batch]`."""
        return is_valid((self.tables, self.labels), self.lengths.ndim)

    def lift(self, semiring: Semiring) -> tuple[dict[str, Any], jax.Array]:
        """The tables as values of a semiring, labels summed. Raises ValueError for numbers of what is not scored."""
        scored = {*self.given, *([] if self.labels is None else [LABEL])}
        if other := sorted(semiring.names - scored):
            raise ValueError(f"{type(semiring).__name__} has numbers for {other}, but scored are {sorted(scored)}")
        chart = chart_of(semiring)
        has_zero_for_one = NODE.name not in self.given or is_final(chart)  # what the table of nodes holds
        are_scores = self.labels is None and is_of_numbers(semiring) and is_of_numbers(chart) and has_zero_for_one
        lifted = self.given if are_scores else {name: self._lifted(semiring, name) for name in self.tables}
        check_values(semiring, lifted, self.lengths.ndim)
        if self.labels is not None:
            lifted["arc"] = chart.times(lifted["arc"], chart.sum(self._lifted(semiring, LABEL), -1))
        return lifted, self.lengths

    def _lifted(self, semiring: Semiring, name: str) -> Any:
        """Values of a table, which the semiring sees in the shape in which it was given."""
        chart = semiring.chart()
        if name == NODE.name and not is_final(semiring):  # one where a node is
            nodes = self.tables[name]

            def of_leaf(one: jax.Array, zero: jax.Array) -> jax.Array:
                return jnp.where(jnp.expand_dims(jnp.isneginf(nodes), range(nodes.ndim, one.ndim)), zero, one)

            return jax.tree.map(of_leaf, *(own(nodes.shape, nodes.dtype) for own in (chart.ones, chart.zeros)))
        table = self.labels if name == LABEL else self.tables[name]
        assert table is not None
        sentinel, arity = _sentinel_and_arity(self.system, name)
        missing = table.shape[self.lengths.ndim] - self.words - 1 - sentinel
        own = table[(..., *[slice(-missing or None)] * arity, *[slice(None)] * (name == LABEL))]
        value = semiring.lift(name, own)
        axes = range(self.lengths.ndim, self.lengths.ndim + arity)

        def padded(leaf: jax.Array, zero: Any) -> jax.Array:
            pads = [(0, missing if axis in axes else 0) for axis in range(leaf.ndim)]
            return jnp.pad(leaf, pads, constant_values=zero)

        return jax.tree.map(padded, value, chart.zero_of(value)) if missing else value


def _sentinel_and_arity(system: System, name: str) -> tuple[bool, int]:
    """Whether a table has a sentinel, and its number of positions."""
    if name == LABEL:
        return False, 2
    score, arity = declared(system, name)
    return score.sentinel, arity


def problem(
    system: System,
    scores: Tables,
    lengths: ArrayLike | None = None,
    constraints: Constraints | None = None,
) -> Problem:
    """The scores as the chart wants them. An absent table scores 0; trees are trees all the same.

    Raises:
        TypeError: scores, lengths or constraints of a wrong dtype, or no class of trees.
        ValueError: wrong shapes, unknown names, lengths out of range; NaN or +inf where `jax_debug_nans` is set.
    """
    check_system(system)
    given = named(scores)
    labels = _labels(given.pop(LABEL)) if LABEL in given else None
    tables = {name: _table(system, name, table) for name, table in given.items()}
    if labels is not None and "arc" not in tables:
        tables["arc"] = jnp.zeros(labels.shape[:-1], labels.dtype)
    if not tables:
        names = sorted(system.declared)
        raise ValueError(
            f"{system.name}: no scores given: give an array of arc scores, or a mapping with some of {names}"
        )
    batch, words = _shape(system, tables)
    lengths = _lengths(lengths, batch, words)
    dtype = jnp.result_type(*tables.values(), *([] if labels is None else [labels]))
    if "arc" not in tables:
        tables["arc"] = jnp.zeros((*batch, words + 1, words + 1), dtype)
    nodes = words + 1 + system.last
    tables = allowed_by(constraints, tables)
    if isinstance(system, DeductionSystem) and plan(system, frozenset(tables)).is_guarded:
        tables[NODE.name] = jnp.zeros((*batch, nodes), dtype)
    fitted = {name: _fit(table.astype(dtype), nodes, declared(system, name)[1]) for name, table in tables.items()}
    found = Problem(system, fitted, lengths, words)
    return found if labels is None else replace(found, labels=_fit_labels(labels, words, found.tables["arc"]))


def with_arcs(
    system: System, scores: Tables, lengths: ArrayLike | None, constraints: Constraints | None
) -> dict[str, jax.Array]:
    """The scores by name, in float32 or wider, `arc` among them, -inf where constraints forbid an arc."""
    tables = {name: wide(name, table) for name, table in named(scores).items()}
    if "arc" not in tables:
        given = problem(system, tables, lengths)
        nodes = given.words + 1
        tables["arc"] = jnp.zeros((*given.lengths.shape, nodes, nodes), given.given["arc"].dtype)
    return allowed_by(constraints, tables)


def allowed_by(constraints: Constraints | None, tables: dict[str, jax.Array]) -> dict[str, jax.Array]:
    """The tables, `arc` among them, -inf where constraints forbid an arc."""
    if constraints is None:
        return tables
    if not isinstance(constraints, Constraints):
        raise TypeError(f"constraints are structdep.Constraints(heads=.., forbidden=..), not {constraints!r}")
    return tables | {"arc": jnp.where(constraints.allowed(tables["arc"].shape), tables["arc"], -jnp.inf)}


def named(scores: Tables) -> dict[str, ArrayLike]:
    """Scores by name: a bare array means `arc`."""
    return dict(scores) if isinstance(scores, Mapping) else {"arc": scores}


def _table(system: System, name: str, scores: ArrayLike) -> jax.Array:
    if name not in system.declared:
        plain = system.last and len(system.declared) == 1
        hint = ": build the system with transitions=True" if plain else ""
        raise ValueError(f"{system.name} has no score {name!r}, it declares {sorted(system.declared)}{hint}")
    if jax.config.jax_debug_nans:  # type: ignore[attr-defined]
        _refuse_nan(name, scores)
    return wide(name, scores)


def _labels(scores: ArrayLike) -> jax.Array:
    table = without_inf(wide(LABEL, scores))
    if table.ndim < 3 or table.shape[-3] != table.shape[-2] or not table.shape[-1]:
        raise ValueError(
            f"scores {LABEL!r} have shape {table.shape}, expected [*batch, n+1, n+1, labels]: {CONVENTION}"
        )
    return table


def wide(name: str, scores: ArrayLike) -> jax.Array:
    """The scores in float32, or wider if they are. Raises TypeError if they are no floating-point numbers."""
    table = jnp.asarray(scores)
    if not jnp.issubdtype(table.dtype, jnp.floating):
        raise TypeError(f"scores {name!r} must be floating point, not {table.dtype}: write scores.astype(jnp.float32)")
    return table.astype(jnp.promote_types(table.dtype, jnp.float32))


def all_wide(scores: Tables) -> Any:
    """The scores as arrays of float32 or wider: one, or by name."""
    if isinstance(scores, Mapping):
        return {name: wide(name, table) for name, table in scores.items()}
    return wide("arc", scores)


def _fit_labels(labels: jax.Array, words: int, arcs: jax.Array) -> jax.Array:
    """Scores of labels beside the masked scores of arcs: as many nodes, and -inf where no arc can be."""
    batch = arcs.shape[:-2]
    if labels.shape[:-1] != (*batch, words + 1, words + 1):
        raise ValueError(
            f"scores {LABEL!r} have shape {labels.shape}, expected {(*batch, words + 1, words + 1)} and labels: "
            f"the other scores are of a batch {batch} of sentences with up to {words} words"
        )
    missing = arcs.shape[-1] - labels.shape[-2]
    labels = jnp.pad(labels, [(0, 0)] * (labels.ndim - 3) + [(0, missing), (0, missing), (0, 0)])
    return jnp.where(jnp.isneginf(arcs)[..., None], -jnp.inf, labels).astype(arcs.dtype)


def _refuse_nan(name: str, scores: ArrayLike) -> None:
    if not isinstance(scores, jax.core.Tracer):
        places = np.argwhere(~(np.asarray(scores, np.float32) < np.inf))
        if len(places):
            raise ValueError(
                f"scores {name!r} hold {len(places)} NaN or +inf, the first at {places[0].tolist()}: "
                "forbid arcs by -inf, and look where NaN comes from"
            )


def _shape(system: System, tables: Mapping[str, jax.Array]) -> tuple[tuple[int, ...], int]:
    """Batch shape and number of words, the same in all tables."""
    found = {name: _shape_of(system, name, table) for name, table in tables.items()}
    first = next(iter(found))
    for name, shape in found.items():
        if shape != found[first]:
            raise ValueError(
                f"scores {first!r} {tables[first].shape} and {name!r} {tables[name].shape} do not fit: batch and words "
                f"are {found[first]} and {shape}; tables of transitions have n+2 positions (with the sentinel), "
                "all others n+1"
            )
    return found[first]


def _shape_of(system: System, name: str, table: jax.Array) -> tuple[tuple[int, ...], int]:
    score, arity = system.declared[name]
    nodes = table.shape[-1] if table.ndim else 0
    words = nodes - 1 - score.sentinel
    if table.ndim < arity or set(table.shape[table.ndim - arity :]) != {nodes} or words < 1:
        expected = ", ".join([f"n+{1 + score.sentinel}"] * arity)
        raise ValueError(
            f"scores {name!r} have shape {table.shape}, expected [*batch, {expected}] with n >= 1 words: {CONVENTION}"
        )
    return table.shape[: table.ndim - arity], words


def _lengths(lengths: ArrayLike | None, batch: tuple[int, ...], words: int) -> jax.Array:
    if lengths is None:
        return jnp.full(batch, words, jnp.int32)
    if isinstance(lengths, type | Semiring):
        raise TypeError(f"lengths are numbers of words, not {lengths!r}: write semiring=..")
    lengths = jnp.asarray(lengths)
    if not jnp.issubdtype(lengths.dtype, jnp.integer):
        raise TypeError(f"lengths must be integers (numbers of words), not {lengths.dtype}")
    if lengths.shape != batch:
        raise ValueError(
            f"lengths have shape {lengths.shape}, the scores' batch is {batch}: "
            "give the number of words of each sentence"
        )
    if lengths.size and not isinstance(lengths, jax.core.Tracer):
        given = np.asarray(lengths)  # jax would trace the comparison, within jit
        least, most = int(given.min()), int(given.max())
        if least < 0 or most > words:
            raise ValueError(
                f"lengths go from {least} to {most}, but scores have room for 0 to {words} words "
                "(the root does not count)"
            )
    return lengths.astype(jnp.int32)


def _fit(table: jax.Array, nodes: int, arity: int) -> jax.Array:
    """The table up to the last node."""
    missing = nodes - table.shape[-1]
    return jnp.pad(table, [(0, 0)] * (table.ndim - arity) + [(0, missing)] * arity, constant_values=-jnp.inf)


def flat(arrays: Any, batch_axes: int) -> Any:
    """The arrays with one batch axis."""
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[batch_axes:]), arrays)

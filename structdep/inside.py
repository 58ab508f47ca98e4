"""`inside(system, scores, semiring)`: the value of a chart, and its derivative.

For log-weights the derivative of a semiring sum is a weighted mean, so a chart's gradient counts how often each score
is used: in expectation (LogSum: marginals), or in one best derivation (MaxPlus). One program computes it beside the
value.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from structdep.cells import goal_value
from structdep.deduction import DeductionSystem
from structdep.engine import Arrays, empty_charts, fill, sweep, table_keys
from structdep.layout import skew_all
from structdep.plan import Plan, plan
from structdep.scores import Tables, problem
from structdep.semirings import MaxPlus, Semiring
from structdep.traceback import best_derivation

GROUP_BYTES = {"cpu": 1 << 25}
"""Room for the charts of the sentences that are parsed side by side: a few caches on CPUs, gigabytes elsewhere."""


def inside(
    system: DeductionSystem,
    scores: Tables,
    lengths: ArrayLike | None = None,
    semiring: Semiring | type[Semiring] = MaxPlus,
) -> Any:
    """The semiring sum over all derivations of the product of their scores.

    Args:
        system: from `structdep.charts`, or your own.
        scores: `[*batch, n+1, n+1]`, `[head, dependent]`, row 0 the root, -inf where an arc is forbidden; or a mapping
            from score names to arrays (tables of transitions have n+2 positions, the last is the sentinel).
        lengths: int `[*batch]`, the number of words of each sentence; n where absent.
        semiring: `MaxPlus` (the best score), `LogSum` (the log-partition), .., a class or an instance.

    Returns:
        float32 (or wider, as the scores) `[*batch]`; -inf where no tree is allowed. Derivatives are exact, and zero in
        padding.

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
    semiring = semiring() if isinstance(semiring, type) else semiring
    tables, lengths = problem(system, scores, lengths)
    lifted = {name: semiring.lift(name, table) for name, table in tables.items()}
    value = evaluate(system, semiring.chart(), *flat((lifted, lengths), lengths.ndim))
    return jax.tree.map(lambda leaf: leaf.reshape(*lengths.shape, *leaf.shape[1:]), semiring.lower(value))


def flat(arrays: Any, batch_axes: int) -> Any:
    """The arrays with one batch axis."""
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[batch_axes:]), arrays)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def evaluate(system: DeductionSystem, semiring: Semiring, tables: Arrays, lengths: jax.Array) -> Any:
    """The goal's value in each sentence: `tables` hold semiring values, `[batch, nodes, ..]`."""
    return run(system, semiring, False, tables, lengths)[0]


@evaluate.defjvp
def _(
    system: DeductionSystem, semiring: Semiring, primals: tuple[Any, ...], tangents: tuple[Any, ...]
) -> tuple[Any, Any]:
    """d value = Σ uses · d score, over all scores."""
    if not semiring.additive:
        return jax.jvp(lambda *arrays: run(system, semiring, False, *arrays)[0], primals, tangents)
    value, uses = _value_and_uses(system, semiring, *primals)
    return value, sum(_inner(uses[name], tangent) for name, tangent in tangents[0].items())


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _value_and_uses(
    system: DeductionSystem, semiring: Semiring, tables: Arrays, lengths: jax.Array
) -> tuple[Any, Arrays]:
    """A rule of its own, if an ordinary one, keeps partial evaluation from cutting the loops of `run` in two."""
    return run(system, semiring, True, tables, lengths)


@_value_and_uses.defjvp
def _(
    system: DeductionSystem, semiring: Semiring, primals: tuple[Any, ...], tangents: tuple[Any, ...]
) -> tuple[Any, Any]:
    return jax.jvp(partial(run, system, semiring, True), primals, tangents)


def _inner(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.sum(a * b, axis=tuple(range(1, a.ndim)))


@partial(jax.jit, static_argnums=(0, 1, 2))
def run(
    system: DeductionSystem, semiring: Semiring, derive: bool, tables: Arrays, lengths: jax.Array
) -> tuple[Any, Arrays]:
    """The goal's value and, if asked, its derivative: how often each score is used. In groups that fit the cache."""
    batch = len(lengths)
    made = plan(system, frozenset(tables))
    nodes = jax.tree.leaves(tables)[0].shape[1]
    size = _group_size(made, nodes, max(batch, 1))
    groups = max(-(-batch // size), 1)

    def split(leaf: jax.Array) -> jax.Array:
        padded = jnp.pad(leaf, [(0, groups * size - batch)] + [(0, 0)] * (leaf.ndim - 1))
        return padded.reshape(groups, size, *leaf.shape[1:])

    if groups == 1 and batch:
        return _parse(made, semiring, derive, tables, lengths)
    arrays = jax.tree.map(split, (tables, lengths))
    result = jax.lax.map(lambda group: _parse(made, semiring, derive, *group), arrays)
    return jax.tree.map(lambda leaf: leaf.reshape(groups * size, *leaf.shape[2:])[:batch], result)


def _group_size(made: Plan, nodes: int, batch: int) -> int:
    """Sentences a group: as many as have room, a multiple of 16, in groups of equal size."""
    layout = made.layout(nodes - 1)
    cells = sum(prod(layout.shape(side, atom.symbol, len(atom.positions))) for (side, _), atom in made.charts().items())
    room = max(1, GROUP_BYTES.get(jax.default_backend(), 1 << 32) // (64 * cells)) * 16
    groups = -(-batch // room)
    size = -(-batch // groups)
    return size if groups == 1 else -(-size // 16) * 16


def _parse(made: Plan, semiring: Semiring, derive: bool, tables: Arrays, lengths: jax.Array) -> tuple[Any, Arrays]:
    """One group: its values (NaN where a score is NaN) and, if asked, its uses."""
    sound = _is_sound(tables)
    layout = made.layout(jax.tree.leaves(tables)[0].shape[1] - 1)
    arity = {name: made.system.declared[name][1] for name in tables}
    tables = {name: _move_axis(table, 0, arity[name]) for name, table in tables.items()}
    dtype = jax.tree.leaves(tables)[0].dtype
    skewed, unskew = jax.vjp(partial(skew_all, table_keys(made, layout), layout, semiring.zero), tables)
    charts = fill(made, layout, skewed, empty_charts(made, layout, semiring, len(lengths), dtype), semiring)

    def goal(tables: Arrays, charts: Arrays) -> Any:
        value = goal_value(made.goal, layout, tables, charts, lengths, semiring)
        return jax.tree.map(lambda leaf: jnp.where(_beside(sound, leaf), leaf, jnp.nan), value)

    if not derive:
        return goal(tables, charts), {}
    if semiring.idempotent:
        value = goal(tables, charts)
        exists = sound & (value != semiring.zero)
        uses = best_derivation(made, layout, *jax.lax.stop_gradient((tables, charts)), lengths, exists, semiring)
    else:
        value, seed = jax.vjp(goal, tables, charts)
        direct, seeds = seed(jnp.ones_like(value))
        (uses,) = unskew(sweep(made, layout, skewed, charts, seeds, semiring))
        uses = jax.tree.map(jnp.add, uses, direct)
    return value, {name: _move_axis(table, arity[name], 0) for name, table in uses.items()}


def _is_sound(tables: Arrays) -> jax.Array:
    """Whether a sentence's scores are all numbers, `[batch]`: NaN would lead a traceback astray."""
    return jnp.stack([~jnp.isnan(leaf).any(tuple(range(1, leaf.ndim))) for leaf in jax.tree.leaves(tables)]).all(0)


def _beside(flags: jax.Array, leaf: jax.Array) -> jax.Array:
    return flags.reshape(flags.shape + (1,) * (leaf.ndim - flags.ndim))


def _move_axis(table: Any, source: int, target: int) -> Any:
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, source, target), table)

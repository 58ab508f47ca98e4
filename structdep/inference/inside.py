"""`inside(system, scores, semiring)`: the value of a chart."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from structdep._engines import cpu as native
from structdep._engines import gpu
from structdep._engines.xla import dense
from structdep._engines.xla.cells import goal_value
from structdep._engines.xla.fill import empty_charts, fill, sweep, table_keys
from structdep._engines.xla.layout import Layout
from structdep._engines.xla.skewing import skew_all
from structdep._engines.xla.steps import Arrays
from structdep._engines.xla.traceback import derivation, derivations
from structdep._lowering.plan import Plan, plan
from structdep.deduction import DeductionSystem
from structdep.inference import one_root
from structdep.inference.constraints import Constraints
from structdep.inference.derivatives import evaluate
from structdep.inference.scores import Tables, is_sound, is_tame, masked, nan_unless, problem
from structdep.inference.systems import System, chosen, is_dealt, on_devices, run
from structdep.semirings import KBest, MaxPlus, Semiring, SingleRoot
from structdep.semirings.base import chart_of, instance

GROUP_BYTES = {"cpu": 1 << 25}
"""Room for the charts of sentences that are parsed side by side: a few caches on CPUs, a quarter of that where
devices are single cores; more for those that make up SIDE_BY_SIDE."""
MOST_BYTES = 1 << 32
"""Room for them anywhere, unless one sentence needs more."""
SIDE_BY_SIDE = 1 << 13
"""Squares of nodes, of all sentences side by side: with fewer, kernels take longer to start than to run.

A quarter of them where values alone are wanted: they have fewer kernels, and wait for memory."""


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
    rows: tuple[Arrays, jax.Array] = flat((tables, lengths), lengths.ndim)
    value = evaluate(system, chart_of(semiring), *rows, semiring.randomness())
    return jax.tree.map(lambda leaf: leaf.reshape(*lengths.shape, *leaf.shape[1:]), semiring.lower(value))


def flat(arrays: Any, batch_axes: int) -> Any:
    """The arrays with one batch axis."""
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[batch_axes:]), arrays)


def tree(
    system: System, semiring: Semiring, want: str, tables: Arrays, lengths: jax.Array, key: jax.Array | None
) -> jax.Array:
    """The heads in the "best" derivation, or a "sample": int32 `[batch, words]`, -1 if there is none, 0 in padding."""
    chart = chart_of(semiring)
    if isinstance(system, DeductionSystem):
        system = chosen(system, chart, tables)
        if native.serves(system, chart, want, tables):
            return native.heads(system, chart, want, tables, lengths, key)
    value, uses = run(system, chart, want, tables, lengths, key=key)
    words = uses["arc"].shape[-1] - 1 - system.last
    arcs = uses["arc"][..., 1 : words + 1]
    value, zero = (semiring.lower(x) for x in (value, semiring.zero))
    heads = jnp.where(arcs > 0, jnp.arange(arcs.shape[-2])[:, None], 0).max(-2)
    heads = jnp.where(((value != zero) & jnp.isfinite(value))[:, None], heads, -1).astype(jnp.int32)
    return jnp.where(jnp.arange(words) < lengths[:, None], heads, 0)


@run.register(DeductionSystem)
def run_chart(
    system: DeductionSystem,
    semiring: Semiring,
    want: str,
    tables: Arrays,
    lengths: jax.Array,
    cotangent: Any = None,
    key: jax.Array | None = None,
) -> tuple[Any, Arrays]:
    """Fills charts: on CPUs by the program of `structdep._engines.cpu`, if it can. See `run`."""
    system = chosen(system, semiring, tables)
    if isinstance(semiring, SingleRoot) and want in ("best", "sample"):
        return one_root.derivation(system, semiring, tables, lengths, key)
    if native.serves(system, semiring, want, tables):
        return native.run(_masked_by_xla, system, semiring, want, tables, lengths, key)
    return run_by_xla(system, semiring, want, tables, lengths, cotangent, key)


def _masked_by_xla(
    system: DeductionSystem, semiring: Semiring, want: str, tables: Arrays, lengths: jax.Array, **named: Any
) -> tuple[Any, Arrays]:
    """What `structdep._engines.cpu` does, which masks scores by itself."""
    return run_by_xla(system, semiring, want, masked(system, tables, lengths), lengths, **named)


@partial(jax.jit, static_argnums=(0, 1, 2))
@on_devices
def run_by_xla(
    system: DeductionSystem,
    semiring: Semiring,
    want: str,
    tables: Arrays,
    lengths: jax.Array,
    cotangent: Any = None,
    key: jax.Array | None = None,
) -> tuple[Any, Arrays]:
    """Fills charts by programs of XLA's, for any semiring and device: in groups of sentences that fit the cache."""
    batch = len(lengths)
    made = plan(system, frozenset(tables))
    nodes = jax.tree.leaves(tables)[0].shape[1]
    size = _group_size(made, want, nodes, max(batch, 1))
    groups = max(-(-batch // size), 1)

    keep = want != "value" or gpu.serves(made, semiring) or not made.is_boxed

    def split(leaf: jax.Array) -> jax.Array:
        """Each group from all over the batch: where devices share it, each of them works on each group."""
        padded = jnp.pad(leaf, [(0, groups * size - batch)] + [(0, 0)] * (leaf.ndim - 1))
        return padded.reshape(size, groups, *leaf.shape[1:]).swapaxes(0, 1)

    def empty() -> Arrays:
        return empty_charts(made, layout, semiring, size, jax.tree.leaves(tables)[0].dtype, keep)

    def parse(state: tuple[Arrays, jax.Array], group: tuple[Any, ...]) -> tuple[Any, tuple[Any, Arrays]]:
        """A group fills the charts of the one before, which are emptied only where these may hold infinity or NaN.

        A product that reads what is not yet filled anew is zero all the same: the item beside has a span of negative
        width, and no group fills that. But infinity and NaN would stay: of wild scores, or of what products there are
        in semirings where they do not add.
        """
        charts, wild = jax.lax.stop_gradient(state)
        charts = jax.lax.fori_loop(0, wild.astype(jnp.int32), lambda *_: empty(), charts)
        charts, result = _parse(made, layout, semiring, want, charts, *group)
        return (charts, ~is_tame(group[0]) if semiring.additive else jnp.array(True)), result

    layout = made.layout(nodes - 1, _lanes(made, semiring, want, size))
    if groups == 1 and batch:
        return _parse(made, layout, semiring, want, empty(), tables, lengths, cotangent, key)[1]
    arrays = jax.tree.map(split, (tables, lengths, cotangent))
    keys = None if key is None else jax.random.split(key, groups)
    _, result = jax.lax.scan(parse, (empty(), jnp.array(False)), (*arrays, keys))
    return jax.tree.map(lambda leaf: leaf.swapaxes(0, 1).reshape(groups * size, *leaf.shape[2:])[:batch], result)


def chart_bytes(system: DeductionSystem, scores: Collection[str], words: int) -> int:
    """Room for the charts of one sentence, in float32, when scores of these names are given.

    Example:
        >>> from structdep import charts
        >>> chart_bytes(charts.mhk(4), ["arc"], 100) < chart_bytes(charts.mhk(4), ["arc"], 200) / 7
        True
    """
    return _bytes(plan(system, frozenset(scores) | {"arc"}), words + 1 + system.last)


def _bytes(made: Plan, nodes: int) -> int:
    layout = made.layout(nodes - 1)
    return 4 * sum(made.sizes[key[1]] * prod(made.shape(key, layout)) for key in made.charts)


def _group_size(made: Plan, want: str, nodes: int, batch: int) -> int:
    """Sentences a group: as many as have room, in groups of equal size."""
    one = _bytes(made, nodes)
    squares = SIDE_BY_SIDE // 4 if want == "value" else SIDE_BY_SIDE
    room = max(_group_bytes() // one, min(-(-squares // nodes**2), MOST_BYTES // one), 1)
    groups = -(-batch // room)
    return -(-batch // groups)


def _group_bytes() -> int:
    backend = jax.default_backend()
    most = GROUP_BYTES.get(backend, MOST_BYTES)
    return most // 4 if backend == "cpu" and jax.local_device_count() > 1 else most


def _lanes(made: Plan, semiring: Semiring, want: str, batch: int) -> int:
    """How many sentences share an axis with nodes: on CPUs all, where XLA does not deal them out to devices.

    Not so in charts of items with two positions, but for their derivatives: their maxima take half as long again then.
    """
    gains = made.arity > 2 or want == "uses"
    shared = jax.default_backend() == "cpu" and gains and not is_dealt() and not gpu.serves(made, semiring)
    return batch if shared else 1


def _parse(
    made: Plan,
    layout: Layout,
    semiring: Semiring,
    want: str,
    charts: Arrays,
    tables: Arrays,
    lengths: jax.Array,
    cotangent: Any,
    key: jax.Array | None,
) -> tuple[Arrays, tuple[Any, Arrays]]:
    """One group: its `charts`, filled, its values (NaN where a score is NaN) and the uses that are wanted."""
    sound = is_sound(tables)
    arity = {name: made.system.tables[name][1] for name in tables}
    tables = {name: _move_axis(table, 0, arity[name]) for name, table in tables.items()}
    charts, back = _fill(made, layout, semiring, tables, charts)

    def goal(tables: Arrays, charts: Arrays) -> Any:
        return nan_unless(sound, goal_value(made, layout, tables, charts, lengths, semiring))

    if want == "value":
        return charts, (goal(tables, charts), {})
    if want == "uses":
        value, seed = jax.vjp(goal, tables, charts)
        direct, seeds = seed(jax.tree.map(jnp.ones_like, value) if cotangent is None else cotangent)
        uses = back(seeds)
        uses = jax.tree.map(jnp.add, uses, direct)
    elif isinstance(semiring, KBest):
        value = goal(tables, charts)
        uses = derivations(
            made, layout, {name: table for name, (table,) in tables.items()}, charts, lengths, value, semiring
        )
    else:
        value = goal(tables, charts)
        exists = sound & (value != semiring.zero) & jnp.isfinite(value)
        uses = derivation(made, layout, *jax.lax.stop_gradient((tables, charts)), lengths, exists, semiring, key)
    return charts, (value, {name: _move_axis(table, arity[name], 0) for name, table in uses.items()})


def _fill(
    made: Plan, layout: Layout, semiring: Semiring, tables: Arrays, charts: Arrays
) -> tuple[Arrays, Callable[[Arrays], Arrays]]:
    """The charts, filled, and the function from their cotangents to those of the tables."""
    if not made.is_boxed:
        charts, pull = jax.vjp(partial(dense.fill, made, layout, semiring, charts=charts), tables)
        return charts, lambda cotangents: pull(cotangents)[0]
    skewed, unskew = jax.vjp(partial(skew_all, table_keys(made, layout), layout, semiring), tables)
    if gpu.serves(made, semiring):
        charts, frames = gpu.fill(made, layout, semiring, skewed, charts)
        return charts, lambda cotangents: unskew(gpu.sweep(made, layout, skewed, charts, cotangents, frames))[0]
    charts = fill(made, layout, skewed, charts, semiring)
    return charts, lambda cotangents: unskew(sweep(made, layout, skewed, charts, cotangents, semiring))[0]


def _move_axis(table: Any, source: int, target: int) -> Any:
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, source, target), table)

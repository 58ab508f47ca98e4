"""The engine of XLA: every class of trees in every semiring, on every device, differentiable again and again."""

from __future__ import annotations

from functools import partial, singledispatch
from typing import Any, cast

import jax
import jax.numpy as jnp

from structdep._engines.masking import is_of_numbers, masked, sums_trees, without_best_arcs
from structdep._engines.query import Answer, Arguments, Query, Request
from structdep._engines.sentences import along_axes
from structdep._engines.xla.chart import Fill, by_xla, run_chart
from structdep.deduction import DeductionSystem
from structdep.semirings import Semiring
from structdep.trees.classes import System


class Engine:
    """See `structdep._engines.choice.Engine`."""

    name = "xla"

    def refuses(self, request: Request, platform: str) -> str:
        return ""

    def run(self, request: Request, arguments: Arguments, platform: str) -> Answer:
        return cast(Answer, answer(request, arguments, by_xla))


@singledispatch
def run(system: System, request: Request, arguments: Arguments, fill: Fill) -> tuple[Any, dict[str, Any]]:
    """The value and the counts for one axis of the batch: a class of trees registers its algorithm here.

    Args:
        fill: how charts are filled, where the class has charts.
    """
    raise TypeError(f"no algorithm is registered for the class of trees {system.name}")


run.register(DeductionSystem, run_chart)


@partial(jax.jit, static_argnums=(0, 2))
def answer(request: Request, arguments: Arguments, fill: Fill) -> Answer:
    """The answer to a request, with any number of axes of the batch."""
    leaves, tree = jax.tree.flatten(arguments)

    def of_one_axis(*leaves: jax.Array) -> Answer:
        return _answer(request, jax.tree.unflatten(tree, leaves), fill)

    of_chart = jax.tree.leaves(arguments.of_charts())
    return cast(Answer, along_axes(of_one_axis, leaves, of_chart, arguments.lengths.ndim))


def _answer(request: Request, arguments: Arguments, fill: Fill) -> Answer:
    tables, lengths = arguments.tables, arguments.lengths
    if is_of_numbers(request.semiring):
        tables = masked(request.system, tables, lengths)
    is_relative = sums_trees(request.system, request.semiring) and request.query is not Query.VALUE
    best, tables = _without_best_arcs(tables) if is_relative else (0, tables)
    value, counts = run(request.system, request, arguments._replace(tables=tables), fill)
    value = jax.tree.map(lambda own: own + best, value) if is_relative else value
    return heads_of(request.system, request.semiring, value, counts, lengths) if request.heads else (value, counts)


def _without_best_arcs(tables: dict[str, Any]) -> tuple[jax.Array, dict[str, Any]]:
    """See `without_best_arcs`; scores of arcs have two grades in `SingleRoot`."""
    leaves, structure = jax.tree.flatten(tables["arc"])
    best, arcs = without_best_arcs(leaves)
    return best, {**tables, "arc": jax.tree.unflatten(structure, arcs)}


def heads_of(system: System, semiring: Semiring, value: Any, counts: dict[str, Any], lengths: jax.Array) -> jax.Array:
    """The heads in a derivation, by its counts: int32 `[batch, words]`, -1 if there is none, 0 in padding."""
    words = counts["arc"].shape[-1] - 1 - system.last
    arcs = counts["arc"][..., 1 : words + 1]
    number, zero = (semiring.lower(x) for x in (value, semiring.zero))
    heads = jnp.where(arcs > 0, jnp.arange(arcs.shape[-2])[:, None], 0).max(-2)
    heads = jnp.where(((number != zero) & jnp.isfinite(number))[:, None], heads, -1).astype(jnp.int32)
    return jnp.where(jnp.arange(words) < lengths[:, None], heads, 0)

"""What every query asks of a class of trees, and the one function that answers.

A class of trees is declared by rules (`DeductionSystem`, run as a chart) or known to an algorithm of its own
(`SpanningTrees`). A new kind of class registers itself with `run`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, singledispatch, wraps
from typing import Any, Protocol, runtime_checkable

import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec, auto_axes

from structdep.deduction import DeductionSystem, Score
from structdep.semirings import Semiring

Run = Callable[..., tuple[Any, dict[str, Any]]]
"""What answers for a class of trees: see `run`."""


@runtime_checkable
class System(Protocol):
    """A class of trees; frozen, hashable and equal by value.

    `declared` are its scores by name, each with its number of positions; the last node is n + `last`. `unambiguous`
    says that every tree is derived once, `trees` names the class: systems that name one class have the same trees.
    """

    @property
    def name(self) -> str: ...
    @property
    def trees(self) -> str: ...
    @property
    def unambiguous(self) -> bool: ...
    @property
    def declared(self) -> Mapping[str, tuple[Score, int]]: ...
    @property
    def last(self) -> int: ...


@singledispatch
def run(
    system: System,
    semiring: Semiring,
    want: str,
    tables: dict[str, Any],
    lengths: jax.Array,
    cotangent: Any = None,
    key: jax.Array | None = None,
) -> tuple[Any, dict[str, Any]]:
    """The value of each sentence's trees and, beyond the "value", how it uses each score.

    `tables` hold semiring values, `[batch, nodes, ..]`. "uses" are the value's derivative (times a `cotangent`); those
    of the "best" tree are 0 or 1, as are those of a "sample", drawn by `key`. The last two are for numbers, or for
    numbers in `SingleRoot`, whose grades are joined in the uses; in `KBest`, "best" has those of each of the k, k last.
    """
    raise TypeError(f"nothing has been registered with structdep.systems.run to run {system.name}")


def chosen(system: DeductionSystem, semiring: Semiring, tables: Mapping[str, Any]) -> DeductionSystem:
    """The system, or one of the same trees that finds the best sooner."""
    best = semiring.idempotent and tables.keys() == {"arc"} and system.for_best
    return best or system


def is_dealt() -> bool:
    """Whether XLA deals sentences out to devices by itself: a program that it does not know would get all on each."""
    mesh = jax.sharding.get_abstract_mesh()
    return AxisType.Auto in mesh.axis_types and mesh.size > 1


def on_devices(function: Run) -> Run:
    """Decorates what runs a class of trees: where axes of a mesh are explicit, XLA decides how devices share its work.

    The results are then shared as the batch is.
    """

    @wraps(function)
    def shared(
        system: System, semiring: Semiring, want: str, tables: dict[str, Any], *arrays: Any, **named: Any
    ) -> tuple[Any, dict[str, Any]]:
        answer = partial(function, system, semiring, want)
        batch = jax.typeof(jax.tree.leaves(tables)[0]).sharding
        if AxisType.Explicit in batch.mesh.axis_types:
            rows = PartitionSpec(*batch.spec[:1])  # type: ignore[no-untyped-call]
            answer = auto_axes(answer, out_sharding=NamedSharding(batch.mesh, rows))
        return answer(tables, *arrays, **named)

    return shared


def check_system(system: object) -> None:
    """Raise TypeError unless this is a class of trees."""
    if not isinstance(system, System):
        raise TypeError(
            f"{type(system).__name__} is no class of trees: give a system from structdep.charts, a DeductionSystem of "
            "your own, or structdep.spanning.all_trees()"
        )

"""Charts on CPUs by a program in C++: best scores, log-sums, marginals, best trees and samples, whatever the rules.

XLA fills charts in any semiring, on any device, and can be differentiated again. What is wanted most often, of numbers
on a CPU, is done here in a fraction of the time, and nothing has to be compiled for a system, or for a shape: the rules
are data (`program.py`) of one program (`chart.cc`), which looks at eight or sixteen spans at a time: neighbours of one
width, or one of each of as many sentences (`frame.h`). It masks scores by itself: XLA calls a program that has nothing
else to do at once, without another thread.

Charts have scores, or logarithms of sums. Of large charts whose trees have one derivation each, sums are of real
numbers, from arcs relative to those of all heads (`potentials.h`); where these are too small or too large, the
sentences that are parsed together are parsed again, by logarithms. So last bits of a value or a marginal may depend on
the sentences beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec, reshard

from structdep._engines.cpu import library
from structdep._engines.cpu.program import is_possible, program
from structdep.deduction import DeductionSystem
from structdep.inference.systems import System, chosen, is_dealt
from structdep.semirings import LogSum, MaxPlus, Semiring

Answer = tuple[jax.Array, dict[str, jax.Array]]

WANTS = ("value", "uses", "best", "sample")
"""As `chart.cc` numbers them."""


def serves(system: DeductionSystem, semiring: Semiring, want: str, tables: Mapping[str, Any]) -> bool:
    """Whether what is wanted can be had here."""
    return (
        jax.default_backend() == "cpu"
        and type(semiring) in (MaxPlus, LogSum)
        and want in WANTS
        and not (want == "uses" and semiring.idempotent)
        and not is_dealt()
        and is_possible(system, frozenset(tables))
        and library.is_there()
    )


def masks(system: System, semiring: Semiring, tables: Mapping[str, Any]) -> bool:
    """Whether charts of these scores are filled here: what is behind a sentence, and what is no arc, is not read."""
    if not isinstance(system, DeductionSystem):
        return False
    return serves(chosen(system, semiring, tables), semiring, "value", tables)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2, 3))
def _run(
    by_xla: Callable[..., Answer],
    system: DeductionSystem,
    semiring: Semiring,
    want: str,
    tables: dict[str, jax.Array],
    lengths: jax.Array,
    key: jax.Array | None,
) -> Answer:
    """The value, and the uses, as those of `structdep.inference.systems.run`. Derivatives are computed `by_xla`."""
    names = sorted(tables)
    shapes = [] if want == "value" else [tables[name].shape[1:] for name in names]
    value, *uses = _call(system, semiring, want, tables, lengths, key, shapes)
    return value, dict(zip(names, uses, strict=False))


@partial(jax.jit, static_argnums=(0, 1, 2))
def heads(
    system: DeductionSystem,
    semiring: Semiring,
    want: str,
    tables: dict[str, jax.Array],
    lengths: jax.Array,
    key: jax.Array | None,
) -> jax.Array:
    """The heads in the "best" derivation, or a "sample": int32 `[batch, words]`, -1 if there is none, 0 in padding."""
    words = tables["arc"].shape[-1] - 1 - system.last
    tables = jax.lax.stop_gradient(tables)
    return _call(system, semiring, want, tables, lengths, key, [(words,)], heads=True)[1]


def _call(
    system: DeductionSystem,
    semiring: Semiring,
    want: str,
    tables: dict[str, jax.Array],
    lengths: jax.Array,
    key: jax.Array | None,
    shapes: list[tuple[int, ...]],
    heads: bool = False,
) -> tuple[jax.Array, ...]:
    """The value of each sentence, and arrays of these shapes: of uses, or of heads."""
    names = tuple(sorted(tables))
    dtype = jnp.result_type(*tables.values())
    own = [tables[name].astype(dtype) for name in names]
    seeds = [] if key is None else [jax.random.bits(key, (len(lengths), 2), jnp.uint32)]
    numbers = {
        "program": program(system, names),
        "adds": not semiring.idempotent,
        "want": np.int32(WANTS.index(want)),
        "arc": np.int32(names.index("arc") if heads else -1),
    }

    def call(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        batch = arrays[len(own)].shape
        wanted = [(batch, dtype), *(((*batch, *shape), jnp.int32 if heads else dtype) for shape in shapes)]
        results = [jax.ShapeDtypeStruct(*one) for one in wanted]  # type: ignore[no-untyped-call]
        return tuple(jax.ffi.ffi_call(library.TARGET, results, vmap_method="expand_dims")(*arrays, **numbers))

    return tuple(_where_they_are(call, *own, lengths, *seeds))


def _where_they_are(function: Callable[..., Any], *arrays: jax.Array) -> Any:
    """What the function makes of arrays with the batch first: on a mesh with explicit axes, each device of its part."""
    batch = jax.typeof(arrays[0]).sharding
    if AxisType.Explicit not in batch.mesh.axis_types:
        return function(*arrays)
    rows = PartitionSpec(*batch.spec[:1])  # type: ignore[no-untyped-call]
    placed = [reshard(array, NamedSharding(batch.mesh, rows)) for array in arrays]  # type: ignore[no-untyped-call]
    return jax.shard_map(function, mesh=batch.mesh, in_specs=rows, out_specs=rows, check_vma=False)(*placed)


@_run.defjvp
def _(
    by_xla: Callable[..., Answer],
    system: DeductionSystem,
    semiring: Semiring,
    want: str,
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
) -> tuple[Answer, Answer]:
    tables, lengths, key = primals
    return jax.jvp(lambda t: by_xla(system, semiring, want, t, lengths, key=key), (tables,), tangents[:1])


run = jax.jit(_run, static_argnums=(0, 1, 2, 3))

"""Charts on GPUs: best scores, log-sums and marginals by kernels that have a sentence's whole chart.

XLA starts a kernel for each operation at each width, hundreds for a chart, and compiles all of them for a system and a
shape. Here there is one to fill charts and one to go back through them, written in Pallas, for Triton. The rules are
data (`program.py`), so that a kernel is small whatever the system. All else is left to XLA: scores laid out as boxes,
the goal's value, best trees and samples from filled charts, other semirings, and derivatives of derivatives.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from structdep._engines.gpu.blocks import Lanes
from structdep._engines.gpu.compiler import to_fill, to_go_back
from structdep._engines.gpu.folds import fold_of
from structdep._engines.gpu.frames import Frame
from structdep._engines.gpu.kernels import Kernel
from structdep._engines.gpu.program import Program
from structdep._engines.xla import fill as engine
from structdep._engines.xla.layout import Layout
from structdep._engines.xla.steps import Arrays
from structdep._lowering.plan import Plan
from structdep.inference.systems import is_dealt
from structdep.semirings import LogSum, Semiring

LEAST, MOST = 128, 512
"""Lanes of a sentence: at least, and at most, or where items have three positions."""
CELLS = 2
"""Lanes of one thread: so many cells it waits for at once."""
AT_ONCE = 4
"""Terms that a lane reads before it adds them up, as memory answers late: more would take too many registers."""
INTERPRETED = False
"""Whether kernels are run by XLA, on any device: for tests."""


def serves(plan: Plan, semiring: Semiring) -> bool:
    """Whether charts are filled here."""
    return (
        fold_of(semiring) is not None
        and bool(plan.groups)
        and plan.is_boxed
        and not is_dealt()
        and (INTERPRETED or _is_able())
    )


def _is_able() -> bool:
    if jax.default_backend() != "gpu" or os.environ.get("STRUCTDEP_NATIVE") == "0":
        return False
    return _has_triton()


@cache
def _has_triton() -> bool:
    """Of NVIDIA's, from the generation of 2020 on."""
    capability = str(jax.local_devices(backend="gpu")[0].compute_capability)
    return not capability[0].isdigit() or float(capability) >= 8


@partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def fill(plan: Plan, layout: Layout, semiring: Semiring, tables: Arrays, charts: Arrays) -> tuple[Arrays, jax.Array]:
    """As `engine.fill`; and the same charts as `sweep` reads them."""
    fold, frame = fold_of(semiring), Frame.of({**tables, **charts})
    assert fold is not None
    kernel = _kernel(plan, layout, to_fill(plan, layout, frame))
    frames = _run(kernel, partial(kernel.fill, fold), [], frame.flatten({**tables, **charts}) / fold.unit)
    filled = frame.unflatten(frames * fold.unit)
    return {key: filled[key] for key in charts}, frames


@fill.defjvp
def _(plan: Plan, layout: Layout, semiring: Semiring, primals: Any, tangents: Any) -> tuple[Any, Any]:
    _, frames = fill(plan, layout, semiring, *primals)
    charts, more = jax.jvp(partial(engine.fill, plan, layout, semiring=semiring), primals, tangents)
    return (charts, frames), (more, jnp.zeros_like(frames))


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def sweep(plan: Plan, layout: Layout, tables: Arrays, charts: Arrays, cotangents: Arrays, frames: jax.Array) -> Arrays:
    """As `engine.sweep`, in `LogSum`, for cotangents that are nowhere negative."""
    frame = Frame.of({**tables, **charts})
    kernel = _kernel(plan, layout, to_go_back(plan, layout, frame))
    zeros = {key: jnp.zeros_like(table) for key, table in tables.items()}
    derivatives = frame.unflatten(_run(kernel, kernel.go_back, [frames], frame.flatten({**zeros, **cotangents})))
    return {key: derivatives[key] for key in tables}


@sweep.defjvp
def _(plan: Plan, layout: Layout, primals: Any, tangents: Any) -> tuple[Arrays, Arrays]:
    return jax.jvp(partial(engine.sweep, plan, layout, semiring=LogSum()), primals[:3], tangents[:3])


def _kernel(plan: Plan, layout: Layout, program: Program) -> Kernel:
    columns = min(1 << (layout.nodes - 1).bit_length(), MOST)
    lanes = MOST if plan.arity > 2 else min(max(LEAST, 2 * columns), MOST)
    narrow, wide = Lanes(lanes // columns, columns), Lanes(1, lanes)
    return Kernel(program, min(plan.least.values()), layout.widest, narrow, wide, AT_ONCE, INTERPRETED)


def _run(kernel: Kernel, work: Callable[..., None], given: list[jax.Array], changed: jax.Array) -> jax.Array:
    """What the kernel makes of `[batch, size]` in its place, for each sentence by itself."""
    code = jnp.asarray(kernel.program.code)
    sentence = pl.BlockSpec((None, changed.shape[1]), lambda number: (number, 0))
    call = pl.pallas_call(
        work,
        grid=(len(changed),),
        in_specs=[pl.BlockSpec(code.shape, lambda _: (0,)), *[sentence] * len(given), sentence],
        out_specs=sentence,
        out_shape=jax.typeof(changed),
        input_output_aliases={1 + len(given): 0},
        compiler_params=triton.CompilerParams(num_warps=kernel.wide.columns // (32 * CELLS), num_stages=1),
        interpret=kernel.interpreted,
    )
    result: jax.Array = call(code, *given, changed)
    return result

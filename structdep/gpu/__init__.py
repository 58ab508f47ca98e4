"""Charts on GPUs by kernels that have a sentence's whole chart: best scores, log-sums and marginals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton

from structdep import engine
from structdep.gpu.blocks import Lanes
from structdep.gpu.compiler import to_fill, to_go_back
from structdep.gpu.folds import Logarithm, fold_of
from structdep.gpu.frames import Frame
from structdep.gpu.kernels import Kernel
from structdep.gpu.program import Program
from structdep.layout import Layout
from structdep.plan import Plan
from structdep.semirings import LogSum, Semiring
from structdep.steps import Arrays

LANES = 512
"""Cells, or terms of fewer of them, that a sentence's threads look at together, at most."""
CELLS = 1
"""Those of one thread."""
INTERPRETED = False
"""Whether kernels are run by XLA, on any device: for tests."""


def serves(plan: Plan, semiring: Semiring) -> bool:
    """Whether charts are filled here."""
    return (jax.default_backend() == "gpu" or INTERPRETED) and fold_of(semiring) is not None and bool(plan.groups)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1, 2))
def fill(plan: Plan, layout: Layout, semiring: Semiring, tables: Arrays, charts: Arrays) -> Arrays:
    """As `engine.fill`."""
    fold, frame = fold_of(semiring), Frame.of({**tables, **charts})
    assert fold is not None
    kernel = _kernel(plan, layout, to_fill(plan, layout, frame))
    frames = frame.flatten({**tables, **charts}) / fold.unit
    filled = frame.unflatten(_run(kernel, partial(kernel.fill, fold), [], frames) * fold.unit)
    return {key: filled[key] for key in charts}


@fill.defjvp
def _(plan: Plan, layout: Layout, semiring: Semiring, primals: Any, tangents: Any) -> tuple[Arrays, Arrays]:
    return jax.jvp(lambda *arrays: engine.fill(plan, layout, *arrays, semiring), primals, tangents)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def sweep(plan: Plan, layout: Layout, tables: Arrays, charts: Arrays, cotangents: Arrays) -> Arrays:
    """As `engine.sweep`, in `LogSum`, for cotangents that are nowhere negative."""
    frame = Frame.of({**tables, **charts})
    kernel = _kernel(plan, layout, to_go_back(plan, layout, frame))
    values = frame.flatten({**tables, **charts}) / Logarithm.unit
    zeros = {key: jnp.zeros_like(table) for key, table in tables.items()}
    derivatives = frame.unflatten(_run(kernel, kernel.go_back, [values], frame.flatten({**zeros, **cotangents})))
    return {key: derivatives[key] for key in tables}


@sweep.defjvp
def _(plan: Plan, layout: Layout, primals: Any, tangents: Any) -> tuple[Arrays, Arrays]:
    return jax.jvp(lambda *arrays: engine.sweep(plan, layout, *arrays, LogSum()), primals, tangents)


def _kernel(plan: Plan, layout: Layout, program: Program) -> Kernel:
    columns = min(1 << (layout.nodes - 1).bit_length(), LANES)
    narrow, wide = Lanes(LANES // columns, columns), Lanes(1, LANES)
    return Kernel(program, min(plan.least.values()), layout.widest, narrow, wide, INTERPRETED)


def _run(kernel: Kernel, work: Callable[..., None], given: list[jax.Array], changed: jax.Array) -> jax.Array:
    """What the kernel makes of `[batch, size]` in its place, for each sentence by itself."""
    code = jnp.asarray(kernel.program.code)
    sentence = pl.BlockSpec((None, changed.shape[1]), lambda number: (number, 0))
    call = pl.pallas_call(
        work,
        grid=(len(changed),),
        in_specs=[pl.BlockSpec(code.shape, lambda _: (0,)), *[sentence] * len(given), sentence],
        out_specs=sentence,
        out_shape=jax.ShapeDtypeStruct(changed.shape, changed.dtype),
        input_output_aliases={1 + len(given): 0},
        compiler_params=triton.CompilerParams(num_warps=LANES // (32 * CELLS), num_stages=1),
        interpret=kernel.interpreted,
    )
    result: jax.Array = call(code, *given, changed)
    return result

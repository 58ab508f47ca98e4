"""The engine for NVIDIA GPUs: two Pallas kernels, one that fills charts and one that computes expected counts.

Each program instance holds the whole chart of one sentence; XLA would start a kernel for each operation at each width,
hundreds for a chart, and compile all of them for each system and shape. The rules are data (`program.py`), so a kernel
is small whatever the system. XLA does the rest: it lays scores out as boxes, reads the goal's value, and traces
derivations in filled charts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, cast

import jax
import jax.numpy as jnp

from structdep._engines.gpu.blocks import Lanes
from structdep._engines.gpu.compiler import to_fill, to_go_back
from structdep._engines.gpu.folds import fold_of
from structdep._engines.gpu.packing import Packing
from structdep._engines.gpu.program import Program
from structdep._engines.query import Answer, Arguments, Request, scaled
from structdep._engines.xla import answer
from structdep._engines.xla.steps import Arrays
from structdep._lowering.layout import Layout
from structdep._lowering.plan import Plan, plan
from structdep.deduction import DeductionSystem
from structdep.semirings import Semiring

if TYPE_CHECKING:
    from structdep._engines.gpu.kernels import Kernel

LEAST, MOST = 128, 512
"""Lanes of a sentence: at least, and at most, or where items have three positions."""
CELLS = 2
"""Lanes of one thread of the GPU: cells whose memory it reads at once."""
AT_ONCE = 4
"""Terms that a lane reads before it adds them up, as memory answers late: more would take too many registers."""


class Engine:
    """See `structdep._engines.choice.Engine`."""

    name = "gpu"

    def refuses(self, request: Request, platform: str) -> str:
        if not isinstance(request.system, DeductionSystem):
            return "only for deduction systems"
        if fold_of(request.semiring) is None:
            return f"no support for {type(request.semiring).__name__}"
        made = plan(request.system, frozenset(request.scores))
        if not made.groups:
            return "the goal follows from axioms alone: there is no chart to fill"
        if not made.is_boxed:
            return (
                "the kernels cannot index a position in its rules: one that a score names twice, one that is shifted "
                "too far, or one outside a span that no other item bounds"
            )
        if platform == "cuda" and request.engine is None:
            return _lacking()
        return ""

    def run(self, request: Request, arguments: Arguments, platform: str) -> Answer:
        found = answer(request, arguments._replace(cotangent=None), Kernels(platform != "cuda"))
        if request.heads:
            return cast(jax.Array, found)
        return found[0], scaled(found[1], arguments.cotangent)


@cache
def _lacking() -> str:
    """What the GPUs of this host lack: Triton compiles for those of NVIDIA's, from the generation of 2020 on."""
    try:
        capability = str(jax.local_devices(backend="cuda")[0].compute_capability)
    except RuntimeError:
        return "the compute capability of this host's GPU is unknown"
    return "" if float(capability) >= 8 else f"Triton kernels need compute capability 8.0, the GPU has {capability}"


@dataclass(frozen=True)
class Kernels:
    """Fills charts by kernels, which JAX interprets where there is no GPU: see `structdep._engines.xla.chart.Fill`."""

    interpreted: bool

    def __call__(
        self, made: Plan, layout: Layout, semiring: Semiring, tables: Arrays, charts: Arrays
    ) -> tuple[Arrays, Callable[[Arrays], Arrays]]:
        fold, packing = fold_of(semiring), Packing.of({**tables, **charts})
        assert fold is not None
        kernel = _kernel(made, layout, to_fill(made, layout, packing), self.interpreted)
        filled = _run(kernel, partial(kernel.fill, fold), [], packing.flatten({**tables, **charts}) / fold.unit)
        arrays = packing.unflatten(filled * fold.unit)

        def back(cotangents: Arrays) -> Arrays:
            """For cotangents that are nowhere negative."""
            kernel = _kernel(made, layout, to_go_back(made, layout, packing), self.interpreted)
            zeros = {key: jnp.zeros_like(table) for key, table in tables.items()}
            found = packing.unflatten(_run(kernel, kernel.go_back, [filled], packing.flatten({**zeros, **cotangents})))
            return {key: found[key] for key in tables}

        return {key: arrays[key] for key in charts}, back


def _kernel(plan: Plan, layout: Layout, program: Program, interpreted: bool) -> Kernel:
    from structdep._engines.gpu.kernels import Kernel  # as Pallas takes a tenth of a second to import

    columns = min(1 << (layout.nodes - 1).bit_length(), MOST)
    lanes = MOST if plan.arity > 2 else min(max(LEAST, 2 * columns), MOST)
    narrow, wide = Lanes(lanes // columns, columns), Lanes(1, lanes)
    return Kernel(program, min(plan.least.values()), layout.widest, narrow, wide, AT_ONCE, interpreted)


def _run(kernel: Kernel, work: Callable[..., None], given: list[jax.Array], changed: jax.Array) -> jax.Array:
    """What the kernel makes of `[batch, size]` in its place, for each sentence by itself."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

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

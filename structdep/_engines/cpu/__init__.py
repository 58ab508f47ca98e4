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

import jax
import jax.numpy as jnp
import numpy as np

from structdep._engines.cpu import library
from structdep._engines.cpu.program import is_possible, program
from structdep._engines.query import Answer, Arguments, Query, Request, scaled
from structdep.deduction import DeductionSystem
from structdep.semirings import LogSum, MaxPlus

WANTS = (Query.VALUE, Query.EXPECTED_COUNTS, Query.BEST, Query.SAMPLE)
"""As `chart.cc` numbers them."""


class Engine:
    """See `structdep._engines.choice.Engine`."""

    name = "cpu"

    def refuses(self, request: Request, platform: str) -> str:
        semiring = type(request.semiring)
        if platform != "cpu":
            return "it is for CPUs"
        if not isinstance(request.system, DeductionSystem):
            return "it is for deduction systems"
        if semiring not in (MaxPlus, LogSum) or (request.query is Query.EXPECTED_COUNTS and semiring is MaxPlus):
            return f"it does not know the {request.query.value} in {semiring.__name__}"
        if not is_possible(request.system, frozenset(request.scores)):
            return "its programs have no room for so many positions or factors"
        return library.missing()

    def run(self, request: Request, arguments: Arguments, platform: str) -> Answer:
        tables, lengths, cotangent, seeds = arguments
        names = request.scores
        dtype = jnp.result_type(*tables.values())
        leaves = [*(tables[name].astype(dtype) for name in names), lengths, *([] if seeds is None else [seeds])]
        batch = jnp.broadcast_shapes(*(leaf.shape[: lengths.ndim] for leaf in leaves))
        shapes = [] if request.query is Query.VALUE else [tables[name].shape[lengths.ndim :] for name in names]
        if request.heads:
            shapes = [(tables["arc"].shape[-1] - 1 - request.system.last,)]
        counted = jnp.dtype(jnp.int32 if request.heads else dtype)
        types = [jax.ShapeDtypeStruct(batch, dtype)]  # type: ignore[no-untyped-call]
        types += [jax.ShapeDtypeStruct((*batch, *shape), counted) for shape in shapes]  # type: ignore[no-untyped-call]
        assert isinstance(request.system, DeductionSystem)
        value, *counts = jax.ffi.ffi_call(library.TARGET, types)(
            *leaves,
            program=program(request.system, names),
            adds=not request.semiring.idempotent,
            want=np.int32(WANTS.index(request.query)),
            arc=np.int32(names.index("arc") if request.heads else -1),
        )
        if request.heads:
            return counts[0]
        return value, scaled(dict(zip(names, counts, strict=False)), cotangent)

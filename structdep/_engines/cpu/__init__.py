"""The engine for CPUs: a compiled C++ program that fills charts of numbers, whatever the rules.

It answers the best score, the log-partition, expected counts, best derivations and samples, in a fraction of the time
of XLA's programs. Nothing is compiled for a system or a shape: the rules are data (`program.py`) of one program
(`chart.cc`), which works on eight or sixteen spans at a time (`layout.h`). It masks scores by itself, so XLA calls it
at once, on the calling thread, where a program holds nothing else.

Charts hold scores, or logarithms of sums. In large charts of systems that derive each tree once, sums are real numbers,
relative to arcs of all heads (`arc_scaling.h`). Where a sum is too small or too large for them, the sentences that are
parsed together are parsed again, by logarithms. The last bits of a value or a marginal may depend on the sentences
beside it.
"""

from __future__ import annotations

from typing import cast

import jax
import numpy as np

from structdep._engines import root_counting
from structdep._engines.answers import number_types
from structdep._engines.cpu import library
from structdep._engines.cpu.program import MOST_FACTORS, MOST_POSITIONS, MOST_SUMMED, is_possible, program
from structdep._engines.query import Answer, Arguments, Query, Request, scaled
from structdep.deduction import DeductionSystem
from structdep.semirings import LogSum, MaxPlus

Numbers = tuple[jax.Array, dict[str, jax.Array]]
"""A value and counts that are numbers."""
WANTS = (Query.VALUE, Query.EXPECTED_COUNTS, Query.BEST, Query.SAMPLE)
"""As `chart.cc` numbers them."""


class Engine:
    """See `structdep._engines.choice.Engine`."""

    name = "cpu"

    def refuses(self, request: Request, platform: str) -> str:
        request = root_counting.of_numbers(request) or request
        semiring = type(request.semiring)
        if platform != "cpu":
            return "only for CPUs"
        if not isinstance(request.system, DeductionSystem):
            return "only for deduction systems"
        if semiring not in (MaxPlus, LogSum) or (request.query is Query.EXPECTED_COUNTS and semiring is MaxPlus):
            return f"no support for the {request.query.value} in {semiring.__name__}"
        if not is_possible(request.system, frozenset(request.scores)):
            return (
                f"the system exceeds a limit: {MOST_POSITIONS} positions in an item or a score, {MOST_FACTORS} factors "
                f"in a product, {MOST_SUMMED} summed positions in a rule"
            )
        if why := library.why_not():
            library.warn()
        return why

    def run(self, request: Request, arguments: Arguments, platform: str) -> Answer:
        if counting := root_counting.of_numbers(request):
            added, given = root_counting.arguments_of_numbers(arguments, request)
            rest, of_scores = cast(Numbers, self.run(counting, given, platform))
            return root_counting.answer_in_pairs(added + rest, of_scores)
        tables, lengths, cotangent, seeds = arguments
        names = request.scores
        of_value, of_counts = number_types(request, arguments)
        own = [tables[name].astype(of_value.dtype) for name in names]
        assert isinstance(request.system, DeductionSystem)
        value, *counts = jax.ffi.ffi_call(library.TARGET, [of_value, *jax.tree.leaves(of_counts)])(
            *own,
            lengths,
            *([] if seeds is None else [seeds]),
            program=program(request.system, names),
            adds=not request.semiring.idempotent,
            want=np.int32(WANTS.index(request.query)),
            arc=np.int32(names.index("arc") if request.heads else -1),
        )
        if request.heads:
            return counts[0]
        return value, scaled(dict(zip(names, counts, strict=False)), cotangent)

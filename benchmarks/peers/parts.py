"""The parts of the comparison, as steps that are measured one after the other."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence

from benchmarks.peers import decoders, jax_libraries, parser_programs, parsers, torch_libraries
from benchmarks.peers.installed import is_on_one_core, taking_part
from benchmarks.peers.jax_libraries import ALL_TREES, EISNER, MH4, SIBLINGS, SINGLE_ROOT
from benchmarks.peers.rows import OURS, Step
from benchmarks.peers.turns import BEST_TREE, LOG_PARTITION, MARGINALS, Library, Measure, Query, step

LIBRARIES: dict[str, Library] = {
    "torch-struct": torch_libraries.torch_struct,
    "SuPar": torch_libraries.supar,
    "SynJax": jax_libraries.synjax,
    "MH_4 in Cython": decoders.mh4,
    "Chu-Liu-Edmonds in C++": decoders.chu_liu_edmonds,
}


def charts(options: argparse.Namespace) -> list[Step]:
    siblings = [(words, options.sibling_batch) for words in options.words]
    return [
        *steps("charts", EISNER, sizes(options), options),
        *steps("charts", SIBLINGS, siblings, options),
        *steps("charts", MH4, sizes(options), options, [BEST_TREE]),
    ]


def spanning(options: argparse.Namespace) -> list[Step]:
    return [one for system in (ALL_TREES, SINGLE_ROOT) for one in steps("spanning", system, sizes(options), options)]


def sizes(options: argparse.Namespace) -> list[tuple[int, int]]:
    """Numbers of words, each with batches of all sizes."""
    return [(words, batch) for words in options.words for batch in options.batch]


def steps(
    part: str,
    system: str,
    sizes: Sequence[tuple[int, int]],
    options: argparse.Namespace,
    names: Sequence[str] = (LOG_PARTITION, MARGINALS, BEST_TREE),
) -> list[Step]:
    installed = taking_part()
    libraries: Mapping[str, Library] = {
        OURS: jax_libraries.structdep,
        **{name: library for name, library in LIBRARIES.items() if name in installed},
    }
    how = Measure(options.rounds, options.seconds, time.process_time if is_on_one_core() else time.perf_counter)
    return [step(part, Query(system, name), libraries, *size, how) for size in sizes for name in names]


def whole_processes(options: argparse.Namespace) -> list[Step]:
    programs = [parser_programs.structdep(name) for name in options.parsers]
    others = {"SuPar": parser_programs.supar, "UDPipe": parser_programs.udpipe}
    programs += [make() for name, make in others.items() if name in taking_part()]
    return parsers.steps(options.lang, programs, options.runs, options.core)


PARTS: dict[str, Callable[[argparse.Namespace], list[Step]]] = {
    "charts": charts,
    "spanning": spanning,
    "parsers": whole_processes,
}

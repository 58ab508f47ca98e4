"""Programs of several libraries that answer the same query: run in turn, results compared with structdep's."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import seconds
from benchmarks.peers.rows import OURS, Row, Step

Scores = NDArray[np.float32]
Program = Callable[[], Any]
LOG_PARTITION, MARGINALS, BEST_TREE = "log-partition", "marginals", "best tree"
NO_HEAD = -1
"""Of words that have no head in a library's result, or several: the result is no tree."""
LEAST_ROUNDS = 3
TOLERANCE = 2e-3
"""The largest difference of log-partitions (relative above 1) and marginals that are called equal: they are float32."""


class Query(NamedTuple):
    """A query to the trees of a system."""

    system: str
    name: str


class Work(NamedTuple):
    """Makes a program, which is run until its result is there, and makes an array like structdep's of the result."""

    prepare: Callable[[], Program]
    like_ours: Callable[[Any], Any] = np.asarray


Library = Callable[[Query, Scores], Work | None]
"""From a query and scores `[batch, n+1, n+1]`, by head and with the root first, to its program; None if it has none."""


class Measure(NamedTuple):
    """How often programs run, for some rounds or until some seconds are over, and the clock that times them."""

    rounds: int
    seconds: float
    clock: Callable[[], float] = time.perf_counter


def random_scores(batch: int, words: int) -> Scores:
    return np.random.default_rng(0).normal(size=(batch, words + 1, words + 1)).astype(np.float32)


def step(part: str, query: Query, libraries: Mapping[str, Library], words: int, batch: int, how: Measure) -> Step:
    """One query for sentences of one length: the rows of the libraries that answer it."""

    def run() -> list[Row]:
        scores = random_scores(batch, words)
        works = {name: work for name, library in libraries.items() if (work := library(query, scores))}
        rows = {name: Row(part, *query, name, "ms a sentence", words, batch) for name in works}
        measure(works, rows, how)
        return list(rows.values())

    return Step(f"{part}: {query.system}, {query.name}, {words} words, batch of {batch}", run)


def measure(works: Mapping[str, Work], rows: Mapping[str, Row], how: Measure) -> None:
    """Fill the rows. Round after round, each program runs once, so that a busy machine slows all of them alike."""
    start = time.perf_counter()
    programs = compared(works, rows)
    for done in range(how.rounds):
        if done >= LEAST_ROUNDS and time.perf_counter() - start > how.seconds:
            break
        for name, program in programs.items():
            settle()
            rows[name].runs.append(seconds(program, how.clock) * 1e3 / rows[name].batch)


def settle() -> None:
    """Wait until the threads of other programs are idle: some free memory long after their result is there."""
    for _ in range(100):
        used = time.process_time()
        time.sleep(0.02)
        if time.process_time() - used < 1e-3:
            return


def compared(works: Mapping[str, Work], rows: Mapping[str, Row]) -> dict[str, Program]:
    """The programs, each run once. What fails, or differs from structdep's result, is noted in its row."""
    programs: dict[str, Program] = {}
    expected: Any = None
    for name, work in works.items():
        try:
            program = work.prepare()
            found = np.asarray(work.like_ours(program()))
        except Exception as error:
            if name == OURS:
                raise
            rows[name].trouble = f"{type(error).__name__}: {str(error).strip()}".splitlines()[0]
            continue
        programs[name] = program
        if name == OURS:
            expected = found
        else:
            compare(rows[name], found, expected)
    return programs


def compare(row: Row, found: NDArray[Any], expected: NDArray[Any]) -> None:
    """Note the difference from structdep's result: the largest one, or the share of heads of best trees."""
    if found.shape != expected.shape:
        row.trouble = f"the result has shape {found.shape}, not {expected.shape}"
    elif row.query == BEST_TREE:
        row.difference = float(np.mean(found != expected))
        others, without = (found != expected).any(1).sum(), (found == NO_HEAD).any(1).sum()
        row.trouble = f"other trees for {others} of {len(found)} sentences, {without} are no trees" if others else ""
    else:
        row.difference = float(np.max(abs(found - expected) / np.maximum(1, abs(expected))))
        row.trouble = "" if row.difference <= TOLERANCE else "another result"

"""`python -m benchmarks.limits`: the time of a chart beside the least time that the machine allows.

For each engine, system and length: milliseconds a sentence of best scores and of log-partitions, beside a bound. The
bound is the larger of two times: that of the operations which the rules need, at the measured peak rate of arithmetic,
and that of the bytes of scores and charts, at the measured bandwidth. Peaks are those of one thread: pin the process to
one core (`taskset -c 0`). With --out, an interrupted run continues.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp

from benchmarks import measure as measured
from benchmarks.bounds import Work, computed, work
from benchmarks.peaks import KINDS, SIZES, bandwidth, rate
from benchmarks.peers.installed import PEERS, is_on_one_core, machine
from benchmarks.peers.page import machine as machine_line
from benchmarks.peers.rows import Results, Row, Step, load, measure
from structdep import DeductionSystem, use_engine

SYSTEMS = {
    "eisner": "eisner",
    "arc_hybrid": "arc_hybrid",
    "mhk(4)": "mh4",
    "mh4_trees": "mh4_trees",
    "one_endpoint_crossing": "one_endpoint_crossing",
}
"""The systems of `benchmarks.measure`, by the names in tables."""
BEST, LOG_PARTITION = "best score", "log-partition"
QUERIES = {BEST: "max", LOG_PARTITION: "log-partition"}
LONG = 40
"""Sentences with more words are measured in batches a quarter as large."""
LEAST_ROUNDS = 3
MOST_BITS = 57.75
"""Where the heads of a sentence have more entropy beyond 3 bits a word, the CPU engine sums in log space."""
TITLE = """\
# Time beside the bounds of the machine

Times are milliseconds a sentence, medians. *Arithmetic* is the least time of the operations that the rules need, at the
peak rate of one thread. *Memory* is the least time to read the scores, and to write and read the chart. The bound is
the larger of both. *Values*: log-partitions take an exponential for each product in log space, and a multiplication and
an addition where they are sums of real numbers. *Computed*: the products that XLA's program computes, over those that
the rules need. `benchmarks/bounds.py` counts operations and bytes, and `benchmarks/peaks.py` measures the peaks.
"""
HEADER = "engine | query | system | words | batch | ms | values | arithmetic, ms | memory, ms | time / bound | computed"


class Limit(NamedTuple):
    """A measured time, and the bounds on it, in milliseconds."""

    values: str
    time: float
    arithmetic: float
    memory: float

    @property
    def ratio(self) -> float:
        return self.time / max(self.arithmetic, self.memory)


def clock() -> float:
    """The processor time of a process on one core, which other processes do not lengthen; else wall-clock time."""
    return time.process_time() if is_on_one_core() else time.perf_counter()


def peaks() -> list[Row]:
    def row(name: str, unit: str, value: float) -> Row:
        return Row("peaks", "", name, "machine", unit, runs=[value])

    rates = [row(name, "operations/s", rate(name, clock)) for name in KINDS]
    return rates + [row(name, "bytes/s", bandwidth(size, clock)) for name, size in SIZES.items()]


def times(engine: str, system: str, words: int, options: argparse.Namespace) -> list[Row]:
    """The rows of all queries of a system, whose programs run in turn."""
    batch = options.batch if words <= LONG else max(options.batch // 4, 1)
    own = measured.SYSTEMS[SYSTEMS[system]]
    scores = measured.random_scores(own, words, batch)
    rows = [Row("limits", system, query, engine, "ms a sentence", words, batch) for query in options.queries]
    with use_engine(engine):
        programs = [measured.compiled(partial(measured.WORK[QUERIES[r.query]], own), scores)[0] for r in rows]
    end = time.perf_counter() + options.seconds
    for done in range(options.rounds):
        if done >= LEAST_ROUNDS and time.perf_counter() > end:
            break
        for program, row in zip(programs, rows, strict=True):
            row.runs.append(measured.seconds(program, clock) * 1e3 / batch)
    return rows


@cache
def work_of(system: DeductionSystem, words: int) -> Work:
    return work(system, words)


def solved(row: Row) -> DeductionSystem:
    """The system whose chart the engine fills: for best scores, perhaps another one of the same trees."""
    system = measured.SYSTEMS[SYSTEMS[row.system]]
    return (row.query == BEST and system.for_best) or system


def values(row: Row) -> str:
    """What the engine computes with: scores, logarithms, or real numbers (see `SentenceGroup` of the CPU engine)."""
    if row.query == BEST:
        return "scores"
    system = solved(row)
    has_third = any(len(rule.conclusion.positions) == 3 for rule in system.rules)
    if row.program != "cpu" or not has_third or not system.derives_each_tree_once:
        return "logs"
    arcs = measured.random_scores(system, row.words, 1)["arc"][0]
    return "reals" if bits_left(arcs, row.words) < MOST_BITS else "logs"


def bits_left(arcs: jax.Array, words: int) -> float:
    """The entropy of the heads of all words, in bits, beyond 3 bits a word."""
    heads = jnp.where(jnp.eye(words + 1, dtype=bool), -jnp.inf, arcs[: words + 1, : words + 1])[:, 1:]
    log_shares = jax.nn.log_softmax(heads, axis=0)
    entropies = jnp.sum(jnp.where(log_shares > -jnp.inf, -jnp.exp(log_shares) * log_shares, 0), axis=0) / jnp.log(2)
    return float(jnp.sum(jnp.maximum(entropies - 3, 0)))


def limits(results: Results) -> Iterator[tuple[Row, Limit]]:
    found = {row.query: row.median for row in results.rows if row.part == "peaks"}
    bandwidths = {size: found[name] for name, size in SIZES.items()}
    for row in (row for row in results.rows if row.part == "limits"):
        own = work_of(solved(row), row.words)
        kind = values(row)
        yield row, Limit(kind, row.median, 1e3 * own.arithmetic(found, kind), 1e3 * own.memory(bandwidths))


def page(results: Results) -> str:
    return "\n".join([TITLE, machine_line(results), *_peaks(results), "", *_table(results), ""])


def _peaks(results: Results) -> Iterator[str]:
    yield "| peak | a second |\n|---|--:|"
    for row in (row for row in results.rows if row.part == "peaks"):
        name = f"bytes of an array of {row.query}" if row.unit == "bytes/s" else row.query
        yield f"| {name} | {row.median:.3g} |"


def _table(results: Results) -> Iterator[str]:
    yield f"| {HEADER} |\n|---|---|---|--:|--:|--:|---|--:|--:|--:|--:|"
    for row, limit in sorted(limits(results), key=lambda pair: _place(pair[0])):
        more = f"{computed(solved(row), row.words) / work_of(solved(row), row.words).terms:.1f}"
        figures = (f"{figure:.3g}" for figure in (limit.arithmetic, limit.memory, limit.ratio))
        cells = (row.program, row.query, f"`{row.system}`", row.words, row.batch, f"{limit.time:.3g}", limit.values)
        yield f"| {' | '.join((*map(str, cells), *figures, more if row.program == 'xla' else ''))} |"


def _place(row: Row) -> tuple[str, str, int, int]:
    return row.program, row.query, list(SYSTEMS).index(row.system), row.words


def steps(options: argparse.Namespace) -> list[Step]:
    """The peaks, then each engine, system and length."""
    sizes = [
        (engine, system, words) for engine in options.engines for words in options.words for system in options.systems
    ]
    more = f"batches of {options.batch}: {', '.join(options.queries)}"
    return [
        Step("peaks", peaks),
        *(Step(f"{', '.join(map(str, size))} words, {more}", partial(times, *size, options)) for size in sizes),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__)
    engines = ["cpu" if jax.default_backend() == "cpu" else "gpu", "xla"]
    parser.add_argument("--engines", nargs="+", choices=engines, default=engines, help="(default: all of this machine)")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--queries", nargs="+", choices=QUERIES, default=list(QUERIES))
    parser.add_argument(
        "--words", nargs="+", type=int, default=[20, 40, 80], help="sentence lengths (default: 20 40 80)"
    )
    parser.add_argument("--batch", type=int, default=64, help=f"a quarter above {LONG} words (default: 64)")
    parser.add_argument("--rounds", type=int, default=15, help="runs of each program (default: 15)")
    parser.add_argument("--seconds", type=float, default=20, help="three rounds, then no more after that (default: 20)")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after that many minutes")
    parser.add_argument("--out", type=Path, help="write OUT.md and OUT.json; what is measured there is kept")
    options = parser.parse_args(arguments)
    own = {name: fact for name, fact in machine().items() if name not in (*PEERS, "torch")}
    try:
        results = load(options.out.with_suffix(".json"), own) if options.out else Results(own)
    except ValueError as error:
        parser.error(str(error))
    if left := measure(steps(options), results, options, page):
        print(f"{left} steps are left: give the same command again", file=sys.stderr)
    if not options.out:
        print(page(results))


if __name__ == "__main__":
    main()

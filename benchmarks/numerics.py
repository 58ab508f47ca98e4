"""`python -m benchmarks.numerics`: the largest errors of float32, for systems, lengths and kinds of scores.

Float64 gets the rounded scores that float32 gets: rounding of the scores themselves is no error. `--out OUT` keeps what
is measured in OUT.json; the same command continues from there after an interruption.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

import structdep as sd
from benchmarks.__main__ import machine
from benchmarks.hard_scores import KINDS, USUAL, hard_scores
from benchmarks.rounding import Errors, Queries, errors
from structdep.spanning import SpanningTrees
from structdep.trees.classes import System
from structdep_parser.files import write_whole

ALL: tuple[System, ...] = (
    sd.charts.eisner(),
    sd.charts.eisner(siblings=True),
    sd.charts.arc_standard(),
    sd.charts.arc_standard_trees(),
    sd.charts.arc_hybrid(),
    sd.charts.arc_hybrid_trees(),
    sd.charts.arc_eager(),
    sd.charts.arc_eager_trees(),
    sd.charts.mhk(4),
    sd.charts.mh4_trees(),
    sd.charts.one_endpoint_crossing(),
    sd.charts.crossing_sensitive(),
    sd.spanning.all_trees(),
    sd.spanning.all_trees(single_root=True),
)
SYSTEMS = {system.name: system for system in ALL}
WORDS = [8, 20, 40, 100]
LONGEST = {"arc_standard": 40, "one_endpoint_crossing": 40, "crossing_sensitive": 40}
"""Words of the longest sentences of systems that take minutes for longer ones."""
BY_XLA = {"eisner": 20, "arc_hybrid_trees": 8}
"""Deduction systems that XLA runs as well, and words of their longest sentences: each size takes long to compile."""
SENTENCES = 3
"""Sentences of each kind of scores."""
DRAWS, FEWER_DRAWS = 1000, 300
"""Samples of the first sentence of each kind: in sentences of up to 40 words, and in longer ones."""
GROUPS = {
    "arcs": "Scores of arcs, one derivation a tree",
    "ambiguous": "Scores of arcs, several derivations a tree",
    "more": "Scores of several arcs",
    "all": "All trees",
}
HEADER = "| log-partition | marginals | entropy | best tree | samples | float64's |"


@dataclass(frozen=True)
class Row:
    """The errors of a system and an engine, for sentences of one length with scores of one kind."""

    system: str
    engine: str
    words: int
    scores: str
    errors: Errors


def measure(name: str, engine: str, words: int, sentences: int = SENTENCES, draws: int = DRAWS) -> list[Row]:
    """A row for each kind of scores. C++ runs deduction systems in float64."""
    system, reference = SYSTEMS[name], Queries(SYSTEMS[name], "cpu")
    queries = Queries(system, engine)
    rows = []
    for kind in KINDS:
        tables = hard_scores(system, kind, words, sentences)
        with sd.use_engine(engine):
            rows.append(Row(name, engine, words, kind, errors(queries, reference, tables, draws)))
    return rows


def engines_of(name: str, words: int) -> list[str]:
    """The engines that are measured on a system, in sentences of this length."""
    if isinstance(SYSTEMS[name], SpanningTrees):
        return ["xla"]
    if words > LONGEST.get(name, words):
        return []
    return ["cpu", "xla"] if words <= BY_XLA.get(name, 0) else ["cpu"]


def group_of(name: str) -> str:
    """The group in `GROUPS` whose table a system belongs to."""
    system = SYSTEMS[name]
    if isinstance(system, SpanningTrees):
        return "all"
    if len(system.declared) > 1:
        return "more"
    return "arcs" if system.unambiguous else "ambiguous"


def by_scores(rows: Sequence[Row]) -> list[str]:
    """For each group a table: the largest errors of each kind of scores."""
    lines: list[str] = []
    for group, title in GROUPS.items():
        own = [row for row in rows if group_of(row.system) == group]
        if own:
            names = ", ".join(f"`{name}`" for name in dict.fromkeys(row.system for row in own))
            lines += [f"**{title}**: {names}", "", f"| scores {HEADER}", "|---|" + "--:|" * 6]
            for kind in dict.fromkeys(row.scores for row in own):
                lines.append(f"| {kind} | {' | '.join(cells(row.errors for row in own if row.scores == kind))} |")
            lines.append("")
    return lines


def by_system(rows: Sequence[Row]) -> list[str]:
    """The largest errors of each system, engine and length, for usual scores."""
    lines = [f"| system | engine | n {HEADER}", "|---|---|--:|" + "--:|" * 6]
    for row in rows:
        if row.scores == USUAL:
            lines.append(f"| {row.system} | {row.engine} | {row.words} | {' | '.join(cells([row.errors]))} |")
    return lines


def cells(found: Iterable[Errors]) -> list[str]:
    """The largest of some errors."""
    most = reduce(or_, found)
    probabilities = [f"{value:.1e}" if value >= 1e-9 else "0" for value in (most.marginals, most.entropy)]
    samples = [f"{value:.1f}" for value in (most.samples, most.exact_samples)]
    return [f"{most.log_partition:.1f}", *probabilities, f"{most.best_tree:.1f}", *samples]


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse(arguments)
    rows = known(options.out)
    measured = {(row.system, row.engine, row.words) for row in rows}
    wanted = [(name, engine, n) for name in options.systems for n in options.words for engine in engines_of(name, n)]
    for case in track(wanted, "measuring", console=Console(stderr=True)):
        if case not in measured:
            draws = DRAWS if case[2] <= 40 else FEWER_DRAWS
            rows = sorted(rows + measure(*case, options.sentences, draws), key=place)
            save(options.out, rows)
    print(markdown(rows))


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.numerics", description=__doc__)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), metavar="SYSTEM")
    parser.add_argument("--words", nargs="+", type=int, default=WORDS, help="sentence lengths (default: 8 20 40 100)")
    parser.add_argument(
        "--sentences", type=int, default=SENTENCES, help=f"of each kind of scores (default: {SENTENCES})"
    )
    parser.add_argument("--out", type=Path, help="also write OUT.md and OUT.json; what is measured there is kept")
    return parser.parse_args(arguments)


def place(row: Row) -> tuple[int, str, int, int]:
    """In the table: systems, engines, lengths, kinds of scores."""
    return list(SYSTEMS).index(row.system), row.engine, row.words, list(KINDS).index(row.scores)


def known(out: Path | None) -> list[Row]:
    """What has been measured before the same command was stopped."""
    path = out and out.with_suffix(".json")
    listed: list[dict[str, Any]] = json.loads(path.read_text()) if path and path.is_file() else []
    return [Row(**row | {"errors": Errors(**row["errors"])}) for row in listed]


def save(out: Path | None, rows: Sequence[Row]) -> None:
    if out:
        write_whole(out.with_suffix(".md"), f"`python -m benchmarks.numerics`: {machine()}.\n\n{markdown(rows)}\n")
        write_whole(out.with_suffix(".json"), json.dumps([asdict(row) for row in rows], indent=1) + "\n")


def markdown(rows: Sequence[Row]) -> str:
    return "\n".join([*by_scores(rows), f"**Each system**, scores of {USUAL}", "", *by_system(rows)])


if __name__ == "__main__":
    main()

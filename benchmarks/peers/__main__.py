"""`python -m benchmarks.peers`: other libraries beside structdep, in one run; results are compared, too.

Charts and spanning trees: all programs of a query run in turn, round after round. Parsers: whole processes take turns,
run by run, each on one core. Libraries that are not installed are left out, and the page says so. With --out, an
interrupted run continues.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.installed import cores, machine
from benchmarks.peers.page import page
from benchmarks.peers.parts import PARTS
from benchmarks.peers.rows import Results, Step, load, measure, write

PARSERS = ("mst", "eisner", "mh4-hybrid")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = arguments_parser()
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore", category=UserWarning, module="(supar|torch_struct).*")
    try:
        results = load(options.out.with_suffix(".json"), machine()) if options.out else Results(machine())
    except ValueError as error:
        parser.error(str(error))
    results.note = options.note or results.note
    steps = [step for part in options.only for step in steps_of(part, results, options)]
    write(results, options.out, page)
    if left := measure(steps, results, options, page):
        print(f"{left} steps are left: give the same command again", file=sys.stderr)
    if not options.out:
        print(page(results))
    for row in results.rows:
        if row.trouble:
            print(f"{row.program}, {row.system}, {row.query}, {row.words} words: {row.trouble}", file=sys.stderr)


def steps_of(part: str, results: Results, options: argparse.Namespace) -> list[Step]:
    """None where the part cannot be measured; the page says why."""
    results.missing.pop(part, None)
    try:
        return PARTS[part](options)
    except (OSError, ValueError) as error:
        results.missing[part] = str(error)
        print(f"{part}: {error}", file=sys.stderr)
        return []


def arguments_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts to measure (default: all)")
    parser.add_argument("--out", type=Path, help="write OUT.md, the page, and OUT.json; what is measured there is kept")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin nothing after that many minutes")
    parser.add_argument("--note", default="", help="a sentence about the machine, for the page")
    trees = parser.add_argument_group("charts and spanning trees")
    trees.add_argument("--words", nargs="+", type=int, default=[20, 40, 80], help="sentence lengths")
    trees.add_argument("--batch", nargs="+", type=int, default=[16, 64, 256], help="batches, of which the best counts")
    trees.add_argument("--sibling-batch", type=int, default=16, help="batch with scores of siblings (default: 16)")
    trees.add_argument("--rounds", type=int, default=9, help="runs of each program (default: 9)")
    trees.add_argument("--seconds", type=float, default=30, help="three rounds, then no more after that (default: 30)")
    processes = parser.add_argument_group("parsers")
    processes.add_argument("--lang", default="got", help="the treebank (default: got)")
    processes.add_argument("--parsers", nargs="+", default=PARSERS, help=f"structdep's (default: {' '.join(PARSERS)})")
    processes.add_argument("--runs", type=int, default=3, help="runs of each parser (default: 3)")
    processes.add_argument(
        "--core", type=int, default=cores()[0], help="the core of all processes (default: the first)"
    )
    return parser


if __name__ == "__main__":
    main()

"""`python -m benchmarks`: one table of every system, in Markdown and JSON."""

from __future__ import annotations

import argparse
import json
import platform
import resource
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
from rich.console import Console
from rich.progress import track

from benchmarks.measure import SYSTEMS, USUAL, WORK, Measured, is_possible, measure
from structdep_parser.files import write_whole

CORES = "cores that share the batch as devices, where it has equal parts for all (default: 1, with all threads)"
HEADER = "| system | n | batch | work | ms a sentence | of the value alone | compile s | memory MB |"


def main() -> None:
    options = parse()
    jax.config.update("jax_num_cpu_devices", options.devices)
    told = f"{machine()}, {jax.device_count()} devices; medians of {options.rounds} runs"
    rows = known(options.out, told)
    sizes = [(words, batch) for words in options.words for batch in options.batch]
    for words, batch in track(sizes, "measuring", console=Console(stderr=True)):
        missing = [pair for pair in pairs(options) if (*pair, words, batch) not in {row.program for row in rows}]
        rows = sorted(rows + measure(missing, words, batch, options.rounds), key=place)
        table = "\n".join([f"{told}, {resident() / 1e3:.1f} GB resident at most.", "", *markdown(rows)])
        if options.out:
            write_whole(options.out.with_suffix(".md"), f"`python -m benchmarks {' '.join(options.given)}`: {table}\n")
            write_whole(options.out.with_suffix(".json"), json.dumps(kept(told, rows), indent=1) + "\n")
    print(table)


def pairs(options: argparse.Namespace) -> list[tuple[str, str]]:
    """The systems that are asked for, each with every work that it can do."""
    return [(system, work) for system in options.systems for work in options.work if is_possible(system, work)]


def place(row: Measured) -> tuple[int, int, int, int]:
    """In the table: sizes, systems of a size, works of a system."""
    return row.words, row.batch, list(SYSTEMS).index(row.system), list(WORK).index(row.work)


def kept(told: str, rows: Sequence[Measured]) -> dict[str, Any]:
    """What is written to OUT.json: the rows, and what they hold for."""
    return {"of": told, "rows": [asdict(row) for row in rows]}


def known(out: Path | None, told: str) -> list[Measured]:
    """What has been measured before the same command was stopped; SystemExit where that was on another machine."""
    path = out and out.with_suffix(".json")
    if not path or not path.is_file():
        return []
    found = json.loads(path.read_text())
    before = found["of"] if isinstance(found, dict) else "an earlier version"
    if before != told:
        raise SystemExit(f"{path} is of {before}, and this would be of {told}: write another --out")
    return [Measured(**row) for row in found["rows"]]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--work", nargs="+", choices=WORK, default=USUAL, help="(default: all but sample and 5-best)")
    parser.add_argument("--words", nargs="+", type=int, default=[20, 40], help="sentence lengths (default: 20 40)")
    parser.add_argument("--batch", nargs="+", type=int, default=[32], help="sentences side by side (default: 32)")
    parser.add_argument("--devices", type=int, default=1, help=CORES)
    parser.add_argument("--rounds", type=int, default=11, help="runs of each program (default: 11)")
    parser.add_argument("--out", type=Path, help="also write OUT.md and OUT.json; what is measured there is kept")
    options = parser.parse_args()
    names = ("systems", "work", "words", "batch")
    chosen = {name: list(map(str, getattr(options, name))) for name in names}
    options.given = [
        f"--{name} {' '.join(v)}" for name, v in chosen.items() if v != list(map(str, parser.get_default(name)))
    ]
    return options


def machine() -> str:
    device = jax.devices()[0]
    return f"{device.device_kind} ({jax.default_backend()}, {platform.machine()}), jax {jax.__version__}, float32"


def resident() -> float:
    """Megabytes that the process has held at most."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if platform.system() == "Darwin" else 1e3)


def markdown(rows: Sequence[Measured]) -> list[str]:
    """The rows of a table; beside each the ratio to the same semiring's value without gradient or traceback."""
    values = {(row.system, row.words, row.batch, row.work): row.milliseconds for row in rows}
    lines = [HEADER, "|---|--:|--:|---|--:|--:|--:|--:|"]
    for row in rows:
        base = {"argmax": "max", "5-best": "max", "with gradient": "log-partition", "sample": "log-partition"}.get(
            row.work
        )
        value = values.get((row.system, row.words, row.batch, base or ""))
        ratio = f"{row.milliseconds / value:.1f}" if value else ""
        cells = [row.system, row.words, row.batch, row.work, f"{row.milliseconds:.3g}", ratio]
        lines.append(f"| {' | '.join(map(str, cells))} | {row.compile_seconds:.1f} | {row.megabytes:.0f} |")
    return lines


if __name__ == "__main__":
    main()

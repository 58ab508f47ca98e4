"""Measurements of one program each, and the JSON file that keeps them so that an interrupted run continues."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from structdep_parser.files import write_whole

OURS = "structdep"


@dataclass
class Row:
    """What one program took for one query.

    `runs` are times (or other figures, in `unit`), one a run. `difference` is the largest difference of the program's
    result from structdep's. `trouble` says why there are no runs, or that results differ.
    """

    part: str
    system: str
    query: str
    program: str
    unit: str
    words: int = 0
    batch: int = 0
    runs: list[float] = field(default_factory=list)
    difference: float | None = None
    trouble: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """What rows have in common that are of one program and query."""
        return self.part, self.system, self.query, self.program, self.words, self.batch

    @property
    def median(self) -> float:
        return median(self.runs)

    @property
    def spread(self) -> tuple[float, float]:
        """The quartiles of five runs or more, the least and the greatest of fewer."""
        if len(self.runs) < 5:
            return min(self.runs), max(self.runs)
        low, high = np.percentile(self.runs, (25, 75))
        return float(low), float(high)


class Step(NamedTuple):
    """A part of the run that is measured as a whole, or again if it is interrupted."""

    name: str
    run: Callable[[], list[Row]]


@dataclass
class Results:
    """Rows, and the names of the steps that they come from.

    `machine` is what they hold for, devices and versions; `note` a remark on it. `missing` says why parts have no rows.
    """

    machine: dict[str, Any]
    note: str = ""
    rows: list[Row] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)

    def add(self, step: str, rows: Iterable[Row]) -> None:
        """Runs of a row that is there already are added to it."""
        known = {row.key: row for row in self.rows}
        for row in rows:
            if row.key in known:
                known[row.key].runs += row.runs
                known[row.key].trouble = known[row.key].trouble or row.trouble
            else:
                self.rows.append(row)
        self.done.append(step)

    def save(self, path: Path) -> None:
        write_whole(path, json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n")


def load(path: Path, machine: dict[str, Any]) -> Results:
    """The results of a file, or none where there is no file.

    Raises:
        ValueError: the file has results of another machine or of other versions.
    """
    if not path.is_file():
        return Results(machine)
    saved = json.loads(path.read_text(encoding="utf-8"))
    differing = [name for name in machine | saved["machine"] if machine.get(name) != saved["machine"].get(name)]
    if differing:
        raise ValueError(
            f"{path} has results of another machine or of other versions ({', '.join(differing)}): "
            "name another file by --out, or delete it"
        )
    rows = [Row(**row) for row in saved["rows"]]
    return Results(machine, saved["note"], rows, saved["done"], saved["missing"])


def measure(
    steps: Sequence[Step], results: Results, options: argparse.Namespace, page: Callable[[Results], str]
) -> int:
    """Run the steps that are not done, for as many minutes as there are. Returns the number of those left."""
    missing = [step for step in steps if step.name not in results.done]
    end = time.perf_counter() + 60 * options.minutes
    for number, step in enumerate(missing):
        if time.perf_counter() > end:
            return len(missing) - number
        start = time.perf_counter()
        results.add(step.name, step.run())
        write(results, options.out, page)
        took = time.perf_counter() - start
        print(f"{number + 1}/{len(missing)} {step.name} ({took:.0f} s)", file=sys.stderr, flush=True)
    return 0


def write(results: Results, out: Path | None, page: Callable[[Results], str]) -> None:
    if out:
        results.save(out.with_suffix(".json"))
        write_whole(out.with_suffix(".md"), page(results))

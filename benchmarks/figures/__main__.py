"""`python -m benchmarks.figures`: draws docs/images from rules, made-up scores and benchmarks/results."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.figures import ROOT
from benchmarks.figures.coverage import coverage
from benchmarks.figures.limits import limits
from benchmarks.figures.marginals import marginals
from benchmarks.figures.semirings import semirings
from benchmarks.figures.speed import speed
from benchmarks.figures.training import calibration, learning
from structdep import charts
from structdep_parser.drawing import rules
from structdep_parser.files import write_whole

SYSTEMS = {
    "eisner": charts.eisner,
    "arc-standard": charts.arc_standard,
    "arc-hybrid": charts.arc_hybrid,
    "arc-eager": charts.arc_eager,
    "mh4": lambda: charts.mhk(4),
    "1ec": charts.one_endpoint_crossing,
}
PICTURES = {f"rules-{name}": lambda system=system: rules.svg(system()) for name, system in SYSTEMS.items()} | {
    "marginals": marginals,
    "semirings": semirings,
    "coverage": coverage,
    "calibration": calibration,
    "learning": learning,
    "speed": speed,
    "limits": limits,
}
"""The functions that draw, by the names of files."""


def main() -> None:
    made = argparse.ArgumentParser(prog="python -m benchmarks.figures", description=__doc__)
    made.add_argument("--out", type=Path, default=ROOT / "docs" / "images", metavar="DIR", help="default: docs/images")
    folder = made.parse_args().out
    for name, draw in PICTURES.items():
        write_whole(folder / f"{name}.svg", draw())


if __name__ == "__main__":
    main()

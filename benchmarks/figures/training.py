"""Learning curves and calibration of runs on Gothic. `python -m benchmarks.figures.training RUN ..` collects new runs.

The runs are of `structdep train --confidence` with three seeds of each parser; only figures are kept of them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import RESULTS
from structdep_parser.drawing.canvas import GRAY, HUES, page, text
from structdep_parser.drawing.plots import Plot, Scale, key
from structdep_parser.evaluation.calibration import Calibration
from structdep_parser.files import write_whole

FILE = RESULTS / "gothic-siblings.json"
Runs = Mapping[str, Sequence[Mapping[str, Any]]]
"""By parser, a run for each seed: UAS on the development set by epoch, and bins of arcs by probability."""


def collect(folders: Sequence[Path]) -> Runs:
    """The figures of finished runs that were made with `--confidence`."""
    found: dict[str, list[dict[str, Any]]] = {}
    for folder in folders:
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        log = map(json.loads, (folder / "log.jsonl").read_text(encoding="utf-8").splitlines())
        run = {"seed": report["config"]["seed"], "uas": [round(epoch["uas"], 2) for epoch in log]}
        bins = [
            {name: float(b[name]) for name in ("words", "probability", "accuracy")}
            for b in report["calibration"]["dev"]["bins"]
        ]
        found.setdefault(report["config"]["parser"], []).append(run | {"bins": bins})
    return found


def learning() -> str:
    """UAS by epoch, from the third on: each seed faint, their mean on top."""
    runs, colors = _runs()
    epochs = len(next(iter(runs.values()))[0]["uas"])
    plot = Plot(
        56,
        60,
        484,
        240,
        Scale(3, epochs, {e: str(e) for e in (3, 6, 9, 12, 15)}),
        Scale(73, 83, {v: str(v) for v in range(74, 84, 2)}),
    )
    shapes = [*key(60, 26, colors), text(20, 49, "UAS", color=GRAY, anchor="start"), *plot.frame(below="epoch")]
    for parser, seeds in runs.items():
        curves = np.array([run["uas"][2:] for run in seeds])
        for curve in curves:
            shapes += plot.line(list(enumerate(curve, start=3)), colors[parser], 0, stroke_opacity=0.3)
        shapes += plot.line(list(enumerate(curves.mean(0), start=3)), colors[parser])
    return page(560, 356, "UAS on Gothic dev by epoch, of eisner and eisner2", shapes)


def calibration() -> str:
    """The share of right arcs by their probability, over the words of all seeds."""
    runs, colors = _runs()
    ticks = {v / 100: f"{v} %" for v in range(0, 101, 20)}
    plot = Plot(66, 64, 390, 310, Scale(0, 1, ticks), Scale(0, 1, ticks))
    shapes = [
        text(20, 49, "arcs that are right", color=GRAY, anchor="start"),
        *plot.frame(below="probability of the predicted arc"),
    ]
    shapes += plot.line([(0, 0), (1, 1)], GRAY, 0, stroke_dasharray="5 4")
    named = {}
    for parser, seeds in runs.items():
        pooled = _pooled(seeds)
        shapes += plot.line(list(zip(pooled.probability, pooled.accuracy, strict=True)), colors[parser])
        named[f"{parser}: error {100 * pooled.error:.1f} %"] = colors[parser]
    return page(
        492,
        432,
        "How often arcs are right, by their probability, of eisner and eisner2 on Gothic dev",
        [*key(26, 24, named), *shapes],
    )


def _pooled(seeds: Sequence[Mapping[str, Any]]) -> Calibration:
    """That of the words of all seeds."""
    bins = np.array([[[b["words"], b["probability"], b["accuracy"]] for b in run["bins"]] for run in seeds])
    words = bins[..., 0]
    return Calibration(words.sum(0), *((words * bins[..., column]).sum(0) / words.sum(0) for column in (1, 2)))


def _runs() -> tuple[Runs, dict[str, str]]:
    runs = json.loads(FILE.read_text(encoding="utf-8"))
    return runs, dict(zip(runs, HUES, strict=False))


if __name__ == "__main__":
    made = argparse.ArgumentParser(prog="python -m benchmarks.figures.training", description="Collect figures of runs.")
    made.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    write_whole(FILE, json.dumps(collect(made.parse_args().runs), indent=1) + "\n")

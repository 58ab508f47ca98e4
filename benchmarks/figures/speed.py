"""Time a sentence of three libraries by the number of words, from the charts of `benchmarks.peers`."""

from __future__ import annotations

import json

from benchmarks.figures import RESULTS
from benchmarks.peers.page import best_batches
from benchmarks.peers.rows import OURS, Row
from structdep_parser.drawing.canvas import GRAY, HUES, page, text
from structdep_parser.drawing.plots import Plot, Scale, key

LIBRARIES = (OURS, "torch-struct", "SuPar")


def speed() -> str:
    measured = [Row(**row) for row in json.loads((RESULTS / "peers.json").read_text(encoding="utf-8"))["rows"]]
    rows = best_batches([row for row in measured if row.system == "eisner()" and row.runs])
    colors = dict(zip(LIBRARIES, HUES, strict=False))
    shapes = [*key(60, 26, colors), text(20, 60, "milliseconds a sentence", color=GRAY, anchor="start")]
    for place, query in enumerate(dict.fromkeys(row.query for row in rows)):
        points = {
            name: [(row.words, row.median) for row in rows if (row.query, row.program) == (query, name)]
            for name in LIBRARIES
        }
        across = Scale(16, 100, {n: str(n) for n, _ in points[OURS]}, log=True)
        up = Scale(0.002, 15, {v: f"{v:g}" if place == 0 else "" for v in (0.01, 0.1, 1, 10)}, log=True)
        plot = Plot(60 + 168 * place, 92, 148, 190, across, up)
        shapes += plot.frame(query, "words")
        for name, own in points.items():
            shapes += plot.line(own, colors[name])
    return page(560, 336, "Milliseconds a sentence of structdep, torch-struct and SuPar by the number of words", shapes)

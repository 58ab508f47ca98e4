"""Time a sentence of three libraries by the number of words, from the table of `benchmarks.peers`."""

from __future__ import annotations

from benchmarks.figures import RESULTS
from structdep_parser.drawing.canvas import GRAY, HUES, page, text
from structdep_parser.drawing.plots import Plot, Scale, key

COLUMNS = {"structdep": 2, "torch-struct": 3, "SuPar": 5}
"""The cells of a row that are milliseconds a sentence."""


def speed() -> str:
    lines = (RESULTS / "peers-cpu-2-cores.md").read_text(encoding="utf-8").splitlines()[5:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    colors = dict(zip(COLUMNS, HUES, strict=False))
    shapes = [*key(60, 26, colors), text(20, 60, "milliseconds a sentence", color=GRAY, anchor="start")]
    for place, query in enumerate(dict.fromkeys(row[0] for row in rows)):
        own = [row for row in rows if row[0] == query]
        words = [int(row[1]) for row in own]
        across = Scale(16, 100, {n: str(n) for n in words}, log=True)
        up = Scale(0.002, 15, {v: f"{v:g}" if place == 0 else "" for v in (0.01, 0.1, 1, 10)}, log=True)
        plot = Plot(60 + 168 * place, 92, 148, 190, across, up)
        shapes += plot.frame("best tree" if query == "argmax" else query, "words")
        for name, column in COLUMNS.items():
            points = [(n, float(row[column])) for n, row in zip(words, own, strict=True)]
            shapes += plot.line(points, colors[name])
    return page(560, 336, "Milliseconds a sentence of structdep, torch-struct and SuPar by the number of words", shapes)

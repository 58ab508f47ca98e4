"""The share of treebank trees outside of each class, from a table of `structdep coverage`."""

from __future__ import annotations

import csv

from benchmarks.figures import RESULTS
from structdep_parser.drawing.canvas import GRAY, HUES, INK, dot, page, text
from structdep_parser.drawing.plots import Plot, Scale, key

NAMES = {"got-train": "Gothic", "hu-train": "Hungarian", "lv-train": "Latvian", "tr-train": "Turkish"}
CLASSES = ("projective", "MH_4", "1EC", "MH_5", "MH_6")
TICKS = {0.01: "0.01 %", 0.1: "0.1 %", 1: "1 %", 10: "10 %"}


def coverage() -> str:
    with (RESULTS / "coverage-ud-2.0.csv").open(encoding="utf-8") as file:
        inside = {(row["treebank"], row["class"]): int(row["sentences"]) for row in csv.DictReader(file)}
    colors = dict(zip(NAMES, HUES, strict=False))
    plot = Plot(200, 52, 330, 46 * len(CLASSES), Scale(0.009, 40, TICKS, log=True), Scale(0, len(CLASSES), {}))
    shapes = [*key(22, 26, {NAMES[name]: color for name, color in colors.items()})]
    shapes += plot.frame(below="trees of the training set that are outside of the class")
    shapes.append(text(124, plot.top + plot.height + 18, "none", color=GRAY))
    for row, name in enumerate(CLASSES):
        y = plot.top + 46 * (row + 0.5)
        shapes.append(text(16, y + 5, name, 14, INK, "start"))
        for place, (treebank, color) in enumerate(colors.items()):
            share = 100 * (1 - inside[treebank, name] / inside[treebank, "all trees"])
            x = plot.at(share, 0)[0] if share else 124
            shapes.append(dot(x, y - 12 + 8 * place, color, 5))
    return page(560, plot.top + plot.height + 56, "Trees of four treebanks outside of each class, in per cent", shapes)

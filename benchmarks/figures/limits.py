"""Times over the bounds of the machine by the number of words, from the table of `benchmarks.limits`."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.figures import RESULTS
from structdep_parser.drawing.canvas import GRAY, HUES, page, path, text
from structdep_parser.drawing.plots import Plot, Scale, key

ENGINES = {"cpu": "CPU engine", "xla": "XLA"}
Points = dict[tuple[str, str], dict[str, list[tuple[float, float]]]]
"""By engine and query, then by system: words, and time / bound."""


def limits() -> str:
    found = read((RESULTS / "limits-cpu.md").read_text(encoding="utf-8"))
    systems = list(dict.fromkeys(system for lines in found.values() for system in lines))
    colors = dict(zip(systems, HUES, strict=False))
    queries = list(dict.fromkeys(query for _, query in found))
    shapes = [*key(60, 26, dict(list(colors.items())[:3])), *key(60, 50, dict(list(colors.items())[3:]))]
    shapes.append(text(20, 80, "time / bound", color=GRAY, anchor="start"))
    for column, query in enumerate(queries):
        for row, (engine, name) in enumerate(ENGINES.items()):
            plot = panel(60 + 252 * column, 112 + 254 * row, found[engine, query], has_names=not column)
            shapes += plot.frame(f"{query}, {name}", "words" if row else "")
            shapes.append(path("M{:g} {:g}H{:g}".format(*plot.at(plot.x.low, 1), plot.left + plot.width), GRAY))
            for system, points in found[engine, query].items():
                shapes += plot.line(points, colors[system])
    return page(560, 632, "Times of charts over the bounds of the machine, by the number of words", shapes)


def panel(left: float, top: float, lines: Mapping[str, list[tuple[float, float]]], has_names: bool) -> Plot:
    words = sorted({n for points in lines.values() for n, _ in points})
    across = Scale(16, 100, {n: f"{n:g}" for n in words}, log=True)
    up = Scale(0.8, 400, {v: f"{v}" if has_names else "" for v in (1, 3, 10, 30, 100, 300)}, log=True)
    return Plot(left, top, 232, 196, across, up)


def read(table: str) -> Points:
    """The points of the lines of the table, in its order."""
    found: Points = {}
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] in ENGINES:
            engine, query, system, words, *_, ratio, _ = cells
            lines = found.setdefault((engine, query), {})
            lines.setdefault(system.strip("`"), []).append((float(words), float(ratio)))
    return {panel: {system: sorted(points) for system, points in lines.items()} for panel, lines in found.items()}

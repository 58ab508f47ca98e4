"""`python -m benchmarks.figures`: draws docs/images/speed.svg from the table of `benchmarks.peers`."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from structdep_parser.drawing.figures import write_svg

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "benchmarks" / "results" / "peers-cpu-2-cores.md"
COLUMNS = {"structdep": 2, "torch-struct": 3, "SuPar": 5}
"""The cells of a row that are milliseconds a sentence."""


def main() -> None:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in TABLE.read_text().splitlines()[5:]]
    queries = list(dict.fromkeys(row[0] for row in rows))
    figure = Figure(figsize=(9, 3), layout="constrained")
    for panel, query in zip(figure.subplots(1, len(queries), sharey=True), queries, strict=True):
        own = [row for row in rows if row[0] == query]
        words = [int(row[1]) for row in own]
        for name, column in COLUMNS.items():
            panel.loglog(words, [float(row[column]) for row in own], "o-", label=name)
        panel.set(title="best tree" if query == "argmax" else query, xlabel="words", xticks=words, xticklabels=words)
        panel.xaxis.set_minor_locator(NullLocator())
        panel.yaxis.set_major_formatter("{x:g}")
    figure.axes[0].set_ylabel("milliseconds a sentence")
    figure.axes[0].legend()
    write_svg(figure, ROOT / "docs" / "images" / "speed.svg")


if __name__ == "__main__":
    main()

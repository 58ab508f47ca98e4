"""Figures as files."""

import io
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from structdep_parser.files import write_whole

matplotlib.rcParams["svg.hashsalt"] = "structdep"  # the same figure, the same file
matplotlib.rcParams["text.parse_math"] = False  # names with dollars are no formulas


def write_svg(figure: Figure, path: Path) -> None:
    write_whole(path, svg_of(figure))


def svg_of(figure: Figure) -> str:
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()

"""Tables as text: Markdown and CSV."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from math import isnan
from statistics import mean, stdev
from typing import Any

Row = dict[str, Any]
Tables = dict[str, list[Row]]
"""Rows of the same columns, by the name of the table."""


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: bool = False) -> str:
    """A table of cells; with `numbers`, all but the first column stand at the right.

    Example:
        >>> print(markdown(("parser", "UAS"), [("mst", "84.74")], numbers=True))
        | parser | UAS |
        | --- | --: |
        | mst | 84.74 |
    """
    escaped = [[MARKS.sub(r"\\\g<0>", cell) for cell in row] for row in (header, *rows)]
    rule = ["---", *["--:" if numbers else "---"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (escaped[0], rule, *escaped[1:]))


MARKS = re.compile(r"[\\`*\[\]<>|~&]|(?<!\w)_|_(?!\w)")
"""What could be markup in a cell; an underscore within a word is none."""


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of the same columns, below their names."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def mean_of(values: Sequence[float], places: int = 2) -> str:
    """The mean, and the standard deviation if there are several values.

    Example:
        >>> mean_of([81.0, 82.0]), mean_of([81.0], places=1)
        ('81.50 ± 0.71', '81.0')
    """
    deviation = f" ± {stdev(values):.{places}f}" if len(values) > 1 else ""
    return f"{mean(values):.{places}f}{deviation}"


def shown(value: Any) -> str:
    """A cell: real numbers with two places, a dash where there is none.

    Example:
        >>> shown(84.736), shown(float("nan")), shown("mst")
        ('84.74', '-', 'mst')
    """
    if isinstance(value, float):
        return "-" if isnan(value) else f"{value:.2f}"
    return str(value)

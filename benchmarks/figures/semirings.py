"""One chart in five semirings: the item of each span, and the trees that the goal is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import structdep as sd
from structdep_parser.drawing.canvas import ARC, GRAY, HUES, INK, RULE, page, path, text

WORDS = ("root", "time", "flies", "fast")
SCORES = np.array([[0, 1, 2, 0], [0, 0, 2.5, 0], [0, 2, 0, 2], [0, 0, 0, 0]], np.float32)
SYSTEM = sd.charts.eisner()
ROW, CELL, CHART, TREES = 138, (64, 30), 196, 412
"""Height of a semiring, width and height of a cell, and where charts and trees begin."""
Tree = NDArray[Any]
"""How opaque each arc is, `[head, dependent]`."""


def _count(value: Any) -> list[float]:
    return [round(float(np.exp(value)))]


def _drawn(heads: Sequence[int]) -> Tree:
    arcs = np.zeros_like(SCORES)
    arcs[list(heads), range(1, len(WORDS))] = 1
    return arcs


def _best(k: int) -> list[tuple[str, Tree]]:
    best = sd.TreeDistribution(SYSTEM, SCORES).k_best(k)
    return [(f"{float(s):g}", _drawn(h)) for h, s in zip(best.heads.tolist(), best.scores, strict=True)]


def _marginal() -> list[tuple[str, Tree]]:
    return [("marginals", np.asarray(sd.marginals(SYSTEM, SCORES)))]


def _nothing() -> list[tuple[str, Tree]]:
    return []


KINDS: tuple[tuple[str, str, Any, Callable[[Any], list[float]], Callable[[], list[tuple[str, Tree]]]], ...] = (
    ("Counting", "number of trees", sd.Counting, _count, _nothing),
    ("MaxPlus", "best score", sd.MaxPlus, lambda v: [float(v)], lambda: _best(1)),
    ("KBest(2)", "two best scores", sd.KBest(2), lambda v: [float(x) for x in v if x > -1e30], lambda: _best(2)),
    ("LogSum", "log-partition", sd.LogSum, lambda v: [float(v)], _marginal),
    ("Entropy", "entropy, in nats", sd.Entropy, lambda v: [float(v.entropy)], _nothing),
)
"""Name, what a value is, the semiring, the numbers of a value, and trees to draw beside the chart."""


def semirings() -> str:
    shapes = [
        text(16, 26, "semiring", 12, GRAY, "start"),
        text(CHART + 96, 26, "value of C→[i,j]; in bold, the goal", 12, GRAY),
        text(TREES + 60, 26, "trees of the goal", 12, GRAY),
    ]
    for row, (name, meaning, semiring, numbers, trees) in enumerate(KINDS):
        top = 40 + ROW * row
        shapes += [
            path(f"M16 {top}H544", RULE, width=1),
            text(16, top + 50, name, 16, anchor="start", font_weight="bold"),
        ]
        shapes.append(text(16, top + 72, meaning, 13, GRAY, "start"))
        shapes += _chart(semiring, numbers, top + 8)
        found = trees()
        for place, (label, tree) in enumerate(found):
            shapes += _tree(label, tree, top + (10 if len(found) > 1 else 42) + 62 * place)
    return page(
        560, 40 + ROW * len(KINDS), "A chart of three words in five semirings, with the trees of its goal", shapes
    )


def _chart(semiring: Any, numbers: Callable[[Any], list[float]], top: float) -> Iterator[str]:
    """A cell for each span i..j: the trees of the words i + 1..j below the node i, whose scores are a block."""
    words, (width, height) = len(WORDS) - 1, CELL
    for i in range(words):
        for j in range(i + 1, words + 1):
            values = numbers(sd.inside(SYSTEM, SCORES[i : j + 1, i : j + 1], semiring=semiring))
            x, y = CHART + width * (i + j - 1) / 2, top + height * (words - (j - i))
            goal = j - i == words
            color, weight = (HUES[0], {"font_weight": "bold"}) if goal else (INK, {})
            yield (
                f'<rect x="{x:g}" y="{y:g}" width="{width - 4}" height="{height - 4}" rx="4" '
                f'fill="{HUES[0]}" fill-opacity="{0.2 if goal else 0.07}"/>'
            )
            yield text(x + width / 2 - 2, y + 18, ", ".join(f"{v:.3g}" for v in values), 13, color, **weight)
    for node, word in enumerate(WORDS):
        yield text(CHART + width * (node - 0.5) + (width / 2 - 2), top + height * words + 16, word, 12, GRAY)


def _tree(label: str, tree: Tree, top: float) -> Iterator[str]:
    """Arcs over numbers of nodes, and what they are at the right."""
    base, step = top + 38, 26
    for head, dependent in np.argwhere(tree > 0.02).tolist():
        start, end = (TREES + 8 + step * node for node in (head, dependent))
        start, end = (start + 3, end - 3) if start < end else (start - 3, end + 3)
        high = base - 9 - 13 * abs(head - dependent)
        opacity = {"stroke_opacity": f"{0.12 + 0.88 * tree[head, dependent]:.2f}"}
        yield path(f"M{start} {base}C{start} {high} {end} {high} {end} {base - 4}", ARC, width=1.6, **opacity)
        tip = {"fill_opacity": opacity["stroke_opacity"], "stroke_opacity": 0}
        yield path(f"M{end} {base}l-3 -6h6z", ARC, ARC, 0.5, **tip)
    for node in range(len(WORDS)):
        yield text(TREES + 8 + step * node, base + 13, str(node), 12)
    yield (
        text(TREES + 100, base - 4, label, 12, GRAY, "start")
        if label != "marginals"
        else text(TREES + 48, base + 30, label, 12, GRAY)
    )

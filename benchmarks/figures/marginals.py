"""The arcs of one sentence, as opaque as they are probable."""

from __future__ import annotations

import numpy as np

import structdep as sd
from structdep_parser.drawing.arcs import likely
from structdep_parser.drawing.canvas import with_dark
from structdep_parser.drawing.svg import svg

WORDS = ("Ann", "paints", "cats", "in", "hats")
SCORES = {(0, 2): 4.0, (2, 1): 3.5, (2, 3): 3.5, (2, 5): 1.4, (3, 5): 1.8, (5, 4): 4.0}
"""By head and dependent; other arcs score 0. Cats may wear hats, and so may Ann."""


def marginals() -> str:
    scores = np.zeros((len(WORDS) + 1, len(WORDS) + 1), np.float32)
    for arc, score in SCORES.items():
        scores[arc] = score
    arcs = likely(sd.marginals(sd.charts.eisner(single_root=True), scores), 0.05)
    return with_dark(svg([[word] for word in WORDS], arcs, "Arcs with their probabilities in per cent"))

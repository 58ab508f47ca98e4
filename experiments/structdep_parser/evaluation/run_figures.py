"""Figures of a run: how it learned, and which arcs it finds."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from structdep.trees import crossing_arcs
from structdep_parser.data.conllu import Sentence

BINS = ((0, "root"), (1, "1"), (2, "2"), (3, "3"), (4, "4"), (5, "5"), (6, "6-10"), (11, "11-15"), (16, "16-"))
"""Lengths of arcs that are counted together: the least, and a name."""


def curve(log: Sequence[Mapping[str, Any]]) -> Figure:
    """UAS and LAS on dev at the left, the loss at the right; the loss alone where there is no dev set."""
    figure = Figure(figsize=(10, 3.2), layout="constrained")
    *left, losses = figure.subplots(1, 1 + all("uas" in entry for entry in log), squeeze=False)[0]
    for panel in left:
        _scores(panel, log)
    losses.plot([entry["epoch"] for entry in log], [entry["loss"] for entry in log], color="C2", marker=".")
    losses.set(xlabel="epoch", ylabel="training loss of a word", ylim=(0, None))
    for panel in (*left, losses):
        panel.spines[["top", "right"]].set_visible(False)
    return figure


def _scores(scores: Axes, log: Sequence[Mapping[str, Any]]) -> None:
    """By epoch, with the best epoch."""
    steps = [entry["epoch"] for entry in log]
    for name in ("uas", "las"):
        scores.plot(steps, [entry[name] for entry in log], label=f"{name.upper()} of dev", marker=".")
    best = max(log, key=lambda entry: entry["uas"])
    scores.axvline(best["epoch"], color="0.8", zorder=0, label=f"best: epoch {best['epoch']}")
    scores.set(xlabel="epoch", ylabel="%")
    scores.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)  # above, away from the curves


def by_arc(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> Figure:
    """The share of gold arcs that are found, in bins of length, and of those that cross others."""
    right = np.concatenate([g.heads == p.heads for g, p in zip(gold, predicted, strict=True)])
    heads = np.concatenate([g.heads for g in gold])
    words = np.concatenate([np.arange(1, len(g) + 1) for g in gold])
    crossing = np.concatenate([crossing_arcs(g.heads) for g in gold])
    lengths = np.searchsorted([least for least, _ in BINS], np.where(heads == 0, 0, abs(heads - words)), side="right")
    figure = Figure(figsize=(10, 3.2), layout="constrained")
    panels = figure.subplots(1, 2, width_ratios=(len(BINS), 2.5), sharey=True)
    by_length = {name: right[lengths == place] for place, (_, name) in enumerate(BINS, start=1)}
    by_crossing = {"crossing": right[crossing], "not crossing": right[~crossing]}
    for panel, groups in zip(panels, (by_length, by_crossing), strict=True):
        shares = [100 * found.mean() if found.size else 0.0 for found in groups.values()]
        bars = panel.bar(list(groups), shares, color="C0" if groups is by_length else "C1")
        labels = [f"{share:.1f}\nof {found.size}" for share, found in zip(shares, groups.values(), strict=True)]
        panel.bar_label(bars, labels, fontsize=8)
        panel.set(ylim=(0, 118), yticks=range(0, 101, 20))
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set(ylabel="UAS", xlabel="words from dependent to head")
    return figure

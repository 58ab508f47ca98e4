"""How many trees of treebanks are in a class, and how many of their arcs one tree of the class can have."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from structdep_parser.data.conllu import Sentence
from structdep_parser.drawing.figures import write_svg
from structdep_parser.evaluation.lost_heads import lost_in_mhk, lost_in_one_endpoint_crossing
from structdep_parser.evaluation.tree_cores import nonprojective_core
from structdep_parser.tables import Row, Tables

Losses = dict[str, list[int]]
"""For each class, how many heads the nearest tree of the class lacks, tree by tree."""


def losses(trees: Sequence[Sequence[int]]) -> Losses:
    """Of each tree, in projective trees (which are MH_3), MH_4, MH_5, MH_6 and 1-Endpoint-Crossing trees.

    Example:
        >>> losses([[2, 0, 2], [4, 4, 5, 0, 4], [0, 0, 0, 1, 2]])
        {'projective': [0, 1, 2], 'MH_4': [0, 0, 1], 'MH_5': [0, 0, 0], 'MH_6': [0, 0, 0], '1EC': [0, 0, 1]}
    """
    cores = [nonprojective_core(tree) for tree in trees]
    found = {"projective": [lost_in_mhk(tree, 3) for tree in cores]}
    before = found["projective"]
    for k in (4, 5, 6):
        # MH_k has all trees of the class before it.
        before = found[f"MH_{k}"] = [lost_in_mhk(tree, k, most) for tree, most in zip(cores, before, strict=True)]
    return found | {"1EC": [lost_in_one_endpoint_crossing(tree) for tree in cores]}


def count(treebank: str, sentences: list[Sentence], folder: Path) -> Tables:
    """A row for each class; all arcs count, those from the root, too."""
    trees = [sentence.heads.tolist() for sentence in sentences]
    words = sum(map(len, trees))
    rows: list[Row] = []
    for name, lacking in losses(trees).items():
        inside, arcs = len(trees) - sum(map(bool, lacking)), words - sum(lacking)
        shares = {"% of sentences": 100 * inside / len(trees), "% of arcs": 100 * arcs / words}
        rows.append({"treebank": treebank, "class": name, "sentences": inside, "arcs": arcs, **shares})
    whole = {"sentences": len(trees), "arcs": words, "% of sentences": 100.0, "% of arcs": 100.0}
    return {"coverage": [{"treebank": treebank, "class": "all trees", **whole}, *rows]}


def draw(tables: Tables, folder: Path) -> None:
    """The shares of each class, a colour a treebank."""
    rows = [row for row in tables["coverage"] if row["class"] != "all trees"]
    treebanks, classes = (list(dict.fromkeys(row[name] for row in rows)) for name in ("treebank", "class"))
    figure = Figure(figsize=(9, 0.6 + 0.35 * len(classes) * max(len(treebanks), 2)), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    height = 0.8 / len(treebanks)
    for panel, share in zip(panels, ("% of sentences", "% of arcs"), strict=True):
        for place, treebank in enumerate(treebanks):
            values = [row[share] for row in rows if row["treebank"] == treebank]
            where = np.arange(len(classes)) + (place - (len(treebanks) - 1) / 2) * height
            bars = panel.barh(where, values, 0.9 * height, label=treebank)
            panel.bar_label(bars, fmt="%.2f", padding=2, fontsize=8)
        panel.set(xlabel=share, xlim=(0, 115), xticks=range(0, 101, 25), yticks=range(len(classes)))
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(classes)), classes)
    panels[0].invert_yaxis()
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    write_svg(figure, folder / "coverage.svg")

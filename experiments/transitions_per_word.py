"""How many transitions sentences take with swaps, by their length: Nivre's expected linear time (2009).

python experiments/transitions_per_word.py --lang got hu
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from structdep.transitions import arc_standard, static_oracle
from structdep_parser.cli.options import Arguments, command
from structdep_parser.cli.treebank_command import command_line, count_in_treebanks
from structdep_parser.data.conllu import Sentence
from structdep_parser.drawing.figures import write_svg
from structdep_parser.parsers.transition_targets import runs
from structdep_parser.tables import Tables

ORACLES = {
    "eager": static_oracle(arc_standard(swap=True)),
    "lazy": static_oracle(arc_standard(swap=True), lazy=True),
}


@dataclass(frozen=True)
class Fit:
    """Transitions of sentences as a multiple of their words, by least squares, and the share of variance explained."""

    words: NDArray[np.int64]
    transitions: NDArray[np.int64]
    slope: float
    explained: float

    @classmethod
    def of(cls, words: ArrayLike, transitions: ArrayLike) -> "Fit":
        """From the numbers of each sentence.

        Example:
            >>> fit = Fit.of([1, 2, 4], [2, 4, 10])
            >>> round(fit.slope, 3), round(fit.explained, 3)
            (2.381, 0.973)
        """
        x, y = (np.asarray(given, np.float64) for given in (words, transitions))
        slope = float(x @ y / (x @ x))
        explained = float(1 - ((y - slope * x) ** 2).sum() / ((y - y.mean()) ** 2).sum())
        return cls(np.asarray(words), np.asarray(transitions), slope, explained)

    @property
    def text(self) -> str:
        return f"{self.slope:.2f} n, R² {self.explained:.2f}"


def fits(trees: Sequence[NDArray[np.int32]]) -> dict[str, Fit]:
    """One for each oracle, over the sentences with these heads."""
    words = [len(tree) for tree in trees]
    return {
        name: Fit.of(words, [len(run.transitions) for run in runs(each, [*trees])]) for name, each in ORACLES.items()
    }


def draw(lang: str, found: dict[str, Fit], path: Path) -> None:
    """Sentences as dots, the darker the more of them, with the fitted line and that of 2n, the least there is."""
    figure = Figure(figsize=(4 * len(found), 4), layout="constrained")
    panels = figure.subplots(1, len(found), sharex=True, sharey=True, squeeze=False)[0]
    for panel, (name, fit) in zip(panels, found.items(), strict=True):
        points, counts = np.unique(np.stack([fit.words, fit.transitions]), axis=1, return_counts=True)
        panel.scatter(*points, s=6, c=np.log(counts), cmap="Blues", vmin=-2)
        ends = np.array([0, fit.words.max()])
        panel.plot(ends, fit.slope * ends, color="C1", label=fit.text)
        panel.plot(ends, 2 * ends, color="0.7", linestyle="--", label="2 n")
        panel.set(title=f"{lang}: {name}", xlabel="words", xlim=(0, None), ylim=(0, None))
        panel.legend(loc="upper left")
    panels[0].set(ylabel="transitions")
    write_svg(figure, path)


def count(treebank: str, sentences: list[Sentence], folder: Path) -> Tables:
    """The fits, and what they fit; with a figure."""
    found = fits([sentence.heads for sentence in sentences])
    draw(treebank, found, folder / f"{treebank}.svg")
    summary = [
        {"treebank": treebank, "swaps": swaps, "transitions per word": fit.slope, "R²": fit.explained}
        for swaps, fit in found.items()
    ]
    columns = {"words": next(iter(found.values())).words, **{swaps: fit.transitions for swaps, fit in found.items()}}
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    each = [{"treebank": treebank, **dict(zip(columns, row, strict=True))} for row in rows]
    return {"fits": summary, "sentences": each}


@command("transitions_per_word.py")
def main(arguments: Arguments = None) -> int:
    description = "Count the transitions of arc-standard with swaps, eager and lazy, in each sentence."
    return count_in_treebanks(command_line("transitions_per_word.py", description).parse_args(arguments), count)


if __name__ == "__main__":
    sys.exit(main())

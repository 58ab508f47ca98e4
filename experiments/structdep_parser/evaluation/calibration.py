"""Whether arcs are right as often as their probabilities say."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from structdep_parser.data.treebank import Sentence
from structdep_parser.drawing.figures import write_svg
from structdep_parser.parsers.prediction import Predictions


@dataclass(frozen=True)
class Calibration:
    """Predicted arcs by their probability, in bins of equal width: how many, how probable, and how many are right.

    Example:
        >>> sure = Calibration.of([0.95, 0.95, 0.95, 0.55], [True, True, False, True], bins=2)
        >>> sure.words.tolist(), sure.probability.round(2).tolist(), sure.accuracy.tolist(), round(sure.error, 2)
        ([0, 4], [nan, 0.85], [nan, 0.75], 0.1)
    """

    words: NDArray[np.int64]
    probability: NDArray[np.float64]
    accuracy: NDArray[np.float64]

    @classmethod
    def of(cls, probabilities: ArrayLike, right: ArrayLike, bins: int = 10) -> "Calibration":
        """From each arc's probability and whether it is in the gold tree."""
        given = np.asarray(probabilities, np.float64)
        places = np.minimum((given * bins).astype(int), bins - 1)
        words = np.bincount(places, minlength=bins)
        sums = (np.bincount(places, values, bins) for values in (given, np.asarray(right, np.float64)))
        probability, accuracy = (np.divide(s, words, out=np.full(bins, np.nan), where=words > 0) for s in sums)
        return cls(words, probability, accuracy)

    @property
    def error(self) -> float:
        """The expected calibration error: the mean distance of probability and accuracy, over words."""
        return float(np.nansum(self.words * abs(self.probability - self.accuracy)) / self.words.sum())

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Range of probability, words, mean probability and accuracy of each bin that has words."""
        bins = len(self.words)
        return [
            (f"{b / bins:.1f}-{(b + 1) / bins:.1f}", str(count), f"{probability:.3f}", f"{accuracy:.3f}")
            for b, (count, probability, accuracy) in enumerate(
                zip(self.words, self.probability, self.accuracy, strict=True)
            )
            if count
        ]

    def to_dict(self) -> dict[str, object]:
        """The error and the bins that have words, fit for JSON."""
        names = ("range", "words", "probability", "accuracy")
        return {"error": self.error, "bins": [dict(zip(names, row, strict=True)) for row in self.rows()]}


def calibration(sentences: Sequence[Sentence], predictions: Predictions) -> Calibration:
    """That of the predicted arcs, which need confidences."""
    right = [sentence.heads == heads for sentence, heads in zip(sentences, predictions.heads, strict=True)]
    arcs = [confidence.arcs for confidence in predictions.confidences]
    return Calibration.of(np.concatenate(arcs), np.concatenate(right))


def draw(calibrations: dict[str, Calibration], path: Path) -> None:
    """A figure of accuracy by probability, a line a split, and of the share of words in each bin, as SVG."""
    figure = Figure(figsize=(4.5, 5), layout="constrained")
    lines, bars = figure.subplots(2, height_ratios=(4, 1), sharex=True)
    lines.plot([0, 1], [0, 1], color="0.7", linestyle="--", label="perfect")
    edges: Sequence[float] = ()
    for place, (name, calibration) in enumerate(calibrations.items()):
        edges = np.linspace(0, 1, len(calibration.words) + 1).tolist()
        label = f"{name}: error {100 * calibration.error:.1f} %"
        lines.plot(calibration.probability, calibration.accuracy, marker="o", label=label)
        share = calibration.words / calibration.words.sum()
        bars.stairs(share, edges, color=f"C{place}")
    lines.set(ylabel="share of right arcs", xlim=(0, 1), ylim=(0, 1))
    lines.legend(loc="upper left")
    bars.set(xlabel="probability of the predicted arc", ylabel="share of words", ylim=(0, 1))
    write_svg(figure, path)

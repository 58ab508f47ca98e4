"""Draw what relaxations do to the arcs of one sentence as the temperature falls: docs/images/relaxed-arcs.svg.

python experiments/relaxed_arcs.py
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc
from numpy.typing import NDArray

import structdep as sd
from structdep_parser.cli.options import Arguments, command
from structdep_parser.drawing.figures import write_svg

WORDS = ("root", "I", "saw", "her", "with", "binoculars")
SCORES = {(0, 2): 3.0, (2, 1): 2.0, (2, 3): 2.0, (2, 5): 1.2, (3, 5): 0.8, (5, 4): 2.0, (3, 4): 0.5}
"""By head and dependent; other arcs score 0."""
SYSTEM, KEY = sd.charts.eisner(single_root=True), jax.random.key(2)
TEMPERATURES = (2.0, 1.0, 0.5, 0.1)
RELAXATIONS: Mapping[str, Callable[[jax.Array, float], jax.Array]] = {
    "marginals": lambda scores, t: sd.relaxations.marginals(SYSTEM, scores, temperature=t),
    "stochastic softmax": lambda scores, t: sd.relaxations.stochastic_softmax(SYSTEM, scores, KEY, temperature=t),
    "SparseMAP": lambda scores, t: sd.relaxations.sparsemap(SYSTEM, scores / t).arcs,
    "perturbed": lambda scores, t: sd.relaxations.perturbed(SYSTEM, scores, KEY, sigma=t, samples=64),
}


def relaxed() -> dict[tuple[str, float], NDArray[np.float32]]:
    """The relaxed arcs `[n+1, n+1]`, by relaxation and temperature (of perturbed trees: the scale of the noise)."""
    scores = jnp.zeros((len(WORDS), len(WORDS)))
    for arc, score in SCORES.items():
        scores = scores.at[arc].set(score)
    return {(name, t): np.asarray(relax(scores, t)) for name, relax in RELAXATIONS.items() for t in TEMPERATURES}


def draw(arcs: Mapping[tuple[str, float], NDArray[np.float32]], path: Path) -> None:
    figure = Figure(figsize=(3 * len(TEMPERATURES), 1.7 * len(RELAXATIONS)), layout="constrained")
    panels = figure.subplots(len(RELAXATIONS), len(TEMPERATURES))
    for row, name in zip(panels, RELAXATIONS, strict=True):
        for panel, temperature in zip(row, TEMPERATURES, strict=True):
            draw_sentence(panel, arcs[name, temperature])
            panel.set_title(f"{name}, {'σ' if name == 'perturbed' else 't'} = {temperature:g}", fontsize=10)
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # text as text: a third of the size
        write_svg(figure, path)


def draw_sentence(panel: Axes, arcs: NDArray[np.float32]) -> None:
    """Arcs as half ellipses above the words, the wider and darker the larger they are; none below 0.01."""
    for head, dependent in np.argwhere(arcs > 0.01).tolist():
        value, width = min(1.0, float(arcs[head, dependent])), abs(head - dependent)
        middle, color = (head + dependent) / 2, "C0" if head < dependent else "C1"
        half = Arc((middle, 0), width, 2 * width**0.7, theta1=0, theta2=180, color=color)
        half.set(linewidth=0.3 + 2 * value, alpha=0.15 + 0.85 * value)
        panel.add_patch(half)
    panel.set(xlim=(-0.5, len(WORDS) - 0.5), ylim=(-0.1, 3.6), xticks=range(len(WORDS)), yticks=[])
    panel.set_xticklabels(WORDS, fontsize=7)
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)


@command("relaxed_arcs.py")
def main(arguments: Arguments = None) -> int:
    made = argparse.ArgumentParser(prog="relaxed_arcs.py", description="Draw relaxed arcs by falling temperatures.")
    made.add_argument("--out", type=Path, default=Path("docs/images/relaxed-arcs.svg"), help="default: %(default)s")
    draw(relaxed(), made.parse_args(arguments).out)
    return 0


if __name__ == "__main__":
    sys.exit(main())

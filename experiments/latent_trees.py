"""Latent trees by each relaxation and gradient estimator, on list operations whose answers depend on trees.

python experiments/latent_trees.py
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields
from math import isnan
from pathlib import Path
from statistics import mean

from matplotlib.figure import Figure

from structdep_parser.cli.options import Arguments, command
from structdep_parser.console import plain
from structdep_parser.drawing.figures import write_svg
from structdep_parser.files import write_whole
from structdep_parser.latent.estimators import ESTIMATORS
from structdep_parser.latent.training import Setting, train_and_test
from structdep_parser.nn.compiled import prepare_process
from structdep_parser.tables import Row, as_csv, markdown, mean_of

COLUMNS = {"answers": "answers", "answers_by_best": "by best trees", "arcs": "true arcs"}
HELP = {
    "words": "the most tokens of an expression",
    "depth": "the most operators inside one another",
    "train": "expressions to train on",
    "test": "expressions to test on",
    "features": "of tokens and states",
    "batch": "expressions of a training step",
    "steps": "training steps of each estimator and seed",
    "learning_rate": "of all but the arc scores",
    "scorer_rate": "the learning rate of the arc scores",
}
DRAWN = {"answers": "right answers in per cent", "arcs": "true arcs in per cent"}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="latent_trees.py", description="Train a model with latent trees in each way.")
    made.add_argument("--estimators", nargs="+", default=[*ESTIMATORS], metavar="NAME", help="default: all")
    made.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3], help="default: 1 2 3")
    for field in fields(Setting):
        option, default = f"--{field.name.replace('_', '-')}", field.default
        made.add_argument(option, type=type(default), default=default, help=f"{HELP[field.name]}; default: %(default)s")
    made.add_argument(
        "--out", type=Path, default=Path("runs/latent-trees"), help="folder to write; default: %(default)s"
    )
    return made


@command("latent_trees.py")
def main(arguments: Arguments = None) -> int:
    """Print a table of the estimators; write it, the results of each seed, and a figure."""
    options = parser().parse_args(arguments)
    setting = Setting(**{field.name: getattr(options, field.name) for field in fields(Setting)})
    unknown = [name for name in options.estimators if name not in ESTIMATORS]
    if unknown:
        raise ValueError(f"--estimators {' '.join(unknown)}: expected names among {', '.join(ESTIMATORS)}")
    prepare_process()
    rows: list[Row] = []
    for name in options.estimators:
        for seed, result in zip(options.seeds, train_and_test(name, options.seeds, setting), strict=True):
            rows.append({"estimator": name, "seed": seed, **result._asdict()})
            plain().print(f"{name}, seed {seed}: {result.answers:.1f} % of answers")
        write_whole(options.out / "results.csv", as_csv(rows))
        write_whole(options.out / "results.md", table(rows) + "\n")
    draw(rows, options.out / "results.svg")
    plain().print(table(rows))
    return 0


def table(rows: Sequence[Row]) -> str:
    """A line for each estimator: means and standard deviations over seeds.

    Example:
        >>> seeds = [{"answers": 81.0}, {"answers": 82.0}]
        >>> others = {"estimator": "marginals", "answers_by_best": 70.0, "arcs": 90.0, "milliseconds": 5.0}
        >>> print(table([others | seed for seed in seeds]))
        | estimator | answers | by best trees | true arcs | ms a step |
        | --- | --: | --: | --: | --: |
        | marginals | 81.5 ± 0.7 | 70.0 ± 0.0 | 90.0 ± 0.0 | 5.0 |
    """
    lines = []
    for name, own in _by_estimator(rows).items():
        columns = ([row[column] for row in own] for column in COLUMNS)
        shares = ["-" if isnan(values[0]) else mean_of(values, places=1) for values in columns]
        lines.append([name, *shares, f"{mean(row['milliseconds'] for row in own):.1f}"])
    return markdown(("estimator", *COLUMNS.values(), "ms a step"), lines, numbers=True)


def draw(rows: Sequence[Row], path: Path) -> None:
    """A panel for each column: seeds as dots, means as bars, in the order of the rows."""
    groups = _by_estimator(rows)
    figure = Figure(figsize=(9, 1 + 0.35 * len(groups)), layout="constrained")
    for panel, (column, label) in zip(figure.subplots(1, 2, sharey=True), DRAWN.items(), strict=True):
        for place, own in enumerate(groups.values()):
            values = [row[column] for row in own]
            panel.barh(place, mean(values), color="C0", alpha=0.4)
            panel.plot(values, [place] * len(values), "o", color="C0", markersize=4)
        panel.set(xlabel=label, xlim=(0, 100), yticks=range(len(groups)), yticklabels=[*groups])
    figure.axes[0].invert_yaxis()
    write_svg(figure, path)


def _by_estimator(rows: Sequence[Row]) -> dict[str, list[Row]]:
    names = dict.fromkeys(row["estimator"] for row in rows)
    return {name: [row for row in rows if row["estimator"] == name] for name in names}


if __name__ == "__main__":
    sys.exit(main())

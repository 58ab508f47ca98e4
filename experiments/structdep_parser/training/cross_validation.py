"""Cross-validation: as many parsers as folds, each evaluated on the fold that it was not trained on."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev

from rich.console import Console

from structdep_parser.config import Config
from structdep_parser.data.corpus import completed
from structdep_parser.data.held_out import NONE
from structdep_parser.data.treebank import Treebank
from structdep_parser.files import write_whole
from structdep_parser.tables import markdown, shown
from structdep_parser.training.devices import Devices
from structdep_parser.training.experiment import Experiment
from structdep_parser.training.results import is_finished
from structdep_parser.training.run_treebank import keep_files
from structdep_parser.training.runs import write_config

HEADER = ("fold", "words", "UAS", "LAS", "best epoch")
NOTE = "The best epoch of each fold is chosen by its UAS on the same fold, so these scores are a little too high."


def cross_validate(
    config: Config,
    treebank: Treebank,
    folder: Path,
    folds: int,
    console: Console | None = None,
    devices: Devices | None = None,
) -> str:
    """Train one parser without each fold, and write the scores on the folds to cross-validation.md.

    Fold I has the I-th of every `folds` training sentences; its run is in `folder`/fold-I. Interrupted runs resume,
    finished runs are kept.

    Raises:
        ValueError: fewer than two folds, the treebank has files of dev, or the folder is of another configuration.
    """
    if folds < 2:
        raise ValueError(f"--folds {folds}: expected 2 or more")
    treebanks = [treebank.with_held_out(f"{number}/{folds}") for number in range(1, folds + 1)]
    whole = completed(config, treebank.with_held_out(NONE))
    write_config(folder, replace(whole, treebank=f"{treebank.checksum}, {folds} folds"))
    keep_files(treebank, folder)
    rows: list[Row] = []
    for number, own in enumerate(treebanks, start=1):
        place = folder / f"fold-{number}"
        if console:
            console.print(f"fold {number} of {folds}")
        if not is_finished(place, replace(config, treebank=own.checksum)):
            experiment = Experiment(config, own, place, console, devices)
            experiment.train()
            experiment.report()
        rows.append(_row(place))
    text = f"# Cross-validation: {config.lang}, {', '.join(config.choices)}\n\n{_table(rows)}\n\n{NOTE}\n"
    write_whole(folder / "cross-validation.md", text)
    return text


Row = tuple[int, float, float, int]


def _row(folder: Path) -> Row:
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    found = report["results"]["dev"]["groups"]["all"]
    return found["words"], found["uas"], found["las"], report["training"]["best_epoch"]


def _table(rows: Sequence[Row]) -> str:
    """A row for each fold, and the mean and standard deviation of all."""
    cells = [(str(number), *map(shown, row)) for number, row in enumerate(rows, start=1)]
    _, *scores, epochs = zip(*rows, strict=True)
    means = (f"{shown(mean(values))} ± {shown(stdev(values))}" for values in scores)
    return markdown(HEADER, [*cells, ("mean", "", *means, shown(mean(epochs)))])

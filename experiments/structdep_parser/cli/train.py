"""`structdep train`: train a parser on a treebank, and evaluate it."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from structdep_parser.cli.files import name_of
from structdep_parser.cli.files import treebank as treebank
from structdep_parser.cli.options import (
    INTERRUPTED,
    Arguments,
    command,
)
from structdep_parser.cli.train_options import parser as parser
from structdep_parser.config import Config
from structdep_parser.data.held_out import NONE, TENTH

if TYPE_CHECKING:
    from structdep_parser.data.treebank import Treebank

CHOICES = (
    "parser",
    "loss",
    "positions",
    "oracle",
    "pseudo_projective",
    "single_root",
    "tags",
    "init_from",
    "encoder_layer",
    "seed",
    "members",
)


def config(options: argparse.Namespace) -> Config:
    """The configuration that the command line asks for."""
    chosen = {name: getattr(options, name) for name in CHOICES} | {"lang": name_of(options)}
    chosen |= {
        name: str(Path(path).resolve()) for name in ("vectors", "features_file") if (path := getattr(options, name))
    }
    if options.epochs is not None:
        chosen["epochs"] = options.epochs
    return Config(**chosen | {"init_from": options.init_from and str(Path(options.init_from))}).set(options.set)


def fitted(chosen: Config, options: argparse.Namespace, found: "Treebank") -> Config:
    """With the epochs that suit the treebank, where the command line has none."""
    is_asked = options.epochs is not None or any(setting.startswith("epochs=") for setting in options.set)
    return chosen if is_asked else chosen.sized_for(found.words())


NOT_WITH_FOLDS = {"decode": "argmax", "beam": 1, "confidence": False, "logger": None, "held_out": TENTH}
"""Options that a cross-validation has no use for, and their defaults."""


def check_processes(options: argparse.Namespace) -> None:
    """Raise ValueError for options of several processes or parsers that do not go together."""
    joins = options.distributed or options.coordinator
    given = [f"--{name.replace('_', '-')}" for name, usual in NOT_WITH_FOLDS.items() if getattr(options, name) != usual]
    if options.folds is not None and given:
        raise ValueError(f"--folds with {' '.join(given)}: a cross-validation has no use for these: leave them out")
    if options.at_once != 1 and options.members == 1:
        raise ValueError(f"--at-once {options.at_once} is about members: write --members, too")
    if options.epochs is not None and any(setting.startswith("epochs=") for setting in options.set):
        raise ValueError("--epochs with --set epochs=..: write one of them")
    if options.folds is not None and (joins or options.members > 1 or options.minutes):
        raise ValueError(
            "--folds with --members, --minutes or several processes: train each fold by itself, by --held-out I/K"
        )
    if options.members > 1 and options.held_out == NONE and not options.test:
        raise ValueError("--held-out none with --members: write --test, too, so that the members can be compared")
    if not joins and (options.processes, options.process) != (None, None):
        raise ValueError("--processes and --process number processes that meet: write --coordinator HOST:PORT, too")
    if joins and options.members > 1:
        raise ValueError(
            "--members with --coordinator or --distributed: train each parser by itself, by --seed, and let "
            "structdep ensemble parse with all of them"
        )


@command("structdep train")
def main(arguments: Arguments = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parser().parse_args(arguments)
    print(f"structdep train: {options.parser}; loading JAX", flush=True)

    from structdep_parser.console import failed
    from structdep_parser.nn.compiled import prepare_process
    from structdep_parser.training.devices import leave

    prepare_process()
    try:
        return run(options, arguments)
    except (OSError, ValueError, FloatingPointError) as error:
        return leave(failed("structdep train", error))
    except KeyboardInterrupt:
        print("stopped; the same command resumes after the last finished epoch, if there is one", file=sys.stderr)
        return leave(INTERRUPTED)


def run(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    """Train what the options ask for, evaluate it, and report."""
    from structdep_parser.console import plain
    from structdep_parser.parsers.decoding import Decoding
    from structdep_parser.parsers.registry import check
    from structdep_parser.training.cross_validation import cross_validate
    from structdep_parser.training.devices import Devices, join, leads
    from structdep_parser.training.ensemble_run import EnsembleRun
    from structdep_parser.training.experiment import Experiment
    from structdep_parser.training.loggers import logger_named
    from structdep_parser.training.worker import train_as_worker

    console, decoding, chosen = plain(), Decoding(options.decode, options.confidence, options.beam), config(options)
    check(chosen, decoding)
    make_logger = logger_named(options.logger) if options.logger else None
    check_processes(options)
    if options.distributed or options.coordinator:
        join(options.coordinator, options.processes, options.process)
    devices, found = Devices(options.devices), treebank(options)
    chosen = fitted(chosen, options, found)
    if not leads():
        train_as_worker(chosen, found, devices)
        return 0
    folder = options.runs / (options.name or chosen.name)
    for path in found.seen_in_training():
        console.print(f"{path} is also trained on: its scores say nothing of other sentences", style="yellow")
    if options.folds is not None:
        console.print(cross_validate(chosen, found, folder, options.folds, console, devices))
        console.print(f"all in {folder.resolve()}")
        return 0
    if chosen.members > 1:
        ensemble = EnsembleRun(chosen, found, folder, arguments)
        ensemble.train(options.at_once, console.print)
        report = ensemble.report()
    else:
        experiment = Experiment(chosen, found, folder, console, devices)
        experiment.train(options.minutes, make_logger and make_logger(experiment.config))
        report = experiment.report(decoding)
    console.print(report.to_markdown())
    console.print(f"all in {folder.resolve()}")
    return 0

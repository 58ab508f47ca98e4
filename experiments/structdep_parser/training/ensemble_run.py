"""A run of several parsers: members that differ in their seeds, trained apart, that parse together."""

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

from structdep_parser.config import Config, member_folder, member_folders
from structdep_parser.data.treebank import Treebank
from structdep_parser.evaluation.ensembles import evaluated, gains, together
from structdep_parser.evaluation.page import write_page
from structdep_parser.evaluation.report import Report, Training
from structdep_parser.parsers.decoding import Decoding
from structdep_parser.parsers.trained_model import TrainedModel
from structdep_parser.training.processes import STOPPED, train_beside
from structdep_parser.training.results import is_finished
from structdep_parser.training.runs import write_config

Tell = Callable[[str], None]
TrainMember = Callable[[Sequence[str], int, Tell], int]
"""Trains a member: from a command line of `structdep train`, the number of members trained at once, and what is told
each line of output, to the exit status."""


class EnsembleRun:
    """The members of a run, in folders of their own within its folder, each a run of structdep train like any other.

    Args:
        config: the run's.
        treebank: what they are trained on.
        folder: the run's folder.
        arguments: the command line of structdep train that asks for the run.

    Raises:
        ValueError: its seed is 0, or the folder holds another run.
    """

    def __init__(self, config: Config, treebank: Treebank, folder: Path, arguments: Sequence[str]) -> None:
        self.config = replace(config, treebank=treebank.checksum)
        self.treebank, self.folder, self.arguments = treebank, folder, arguments
        if config.seed < 1:
            raise ValueError(f"--seed {config.seed} with --members {config.members}: write a seed of 1 or more")
        write_config(folder, self.config)

    def train(self, at_once: int, tell: Tell, train: TrainMember = train_beside) -> None:
        """Train those that are not finished, so many at once; when one fails, no other is begun.

        Raises:
            ValueError: one has failed (what it said was told), or none is to be trained at once.
            KeyboardInterrupt: one was interrupted.
        """
        if at_once < 1:
            raise ValueError(f"--at-once {at_once}: expected 1 or more")
        statuses: dict[int, int] = {}

        def one(seed: int) -> None:
            def prefixed(line: str) -> None:
                tell(f"seed {seed}: {line}")

            if not any(statuses.values()):
                statuses[seed] = train(self._arguments(seed), at_once, prefixed)

        with ThreadPoolExecutor(at_once) as threads:
            list(threads.map(one, self._missing()))
        if STOPPED in statuses.values():
            raise KeyboardInterrupt
        if failed := [str(seed) for seed, status in statuses.items() if status]:
            raise ValueError(f"seed {' and '.join(failed)} failed: when this is mended, the same command goes on")

    def _arguments(self, seed: int) -> list[str]:
        own = (
            "--members",
            "1",
            "--seed",
            str(seed),
            "--runs",
            str(self.folder),
            "--name",
            member_folder(self.folder, seed).name,
        )
        return [*self.arguments, *own]

    def _missing(self) -> list[int]:
        one = replace(self.config, members=1)
        return [seed for seed in self.config.seeds if not is_finished(member_folder(self.folder, seed), one)]

    def report(self) -> Report:
        """Parse dev and test; write the trees, report.md with what is gained over each member, .json and .html."""
        folders = member_folders(self.folder)
        splits = self.treebank.evaluated()
        models = {folder.name: TrainedModel.load(folder) for folder in folders}
        ensemble = together(models, ["marginals"], None)
        start, evaluations, scores = time.perf_counter(), {}, {}
        for split, gold in splits.items():
            evaluations[split], scores[split] = evaluated(ensemble, gold, self.folder / f"{split}.conllu")
        seconds = {"evaluation": {"together": time.perf_counter() - start}}
        report = Report(self.config, Decoding(), _training(folders), evaluations, {}, seconds, gains(scores))
        report.write(self.folder, "")
        write_page(self.folder, "", splits)
        return report


def _training(folders: Sequence[Path]) -> Training:
    """Epochs and speed in the mean of all, minutes in sum."""
    found: list[dict[str, Any]] = [
        json.loads((folder / "report.json").read_text(encoding="utf-8"))["training"] for folder in folders
    ]
    epochs, minutes, speeds = ([own[name] for own in found] for name in found[0])
    return Training(round(mean(epochs)), sum(minutes), mean(speeds))

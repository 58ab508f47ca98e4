"""Runs of several parsers: members that differ in seeds, trained apart; what they, or other runs, gain together."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import mean

from structdep_parser.config import Config, member_folders
from structdep_parser.data.conllu import Sentence
from structdep_parser.data.corpus import completed
from structdep_parser.data.treebank import Treebank
from structdep_parser.data.writing import write_predictions
from structdep_parser.evaluation.page import write_page
from structdep_parser.evaluation.report import Report, Training
from structdep_parser.evaluation.scores import Evaluation, evaluate
from structdep_parser.parsers.decoding import Decoding
from structdep_parser.parsers.ensemble import Ensemble
from structdep_parser.parsers.trained_model import TrainedModel
from structdep_parser.tables import markdown
from structdep_parser.training.processes import STOPPED, train_beside
from structdep_parser.training.results import is_finished
from structdep_parser.training.run_treebank import check_files, keep_files, with_earlier_treebank
from structdep_parser.training.runs import write_config

WORDS_PER_BATCH = 2000
Tell = Callable[[str], None]
TrainMember = Callable[[Sequence[str], int, Tell], int]
"""Trains a member: from a command line of `structdep train`, the number of members trained at once, and what is told
each line of output, to the exit status."""
Scores = Mapping[str, tuple[float, float]]
"""UAS and LAS of each parser, that of all together last."""


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
        check_files(treebank, folder)
        self.config = with_earlier_treebank(completed(config, treebank), folder)
        self.treebank, self.folder, self.arguments = treebank, folder, arguments
        if config.seed < 1:
            raise ValueError(f"--seed {config.seed} with --members {config.members}: write a seed of 1 or more")
        write_config(folder, self.config)
        keep_files(treebank, folder)
        self.members = dict(zip(config.seeds, member_folders(folder), strict=True))

    def train(self, at_once: int, tell: Tell, train: TrainMember = train_beside) -> None:
        """Train those that are not finished, so many at once; when one fails, no other is begun.

        Raises:
            ValueError: one has failed (what it said was told), or none is to be trained at once.
            KeyboardInterrupt: one was interrupted.
        """
        if at_once < 1:
            raise ValueError(f"--at-once {at_once}: expected 1 or more")
        one_member, statuses = replace(self.config, members=1), dict[int, int]()

        def one(seed: int) -> None:
            if not any(statuses.values()):
                place = "--runs", str(self.folder), "--name", self.members[seed].name
                own = [*self.arguments, "--members", "1", "--at-once", "1", "--seed", str(seed), *place]
                statuses[seed] = train(own, at_once, lambda line: tell(f"seed {seed}: {line}"))

        missing = [seed for seed, folder in self.members.items() if not is_finished(folder, one_member)]
        with ThreadPoolExecutor(at_once) as threads:
            list(threads.map(one, missing))
        if STOPPED in statuses.values():
            raise KeyboardInterrupt
        if failed := [str(seed) for seed, status in statuses.items() if status]:
            raise ValueError(f"seed {' and '.join(failed)} failed: when this is mended, the same command goes on")

    def report(self) -> Report:
        """Parse dev and test; write the trees, report.md with what is gained over each member, .json and .html."""
        splits = self.treebank.evaluated()
        models = {folder.name: TrainedModel.load(folder) for folder in self.members.values()}
        ensemble = Ensemble.of(models, ["marginals"])
        start, evaluations, scores = time.perf_counter(), {}, {}
        for split, gold in splits.items():
            evaluations[split], scores[split] = evaluated(ensemble, gold, self.folder / f"{split}.conllu")
        seconds = {"evaluation": {"together": time.perf_counter() - start}}
        report = Report(self.config, Decoding(), self._training(), evaluations, {}, seconds, gains(scores))
        report.write(self.folder, "")
        write_page(self.folder, "", splits)
        return report

    def _training(self) -> Training:
        """Epochs and speed in the mean of all, minutes in sum."""
        reports = (json.loads((folder / "report.json").read_text("utf-8")) for folder in self.members.values())
        epochs, minutes, speeds = zip(*(report["training"].values() for report in reports), strict=True)
        return Training(round(mean(epochs)), sum(minutes), mean(speeds))


def evaluated(ensemble: Ensemble, sentences: Sequence[Sentence], path: Path) -> tuple[Evaluation, Scores]:
    """How good all together are, whose trees are written, and the scores of each beside theirs."""
    predictions, alone = ensemble.beside_members(sentences)
    write_predictions(path, sentences, predictions.heads, predictions.deprels)
    found = {name: evaluate(sentences, made) for name, made in (*alone.items(), (str(ensemble), predictions))}
    return found[str(ensemble)], {name: (100 * own.all.uas, 100 * own.all.las) for name, own in found.items()}


def gains(splits: Mapping[str, Scores]) -> str:
    """A table: a row for each parser, for all together, and for gains over the best parser and the mean of a column.

    Example:
        >>> print(gains({"dev": {"a": (80.0, 70.0), "b": (82.0, 70.0), "both": (83.0, 73.5)}}))
        | parser | dev UAS | LAS |
        | --- | --: | --: |
        | a | 80.00 | 70.00 |
        | b | 82.00 | 70.00 |
        | both | 83.00 | 73.50 |
        | gain over the best | +1.00 | +3.50 |
        | gain over the mean | +2.00 | +3.50 |
    """
    header = ["parser", *(column for split in splits for column in (f"{split} UAS", "LAS"))]
    names = list(next(iter(splits.values())))
    table = {name: [score for scores in splits.values() for score in scores[name]] for name in names}
    (*alone, all_of_them) = table.values()
    body = [[name, *(f"{score:.2f}" for score in scores)] for name, scores in table.items()]
    gained: dict[str, Callable[..., float]] = {"best": max, "mean": mean}
    for name, of in gained.items():
        others = map(of, zip(*alone, strict=True))
        cells = (f"{score - other:+.2f}" for score, other in zip(all_of_them, others, strict=True))
        body.append([f"gain over the {name}", *cells])
    return markdown(header, body, numbers=True)

"""What a finished run leaves: predicted trees as CoNLL-U, report.md, report.json and report.html."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from structdep_parser.config import Config
from structdep_parser.evaluation.calibration import Calibration
from structdep_parser.evaluation.page import write_page
from structdep_parser.evaluation.scores import Evaluation
from structdep_parser.files import write_whole
from structdep_parser.parsers.decoding import Decoding
from structdep_parser.tables import markdown, shown
from structdep_parser.training.run_treebank import treebank_of_run


@dataclass(frozen=True)
class Training:
    """The epoch of the best checkpoint, and how long all epochs took."""

    best_epoch: int
    minutes: float
    sentences_per_second: float


@dataclass(frozen=True)
class Report:
    """The best checkpoint's results on each split, with calibrations if there are any, and where the seconds went.

    `members` is a table of what parsers that parse together gain; `no_dev` says what stands in for files of dev.
    """

    config: Config
    decoding: Decoding
    training: Training
    evaluations: Mapping[str, Evaluation]
    calibrations: Mapping[str, Calibration]
    seconds: Mapping[str, Mapping[str, float]]
    members: str = ""
    no_dev: str = ""

    def write(self, folder: Path, ending: str) -> None:
        write_whole(folder / f"report{ending}.json", json.dumps(self.to_dict(), indent=2) + "\n")
        write_whole(folder / f"report{ending}.md", self.to_markdown())

    def to_dict(self) -> dict[str, object]:
        results = {split: evaluation.to_dict() for split, evaluation in self.evaluations.items()}
        seconds = {phase: dict(parts) for phase, parts in self.seconds.items()}
        calibrations = {split: calibration.to_dict() for split, calibration in self.calibrations.items()}
        return {
            "config": asdict(self.config),
            "decoding": asdict(self.decoding),
            "training": asdict(self.training),
            "results": results,
            "calibration": calibrations,
            "seconds": seconds,
        }

    def to_markdown(self) -> str:
        """Tables of scores by group of words, of calibration, and of seconds by phase."""
        results = (*map(self._scores, self.evaluations), *map(self._calibration, self.calibrations))
        members = [f"## Members\n\n{self.members}"] * bool(self.members)
        return "\n\n".join([self._summary(), *members, *results, self._seconds()]) + "\n"

    def _summary(self) -> str:
        config, training = self.config, self.training
        mean = " (a member's mean)" if config.members > 1 else ""
        chosen = "Best on dev" if "dev" in self.evaluations else "Taken"
        no_dev = f" {self.no_dev[0].upper()}{self.no_dev[1:]}." if self.no_dev else ""
        return (
            f"# {config.lang}: {', '.join(config.choices)}, seed {config.seed}, {self.decoding}\n\n"
            f"{chosen}{mean} after epoch {training.best_epoch} of {config.epochs}; {training.minutes:.1f} minutes "
            f"of training, {training.sentences_per_second:.0f} sentences/s.{no_dev}"
        )

    def _scores(self, split: str) -> str:
        evaluation = self.evaluations[split]
        rows = [
            (name, f"{counts.total}", shown(100 * counts.uas), shown(100 * counts.las))
            for name, counts in evaluation.groups.items()
        ]
        official = ", ".join(f"{metric} {shown(score)}" for metric, score in evaluation.conll18.items())
        tags = "".join(f"\n\nRight tags, {name}: {share:.2f} %." for name, share in evaluation.tags.items())
        return (
            f"## {split}\n\n{markdown(('gold arcs', 'words', 'UAS', 'LAS'), rows)}\n\n"
            f"By the rules of CoNLL 2018 (relations without subtypes, CLAS: of content words): {official}.\n\n"
            f"Exact match: {evaluation.exact} of {evaluation.sentences} sentences.{tags}"
        )

    def _calibration(self, split: str) -> str:
        calibration = self.calibrations[split]
        header = ("probability of the arc", "words", "mean", "right")
        error = f"Expected calibration error: {100 * calibration.error:.2f} %."
        return f"## Calibration on {split}\n\n{markdown(header, calibration.rows())}\n\n{error}"

    def _seconds(self) -> str:
        rows = [
            (phase, part, f"{seconds:.2f}") for phase, parts in self.seconds.items() for part, seconds in parts.items()
        ]
        return f"## Seconds\n\n{markdown(('phase', 'spent in', 'seconds'), rows)}"


def write_pages(folder: Path, treebanks: Path | None = None, version: str | None = None) -> list[Path]:
    """The pages of a run, one for each way of decoding, from its files and its treebank.

    Raises:
        FileNotFoundError: no run there, none that has parsed dev, or no treebank.
        ValueError: another treebank than the run's, or trees of other sentences.
    """
    if folds := sorted(folder.glob("fold-*/report.json")):
        raise ValueError(f"{folder} is a cross-validation: give the run of a fold, such as {folds[0].parent}")
    config = Config.read(folder / "config.json")
    found = treebank_of_run(config, folder, treebanks, version)
    gold = found.evaluated()
    if not gold:
        raise ValueError(f"{folder} has neither a dev nor a test set, whose trees the page would show")
    first = next(iter(gold))
    endings = sorted(path.stem.removeprefix(first) for path in folder.glob(f"{first}*.conllu"))
    if not endings:
        raise FileNotFoundError(
            f"{folder} has no {first}.conllu: the run is not finished; give its training command again"
        )
    files = {split: getattr(found, split) or found.train for split in gold}
    return [write_page(folder, ending, gold, files) for ending in endings]

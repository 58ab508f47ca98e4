"""What a finished run leaves: predicted trees as CoNLL-U, report.md and report.json."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from experiments.config import Config
from experiments.evaluation import Evaluation
from experiments.files import write_whole


@dataclass(frozen=True)
class Report:
    """The best checkpoint's results on each split, the seconds of decoding them, and how long training took."""

    config: Config
    epoch: int
    minutes: float
    sentences_per_second: float
    evaluations: Mapping[str, Evaluation]
    seconds: Mapping[str, Mapping[str, float]]

    def write(self, folder: Path) -> None:
        write_whole(folder / "report.json", json.dumps(self.to_dict(), indent=2) + "\n")
        write_whole(folder / "report.md", self.to_markdown())

    def to_dict(self) -> dict[str, object]:
        training = {
            "best_epoch": self.epoch,
            "minutes": self.minutes,
            "sentences_per_second": self.sentences_per_second,
        }
        results = {split: evaluation.to_dict() for split, evaluation in self.evaluations.items()}
        seconds = {phase: dict(parts) for phase, parts in self.seconds.items()}
        return {"config": asdict(self.config), "training": training, "results": results, "seconds": seconds}

    def to_markdown(self) -> str:
        """Tables of scores by group of words and of seconds by phase."""
        return "\n\n".join([self._summary(), *map(self._scores, self.evaluations), self._seconds()]) + "\n"

    def _summary(self) -> str:
        config = self.config
        return (
            f"# {config.lang}: {config.parser}, {config.loss}, seed {config.seed}\n\n"
            f"Best on dev after epoch {self.epoch} of {config.epochs}; {self.minutes:.1f} minutes of training, "
            f"{self.sentences_per_second:.0f} sentences/s."
        )

    def _scores(self, split: str) -> str:
        evaluation = self.evaluations[split]
        rows = [
            (name, f"{counts.total}", f"{100 * counts.uas:.2f}", f"{100 * counts.las:.2f}")
            for name, counts in evaluation.groups.items()
        ]
        exact = f"Exact match: {evaluation.exact} of {evaluation.sentences} sentences."
        return f"## {split}\n\n{_table(('gold arcs', 'words', 'UAS', 'LAS'), rows)}\n\n{exact}"

    def _seconds(self) -> str:
        rows = [
            (phase, part, f"{seconds:.2f}") for phase, parts in self.seconds.items() for part, seconds in parts.items()
        ]
        return f"## Seconds\n\n{_table(('phase', 'spent in', 'seconds'), rows)}"


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, ("---",) * len(header), *rows))

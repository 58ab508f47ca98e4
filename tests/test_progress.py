"""What training tells: lines between epochs where there is no terminal, a bar on one, and figures to loggers."""

import io
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from rich.console import Console
from training_cases import TINY, small_treebank

from structdep_parser.config import Config
from structdep_parser.training import progress
from structdep_parser.training.experiment import Experiment
from structdep_parser.training.loggers import logger_named


class Kept:
    """A logger that keeps what it is told."""

    def __init__(self, config: Config) -> None:
        self.config, self.told, self.finished = config, dict[int, Mapping[str, float]](), 0

    def log(self, values: Mapping[str, float], step: int) -> None:
        self.told[step] = values

    def finish(self) -> None:
        self.finished += 1


def test_work_is_told_between_epochs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Off a terminal: while programs are compiled, and how many words are done; and all figures to a logger."""
    monkeypatch.setattr(progress, "PAUSE", 0.002)
    config, text = replace(TINY, epochs=2, graft=0.0), io.StringIO()
    made = Experiment(config, small_treebank(tmp_path, tmp_path), tmp_path / "run", Console(file=text, width=200))
    logger = logger_named("test_progress:Kept")(config)
    assert type(logger).__name__ == "Kept"
    made.train(logger=logger)
    words = sum(map(len, made.corpus.splits["train"]))
    lines = text.getvalue().splitlines()
    done = [int(line.split(" min  ")[1].split()[0]) for line in lines if f" of {words} words" in line]
    assert done and all(0 < number <= words for number in done)
    assert any(line.startswith("epoch   1/2") and line.endswith("compiling") for line in lines)
    assert any("dev UAS" in line for line in lines) and "parsing dev" in text.getvalue()
    (first, second), log = vars(logger)["told"].items(), made.run.log()
    assert [first, second] == [(entry["step"], entry) for entry in log] and vars(logger)["finished"] == 1


def test_a_bar_counts_words() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with progress.Progress(console, epoch=3, epochs=9, minutes=1.0) as shown:
        shown.show(progress.Done(3, words=1500, of=6000, loss=2.0))
        (task,) = shown.bars.tasks
        assert task.percentage == 25 and "epoch   3/9    1.0 min  1,500 of 6,000 words" in task.description


def test_modules_like_trackio_are_loggers(monkeypatch: pytest.MonkeyPatch) -> None:
    module, calls = ModuleType("stand_in"), list[Any]()
    for called in ("init", "log", "finish"):
        setattr(module, called, lambda *given, _called=called, **options: calls.append((_called, *given, options)))
    monkeypatch.setitem(sys.modules, "stand_in", module)
    logger = logger_named("stand_in")(TINY)
    logger.log({"loss": 1.0}, 7)
    logger.finish()
    assert calls == [
        ("init", {"project": "structdep", "name": "demo-eisner-tags-on-hinge-1", "config": asdict(TINY)}),
        ("log", {"loss": 1.0}, {"step": 7}),
        ("finish", {}),
    ]


@pytest.mark.parametrize("name", ["json", "no_such_module", "test_progress:Lost", ":Kept"])
def test_what_is_no_logger_is_told(name: str) -> None:
    with pytest.raises(ValueError, match=f"--logger {name}: expected MODULE:CLASS, or a MODULE with init, log and"):
        logger_named(name)

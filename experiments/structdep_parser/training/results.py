"""Which runs in a folder are finished, and what their reports say.

A report alone tells little: after --minutes, or in a run that goes on, it is of an earlier epoch than the last.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isclose
from pathlib import Path
from typing import Any

from structdep_parser.config import Config, member_folders
from structdep_parser.training.runs import read_log

Row = dict[str, Any]
NO_RESULT = {"groups": {"all": {"uas": "", "las": ""}}}
"""Of a dev or test set that is not there."""


def is_finished(folder: Path, config: Config) -> bool:
    """Whether a run has all its epochs, and a report of the last of them; one of several parsers, of the last of each.

    Raises:
        ValueError: its report or a log is damaged.
    """
    path = folder / "report.json"
    if not path.is_file():
        return False
    logs = [read_log(trained) for trained in member_folders(folder) or [folder]]
    if [len(log) for log in logs] != [config.epochs] * config.members:
        return False
    minutes = sum(log[-1]["minutes"] for log in logs)
    with _report(path) as report:
        return isclose(report["training"]["minutes"], minutes)


def results_in(folder: Path) -> dict[Config, Row]:
    """The configurations of all finished runs in a folder, and what the report of each says, a value a column."""
    found = {}
    for path in sorted(folder.glob("*/report.json")):
        try:
            config = Config.read(path.parent / "config.json")
        except (OSError, ValueError):
            continue  # not a run of this version
        if is_finished(path.parent, config):
            with _report(path) as report:
                found[config] = _row(config, report)
    return found


def with_treebanks(rows: Sequence[Row]) -> list[Row]:
    """Runs of a language on several treebanks, such as versions of one, are told apart by what has changed."""
    treebanks: dict[str, set[str]] = {}
    for row in rows:
        treebanks.setdefault(row["lang"], set()).add(row["treebank"])
    several = {lang for lang, found in treebanks.items() if len(found) > 1}
    named = (
        row | {"changes": ", ".join(filter(None, (row["changes"], f"treebank: {row['treebank']}")))} for row in rows
    )
    return [own if row["lang"] in several else row for row, own in zip(rows, named, strict=True)]


@contextmanager
def _report(path: Path) -> Iterator[Row]:
    """What a report says; what fails while it is looked into is told as its damage."""
    try:
        yield json.loads(path.read_text(encoding="utf-8"))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError(f"{path} is damaged, or of another version: give the command of that run again") from None


def _row(config: Config, report: Row) -> Row:
    results = {"dev": NO_RESULT, "test": NO_RESULT, **report["results"]}
    scores = {
        f"{split} {score.upper()}": results[split]["groups"]["all"][score]
        for split in ("dev", "test")
        for score in ("uas", "las")
    }
    training = {name: report["training"][name] for name in ("best_epoch", "minutes")}
    chosen = {"lang": config.lang, "parser": config.parser, "changes": _changes(config), "seed": config.seed}
    return {**chosen, **scores, **training, "treebank": config.treebank}


def _changes(config: Config) -> str:
    """What is not as usual, but for what differs from language to language and from seed to seed."""
    init_from = Path(config.init_from).name.removeprefix(f"{config.lang}-").removesuffix(f"-{config.seed}")
    same = ("lang", "parser", "seed", "treebank", "feature_width", "feature_checksum")
    usual = Config(**{name: getattr(config, name) for name in same})
    if config.sized:
        usual = replace(usual, epochs=config.epochs)
    differences = replace(config, init_from=init_from).differences(usual)
    return ", ".join(difference.partition(", not ")[0] for difference in differences)

"""The treebank of a run that was trained before."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from structdep_parser.choices import SPLITS
from structdep_parser.config import Config
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.held_out import TENTH
from structdep_parser.data.treebank import Treebank, find_treebank
from structdep_parser.files import write_whole

FILES = "treebank.json"
"""Where a run keeps the paths of its files, if they were given one by one."""


def keep_files(treebank: Treebank, folder: Path) -> None:
    """Write the paths of files that no name leads to."""
    if not treebank.is_named:
        files = {split: _with_paths(treebank.files(split), lambda path: str(path.resolve())) for split in SPLITS}
        write_whole(folder / FILES, json.dumps(files | {"held_out": treebank.held_out}, indent=1) + "\n")


def _with_paths(files: Any, change: Callable[[Any], Any]) -> Any:
    """The paths of files, which may be those of several treebanks, as others."""
    if isinstance(files, Mapping):
        return {name: _with_paths(own, change) for name, own in files.items()}
    return list(map(change, files))


def treebank_of_run(
    config: Config, folder: Path, treebanks: Path | None = None, version: str | None = None
) -> Treebank:
    """The treebank of the run in `folder`, looked for as by `find_treebank`.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is not the one that the run was trained on.
    """
    path = folder / FILES
    if path.is_file():
        files = json.loads(path.read_text(encoding="utf-8"))
        train, dev, test = (_with_paths(files[split], Path) for split in SPLITS)
        found = replace(Treebank.of_files(train, dev, test, config.lang), held_out=files.get("held_out", TENTH))
    elif config.lang == "demo":
        found = write_demo_treebank(folder.parent / "demo-treebank")
    else:
        found = find_treebank(config.lang, treebanks, version)
    if config.treebank not in ("", found.checksum):
        raise ValueError(
            f"{folder} is about {config.treebank}, but this is {found.checksum}: write --ud-version, or --treebanks DIR"
        )
    return found

"""The treebank of a run that was trained before."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from structdep_parser.choices import SPLITS
from structdep_parser.config import Config
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.held_out import TENTH
from structdep_parser.data.named_files import paths_of
from structdep_parser.data.treebank import Treebank, find_treebank
from structdep_parser.files import write_whole
from structdep_parser.training.runs import ELSEWHERE

FILES = "treebank.json"
"""Where a run keeps the paths of its files, if they were given one by one."""


def keep_files(treebank: Treebank, folder: Path) -> None:
    """Write the paths of files that no name leads to."""
    if not treebank.is_named:
        files = {split: _with_paths(treebank.files(split), lambda path: str(path.resolve())) for split in SPLITS}
        write_whole(folder / FILES, json.dumps(files | {"held_out": treebank.held_out}, indent=1) + "\n")


def check_files(treebank: Treebank, folder: Path) -> None:
    """Raise ValueError if the run in a folder has other files."""
    path = folder / "config.json"
    earlier = Config.read(path).treebank if path.is_file() else ""
    if not earlier or treebank.has(earlier):
        return
    if (folder / FILES).is_file():
        kept = json.loads((folder / FILES).read_text(encoding="utf-8"))
        files = {split: paths_of(_with_paths(kept[split], Path)) for split in SPLITS}
        earlier = _options(files, kept.get("held_out", TENTH))
    raise ValueError(
        f"{folder} holds a run on {earlier}, but this command has {other_files(treebank, earlier)}: {ELSEWHERE}"
    )


def check_source(source: Config, treebank: Treebank, folder: str) -> None:
    """Raise ValueError if the run whose weights are taken over, from a folder, is about other files."""
    if not treebank.has(source.treebank):
        raise ValueError(
            f"--init-from {folder}: that run is about {source.treebank}, this one about {treebank.checksum}: give one "
            "of the same files, so that nothing is evaluated that was trained on"
        )


def with_earlier_treebank(config: Config, folder: Path) -> Config:
    """With the checksum by which the run in a folder, which `check_files` has let pass, names its files."""
    path = folder / "config.json"
    earlier = Config.read(path).treebank if path.is_file() else ""
    return replace(config, treebank=earlier or config.treebank)


def other_files(treebank: Treebank, earlier: str) -> str:
    """The files of a treebank as options of structdep train, where others were `earlier`."""
    found = options_of(treebank)
    return found if found != earlier else "files of the same names with other content"


def options_of(treebank: Treebank) -> str:
    """The files of a treebank as options of structdep train."""
    return _options({split: treebank.paths(split) for split in ("train", "dev")}, treebank.held_out)


def _options(files: Mapping[str, Sequence[Path]], held_out: str) -> str:
    named = " ".join(
        " ".join((f"--{split}", *(path.name for path in files[split]))) for split in ("train", "dev") if files[split]
    )
    return named if files["dev"] else f"{named} --held-out {held_out}"


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
    if config.treebank and not found.has(config.treebank):
        raise ValueError(
            f"{folder} is about {config.treebank}, but this is {found.checksum}: write --ud-version, or --treebanks DIR"
        )
    return found

"""The treebank of a run that was trained before."""

from pathlib import Path

from structdep_parser.config import Config
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.treebank import Treebank, find_treebank


def treebank_of_run(
    config: Config, folder: Path, treebanks: Path | None = None, version: str | None = None
) -> Treebank:
    """The treebank of the run in `folder`, looked for as by `find_treebank`.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is not the one that the run was trained on.
    """
    if config.lang == "demo":
        found = write_demo_treebank(folder.parent / "demo-treebank")
    else:
        found = find_treebank(config.lang, treebanks, version)
    if config.treebank not in ("", found.checksum):
        raise ValueError(
            f"{folder} is about {config.treebank}, but this is {found.checksum}: write --ud-version, or --treebanks DIR"
        )
    return found

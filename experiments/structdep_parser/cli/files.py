"""The treebank that the options of `structdep train` name: by its code, several by theirs, or by files."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from structdep_parser.choices import SPLITS
from structdep_parser.data.held_out import TENTH
from structdep_parser.data.named_files import joined_name, of_options

if TYPE_CHECKING:
    from structdep_parser.data.treebank import Treebank


def treebank(options: argparse.Namespace) -> "Treebank":
    """The treebank that the command line names."""
    from structdep_parser.data.treebank import Treebank

    if options.train:
        if options.download or options.repository or options.ud_version:
            raise ValueError("--download, --repository, --ud-version: these belong to --lang CODE, not to --train FILE")
        train, dev, test = (of_options(f"--{split}", getattr(options, split)) for split in SPLITS)
        own = Treebank.of_files(train, dev, test, name_of(options))
        return own if options.held_out == TENTH else own.with_held_out(options.held_out)
    if options.held_out != TENTH or options.folds is not None:
        raise ValueError("--held-out and --folds belong to files of your own without --dev: write --train FILE, too")
    if options.dev or options.test:
        raise ValueError("--dev and --test belong to files of your own: write --train FILE, too")
    codes = list(dict.fromkeys(options.lang))
    if len(codes) == 1:
        return treebank_of(codes[0], options)
    if options.repository:
        raise ValueError("--repository with several --lang: it is that of one treebank; fetch each by itself first")
    found = {code: treebank_of(code, options) for code in codes}
    train, dev, test = ({code: paths for code, own in found.items() if (paths := own.paths(split))} for split in SPLITS)
    return Treebank.of_files(train, dev, test, name_of(options))


def treebank_of(code: str, options: argparse.Namespace) -> "Treebank":
    """The treebank of this code."""
    from structdep_parser.data.demo_treebank import write_demo_treebank
    from structdep_parser.data.download import download
    from structdep_parser.data.treebank import find_treebank

    if code == "demo":
        return write_demo_treebank(options.runs / "demo-treebank")
    if options.download:
        if options.ud_version is None:
            raise ValueError("--download needs a release: write --ud-version, such as 2.0")
        into = options.treebanks or Path("data")
        return download(code, options.ud_version, into, options.repository)
    return find_treebank(code, options.treebanks, options.ud_version)


def name_of(options: argparse.Namespace) -> str:
    """What the run's treebank is called.

    Raises:
        ValueError: there is none, or files of one's own have several names.
    """
    if not options.lang and not options.train:
        raise ValueError("no treebank: write --lang CODE, or --train FILE for files of your own")
    if options.train and len(options.lang) > 1:
        raise ValueError(f"--lang {' '.join(options.lang)} with --train: write one name")
    return "+".join(dict.fromkeys(options.lang)) or joined_name(of_options("--train", options.train))

"""`structdep report`: the pages of finished runs, written again."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from structdep_parser.cli.options import add_renamed, add_treebank_options
from structdep_parser.console import failed, plain
from structdep_parser.evaluation.report import write_pages


def main(arguments: Sequence[str] | None = None) -> int:
    made = argparse.ArgumentParser(prog="structdep report", description="Make the page report.html of runs.")
    made.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folders of runs")
    add_treebank_options(made)
    add_renamed(made, version="--ud-version")
    options = made.parse_args(arguments)
    try:
        for folder in options.runs:
            for path in write_pages(folder, options.treebanks, options.ud_version):
                plain().print(str(path))
    except (OSError, TypeError, ValueError) as error:
        return failed("structdep report", error)
    return 0

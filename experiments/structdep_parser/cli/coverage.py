"""`structdep coverage`: the trees of treebanks, counted by class."""

from collections.abc import Sequence

from structdep_parser.cli.treebank_command import treebank_command
from structdep_parser.evaluation.coverage import count, draw


def main(arguments: Sequence[str] | None = None) -> int:
    description = "Count the trees of each class, and the arcs that the nearest trees of the class have."
    return treebank_command("structdep coverage", description, count, arguments, draw)

"""`structdep coverage`: the trees of treebanks, counted by class."""

from structdep_parser.cli.options import Arguments, command
from structdep_parser.cli.treebank_command import command_line, count_in_treebanks

DESCRIPTION = "Count the trees in each class, and the arcs that the nearest tree of the class keeps."


@command("structdep coverage")
def main(arguments: Arguments = None) -> int:
    options = command_line("structdep coverage", DESCRIPTION).parse_args(arguments)

    from structdep_parser.evaluation.coverage import count, draw

    return count_in_treebanks(options, count, draw)

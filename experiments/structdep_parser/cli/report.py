"""`structdep report`: the pages of finished runs, written again."""

from pathlib import Path

from structdep_parser.cli.options import Arguments, CommandLine, add_treebank_options, command


@command("structdep report")
def main(arguments: Arguments = None) -> int:
    made = CommandLine(prog="structdep report", description="Write report.html of finished runs again.")
    made.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folders of runs")
    add_treebank_options(made)
    options = made.parse_args(arguments)

    from structdep_parser.console import plain
    from structdep_parser.evaluation.report import write_pages

    for folder in options.runs:
        for path in write_pages(folder, options.treebanks, options.ud_version):
            plain().print(str(path))
    return 0

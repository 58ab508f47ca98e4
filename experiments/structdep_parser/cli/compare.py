"""`structdep compare`: two parsers' trees compared with the gold standard."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from structdep_parser.cli.options import Arguments, command

if TYPE_CHECKING:
    from rich.table import Table

    from structdep_parser.evaluation.comparison import Difference

EPILOG = """\
scores follow the CoNLL 2018 shared task: relations are compared without subtypes, and CLAS counts only content words.
The interval and the first p are those of a paired bootstrap over sentences: --samples times, it draws as many sentences
with replacement and computes the difference. McNemar's test is exact; it compares the numbers of words that only one of
the parsers has right.
"""


def table(names: Sequence[str], found: "dict[str, Difference]") -> "Table":
    """A row for each score."""
    from rich.table import Table

    from structdep_parser.text import visible

    title = f"A: {names[0]}\nB: {names[1]}\ngold: {names[2]}"
    made = Table(title=visible(title), title_justify="left")
    header = ("score", "A", "B", "B - A", "95 % interval", "p", "only A right", "only B right", "p (McNemar)")
    for column in header:
        made.add_column(column, justify="left" if column == "score" else "right")
    for metric, difference in found.items():
        made.add_row(metric, *difference.cells())
    return made


@command("structdep compare")
def main(arguments: Arguments = None) -> int:
    made = argparse.ArgumentParser(
        prog="structdep compare",
        description="Compare the trees of two parsers with the gold standard.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name in ("a", "b", "gold"):
        made.add_argument(name, type=Path, metavar=f"{name.upper()}.conllu")
    made.add_argument(
        "--samples", type=int, default=10_000, help="number of samples of the bootstrap; default: %(default)s"
    )
    made.add_argument("--seed", type=int, default=1, help="of the bootstrap; default: %(default)s")
    options = made.parse_args(arguments)

    from structdep_parser.console import print_table
    from structdep_parser.data.sentences import read
    from structdep_parser.evaluation.comparison import check_words, compare

    paths = options.a, options.b, options.gold
    a, b, gold = map(read, paths)
    for path, sentences in ((options.a, a), (options.b, b)):
        check_words(path, sentences, options.gold, gold)
    found = compare(a, b, gold, options.samples, options.seed)
    print_table(table([str(path) for path in paths], found))
    return 0

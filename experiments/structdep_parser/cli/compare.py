"""`structdep compare`: two parsers' trees compared with the gold standard."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from structdep_parser.console import failed, print_table
from structdep_parser.data.sentences import read
from structdep_parser.evaluation.comparison import Difference, check_words, compare
from structdep_parser.text import visible

EPILOG = """\
scores are those of the CoNLL 2018 shared task (relations without subtypes; CLAS: content words alone). The interval
and its p are of a paired bootstrap: what the difference is in as many sentences, drawn again and again with
replacement. McNemar's test is exact; it counts the words that one parser alone has right.
"""


def table(names: Sequence[str], found: dict[str, Difference]) -> Table:
    """A row for each score."""
    title = f"A: {names[0]}\nB: {names[1]}\ngold: {names[2]}"
    made = Table(title=visible(title), title_justify="left")
    header = ("score", "A", "B", "B - A", "95 % interval", "p", "only A right", "only B right", "p (McNemar)")
    for column in header:
        made.add_column(column, justify="left" if column == "score" else "right")
    for metric, difference in found.items():
        made.add_row(metric, *difference.cells())
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    made = argparse.ArgumentParser(
        prog="structdep compare",
        description="Compare the trees of two parsers with the gold standard.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name in ("a", "b", "gold"):
        made.add_argument(name, type=Path, metavar=f"{name.upper()}.conllu")
    made.add_argument("--samples", type=int, default=10_000, help="of the bootstrap; default: %(default)s")
    made.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    options = made.parse_args(arguments)
    paths = options.a, options.b, options.gold
    try:
        a, b, gold = map(read, paths)
        for path, sentences in ((options.a, a), (options.b, b)):
            check_words(path, sentences, options.gold, gold)
        found = compare(a, b, gold, options.samples, options.seed)
    except (OSError, ValueError) as error:
        return failed("structdep compare", error)
    print_table(table([str(path) for path in paths], found))
    return 0

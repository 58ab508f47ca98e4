"""What programs share that count something in treebanks: command line, sentences, table and CSV."""

import argparse
import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiments.demo_treebank import write_demo_treebank
from experiments.files import write_whole
from experiments.sentences import Sentence, read
from experiments.treebank import VARIABLE, find_treebank

Row = Mapping[str, str | int | float]


def command_line(prog: str, description: str) -> argparse.ArgumentParser:
    """Treebanks, a split, and where results go."""
    made = argparse.ArgumentParser(
        prog=prog,
        description=description,
        epilog=f"treebanks are looked for in --treebanks DIR, else in ${VARIABLE}, else in data/",
    )
    made.add_argument("--lang", nargs="+", required=True, help="codes of languages or treebanks (got hu), or demo")
    made.add_argument("--treebanks", type=Path, metavar="DIR", help="where treebanks are")
    made.add_argument("--version", help="of UD, such as 2.0, to choose between several")
    made.add_argument("--split", choices=("train", "dev", "test"), default="train", help="default: %(default)s")
    folder = Path("runs", Path(prog).stem.replace("_", "-"))
    made.add_argument(
        "--out", type=Path, default=folder, metavar="DIR", help="for what is written; default: %(default)s"
    )
    return made


def treebanks(options: argparse.Namespace) -> Iterator[tuple[str, list[Sentence]]]:
    """The names of the treebanks that were asked for, and the sentences of their split.

    Raises:
        ValueError: there is no such treebank, or it has no such split.
    """
    for lang in options.lang:
        if lang == "demo":
            found = write_demo_treebank(options.out / "demo-treebank")
        else:
            found = find_treebank(lang, options.treebanks, options.version)
        path = getattr(found, options.split)
        if path is None:
            raise ValueError(f"the treebank {lang} has no {options.split} set: write another --split")
        yield lang, read(path)


def table(title: str, rows: Sequence[Row]) -> Table:
    """Rows of the same columns; what is no text stands on the right, real numbers with two places."""
    made = Table(title=title)
    for name, value in rows[0].items():
        made.add_column(name, justify="left" if isinstance(value, str) else "right")
    for row in rows:
        made.add_row(*(f"{value:.2f}" if isinstance(value, float) else str(value) for value in row.values()))
    return made


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Rows of the same columns, under their names."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue())


def report_errors(prog: str, error: Exception) -> int:
    """Tell what the user can mend, without a traceback."""
    Console(stderr=True).print(f"{prog}: {error}", style="red", soft_wrap=True, markup=False, highlight=False)
    return 1

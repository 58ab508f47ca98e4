"""Commands that count something in treebanks: their command line, their input, and tables on screen and in files."""

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from structdep_parser.cli.options import add_renamed, add_treebank_options
from structdep_parser.console import failed, print_table
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.sentences import Sentence, read
from structdep_parser.data.treebank import VARIABLE, find_treebank
from structdep_parser.files import write_whole
from structdep_parser.tables import as_csv, markdown, shown
from structdep_parser.text import visible

Row = dict[str, Any]
Tables = dict[str, list[Row]]
Count = Callable[[str, list[Sentence], Path], Tables]
"""From the name of a treebank, its sentences and a folder for figures to tables of the same columns for each."""
Draw = Callable[[Tables, Path], None]
"""From all tables to figures in a folder."""


def treebank_command(
    program: str,
    description: str,
    count: Count,
    arguments: Sequence[str] | None = None,
    draw: Draw | None = None,
) -> int:
    """Count in all treebanks that the command line names; write the tables as CSV, print and draw the first of them.

    The first is also written as Markdown.
    """
    options = _command_line(program, description).parse_args(arguments)
    tables: Tables = {}
    try:
        for treebank, sentences in _treebanks(options):
            for name, rows in count(treebank, sentences, options.out).items():
                tables.setdefault(name, []).extend(rows)
        for name, rows in tables.items():
            write_whole(options.out / f"{name}.csv", as_csv(rows))
        name, rows = next(iter(tables.items()))
        cells = [[shown(value) for value in row.values()] for row in rows]
        write_whole(options.out / f"{name}.md", markdown(list(rows[0]), cells) + "\n")
        if draw:
            draw(tables, options.out)
    except (OSError, ValueError) as error:
        return failed(program, error)
    print_table(_printed(name, rows))
    return 0


def _command_line(program: str, description: str) -> argparse.ArgumentParser:
    folder = Path("runs", Path(program).stem.replace("_", "-"))
    made = argparse.ArgumentParser(
        prog=program,
        description=description,
        epilog=f"treebanks are looked for in --treebanks DIR, else in ${VARIABLE}, else in data/",
    )
    which = made.add_mutually_exclusive_group(required=True)
    which.add_argument("--lang", nargs="+", default=[], help="codes of languages or treebanks (got hu), or demo")
    which.add_argument("--files", nargs="+", default=[], type=Path, metavar="CONLLU", help="any files in their place")
    add_treebank_options(made)
    add_renamed(made, version="--ud-version")
    made.add_argument("--split", choices=("train", "dev", "test"), default="train", help="default: %(default)s")
    made.add_argument(
        "--out", type=Path, default=folder, metavar="DIR", help="for what is written; default: %(default)s"
    )
    return made


def _treebanks(options: argparse.Namespace) -> Iterator[tuple[str, list[Sentence]]]:
    """Names (got-train) and sentences, of each treebank once."""
    for name, path in named(options.files).items():
        yield name, read(path)
    for lang in dict.fromkeys(options.lang):
        if lang == "demo":
            found = write_demo_treebank(options.out / "demo-treebank")
        else:
            found = find_treebank(lang, options.treebanks, options.ud_version)
        path = getattr(found, options.split)
        if path is None:
            raise ValueError(f"the treebank {lang} has no {options.split} set: write --split train or --split dev")
        yield f"{lang}-{options.split}", read(path)


def named(paths: Iterable[Path]) -> dict[str, Path]:
    """Files by their stems, with as many of the folders above as it takes to tell all of them apart.

    Names stand in tables and in names of figures, where two files of one name would be mixed.

    Example:
        >>> [*named([Path("a/dev.conllu"), Path("b/dev.conllu"), Path("a/dev.conllu")])]
        ['a-dev', 'b-dev']
    """
    files = {os.path.abspath(path): path for path in paths}
    parts = [Path(place).with_suffix("").parts[1:] for place in files]
    for depth in range(1, max(map(len, parts), default=1) + 1):
        names = [visible("-".join(own[-depth:])) for own in parts]
        if len(set(names)) == len(names):
            return dict(zip(names, files.values(), strict=True))
    told = ", ".join(map(str, files.values()))
    raise ValueError(
        f"{told}: expected names that differ in more than what stands behind the dot; rename one of the files"
    )


def _printed(title: str, rows: Sequence[Row]) -> Table:
    """Text on the left, numbers on the right, real ones with two places."""
    made = Table(title=title)
    for name, value in rows[0].items():
        made.add_column(name, justify="left" if isinstance(value, str) else "right")
    for row in rows:
        made.add_row(*map(shown, row.values()))
    return made

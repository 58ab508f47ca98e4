"""Commands that count something in treebanks: their command line, their input, and tables on screen and in files."""

import argparse
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from structdep_parser.choices import SPLITS, TREEBANKS_VARIABLE
from structdep_parser.cli.options import CommandLine, add_treebank_options
from structdep_parser.tables import Tables, as_csv, markdown, shown
from structdep_parser.text import visible

if TYPE_CHECKING:
    from structdep_parser.data.conllu import Sentence


def command_line(program: str, description: str) -> argparse.ArgumentParser:
    """The options of such a command."""
    folder = Path("runs", program.split()[-1].removesuffix(".py").replace("_", "-"))
    made = CommandLine(
        prog=program,
        description=description,
        epilog=f"treebanks are searched in --treebanks DIR, else in ${TREEBANKS_VARIABLE}, else in data/",
    )
    which = made.add_mutually_exclusive_group(required=True)
    which.add_argument("--lang", nargs="+", default=[], help="codes of languages or treebanks (got hu), or demo")
    which.add_argument(
        "--files", nargs="+", default=[], type=Path, metavar="CONLLU", help="CoNLL-U files instead of --lang"
    )
    add_treebank_options(made)
    made.add_argument("--split", choices=SPLITS, default="train", help="default: %(default)s")
    made.add_argument("--out", type=Path, default=folder, metavar="DIR", help="folder to write; default: %(default)s")
    return made


def count_in_treebanks(
    options: argparse.Namespace,
    count: "Callable[[str, list[Sentence], Path], Tables]",
    draw: Callable[[Tables, Path], None] | None = None,
) -> int:
    """Count in all treebanks that the options name; write all tables as CSV, print and draw the first of them.

    Args:
        options: what `command_line` has parsed.
        count: from a treebank's name, its sentences and a folder for figures to tables of the same columns for each.
        draw: from all tables to figures in a folder. The first table is also written as Markdown.
    """
    from structdep_parser.console import print_table
    from structdep_parser.files import write_whole

    tables: Tables = {}
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
    print_table(name, rows[0], cells, texts=sum(isinstance(value, str) for value in rows[0].values()))
    return 0


def _treebanks(options: argparse.Namespace) -> "Iterator[tuple[str, list[Sentence]]]":
    """Names (got-train) and sentences, of each treebank once."""
    from structdep_parser.data.conllu import read
    from structdep_parser.data.demo_treebank import write_demo_treebank
    from structdep_parser.data.treebank import find_treebank

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

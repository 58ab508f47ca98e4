"""Table 4 of Gómez-Rodríguez, Shi and Lee (2018): scores of parsers on dev, over languages and seeds.

python experiments/table4.py --lang got hu --seeds 1 2 3 4 5
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import mean, stdev

from rich.console import Console

from experiments import ud
from experiments.config import Config
from experiments.files import write_whole
from experiments.parsers import PARSERS
from experiments.tables import as_csv, markdown

ONE_EC = {"got": "84.77 ± 0.27", "hu": "83.48 ± 0.27"}
PUBLISHED = {
    "mh3": {"got": "83.72 ± 0.19", "hu": "83.05 ± 0.17"},
    "mst": {"got": "84.74 ± 0.28", "hu": "82.81 ± 0.49"},
    "mh4-two": {"got": "83.85 ± 0.19", "hu": "83.69 ± 0.20"},
    "mh4-hybrid": {"got": "84.59 ± 0.38", "hu": "84.59 ± 0.50"},
    "1ec1": ONE_EC,
    "1ec": ONE_EC,
    "greedy-mh3": {"got": "82.28 ± 0.18", "hu": "81.75 ± 0.47"},
    "greedy-mh4": {"got": "81.40 ± 0.45", "hu": "80.75 ± 0.54"},
}
"""UAS on dev of UD 2.0, gold tokens, by parser and language: mean and standard deviation of five seeds."""
EPILOG = """\
each run is one of ud.py, in a process of its own; what is finished is not run again, what was stopped goes on. What
stands behind -- is for ud.py: table4.py --lang got -- --loss nll. Tables are written anew after each run.
"""
STOPPED = 130

Train = Callable[[Sequence[str]], int]
"""Runs the command line of ud.py; its exit status."""


@dataclass(frozen=True)
class Run:
    """A run of ud.py by its arguments; where it is follows from them."""

    lang: str
    parser: str
    seed: int
    arguments: tuple[str, ...]

    @property
    def report(self) -> Path:
        return self._folder / "report.json"

    def is_done(self) -> bool:
        """Whether there is a report of this very configuration; the treebank is checked by ud.py alone."""
        if not self.report.is_file():
            return False
        wanted = ud.config(self._options)
        try:
            there = Config.read(self._folder / "config.json")
        except (TypeError, ValueError):
            return False
        return replace(there, treebank="") == wanted

    def row(self) -> dict[str, object]:
        """What the report says, a value a column."""
        found = json.loads(self.report.read_text(encoding="utf-8"))
        scores = {
            f"{split} {score.upper()}": results["groups"]["all"][score]
            for split, results in found["results"].items()
            for score in ("uas", "las")
        }
        training = {name: found["training"][name] for name in ("best_epoch", "minutes")}
        empty = {"test UAS": "", "test LAS": ""}
        return {"lang": self.lang, "parser": self.parser, "seed": self.seed, **empty, **scores, **training}

    @property
    def _options(self) -> argparse.Namespace:
        return ud.parser().parse_args(self.arguments)

    @property
    def _folder(self) -> Path:
        options = self._options
        folder: Path = options.runs / (options.name or ud.config(options).name)
        return folder


def in_a_process(arguments: Sequence[str]) -> int:
    """ud.py, as from the command line."""
    root = str(Path(__file__).resolve().parent.parent)
    paths = os.pathsep.join(path for path in (root, os.environ.get("PYTHONPATH")) if path)
    command = [sys.executable, "-m", "experiments.ud", *arguments]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, check=False).returncode


def runs(options: argparse.Namespace) -> Iterator[Run]:
    """Seed by seed, so that a table of all parsers is there early."""
    for seed, lang, parser in product(options.seeds, options.lang, options.parsers):
        chosen = ["--lang", lang, "--parser", parser, "--seed", str(seed), "--runs", str(options.runs)]
        yield Run(lang, parser, seed, (*chosen, *options.options))


def table(rows: Sequence[dict[str, object]], langs: Sequence[str]) -> str:
    """A line a parser: UAS and LAS on dev of each language, and the published UAS beside."""
    header = ["parser", *(f"{lang} {column}" for lang in langs for column in ("UAS", "published", "LAS"))]
    lines = []
    for parser in dict.fromkeys(row["parser"] for row in rows):
        line = [str(parser)]
        for lang in langs:
            found = [row for row in rows if (row["parser"], row["lang"]) == (parser, lang)]
            published = PUBLISHED.get(str(parser), {}).get(lang, "")
            line += [_cell(found, "dev UAS"), published, _cell(found, "dev LAS")]
        lines.append(line)
    return markdown(header, lines, numbers=True)


def _cell(rows: Sequence[dict[str, object]], column: str) -> str:
    """Mean, standard deviation and number of runs."""
    values = [float(str(row[column])) for row in rows]
    if not values:
        return ""
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "") + f" ({len(values)})"


def write(folder: Path, planned: Sequence[Run], langs: Sequence[str]) -> str:
    """Write table4.csv, a line a run that is done, and table4.md, which is returned."""
    rows = [run.row() for run in planned if run.is_done()]
    if not rows:
        return "no run is done"
    text = f"{table(rows, langs)}\n\nDev, mean ± standard deviation (seeds); published: five seeds.\n"
    write_whole(folder / "table4.csv", as_csv(rows))
    write_whole(folder / "table4.md", text)
    return text


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="table4.py",
        description="Train parsers of several seeds and languages, and put their scores beside the published ones.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--lang", nargs="+", default=["got", "hu"], help="default: got hu")
    defaults = [name for name in PUBLISHED if name in PARSERS]
    made.add_argument("--parsers", nargs="+", choices=PARSERS, default=defaults, help=f"default: {' '.join(defaults)}")
    made.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5], help="default: 1 2 3 4 5")
    made.add_argument("--runs", type=Path, default=Path("runs"), help="the folder of runs; default: %(default)s")
    made.add_argument("--out", type=Path, metavar="DIR", help="for table4.md and table4.csv; default: that of runs")
    made.add_argument("--collect", action="store_true", help="run nothing, take what is there")
    made.add_argument("options", nargs="*", metavar="-- OPTIONS", help="of ud.py")
    return made


def main(arguments: Sequence[str] | None = None, train: Train = in_a_process) -> int:
    """Run what is not done, and write the tables; 1 where a run failed."""
    options = parser().parse_args(arguments)
    console, folder, failed = Console(), options.out or options.runs, []
    planned = list(runs(options))
    for number, run in enumerate(planned, start=1):
        if options.collect or run.is_done():
            continue
        console.rule(f"{number} of {len(planned)}: {run.lang}, {run.parser}, seed {run.seed}")
        if status := train(run.arguments):
            failed.append(f"{run.lang} {run.parser} seed {run.seed} (exit status {status})")
        if status == STOPPED:
            break
        write(folder, planned, options.lang)
    console.print(write(folder, planned, options.lang), markup=False, highlight=False, soft_wrap=True)
    for name in failed:
        console.print(f"failed: {name}", style="red", markup=False, highlight=False)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Table 4 of Gómez-Rodríguez, Shi and Lee (2018): scores of parsers on dev, over languages and seeds.

python experiments/table4.py --lang got hu --seeds 1 2 3 4 5
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

from structdep_parser.choices import CHART_PARSERS, PARSERS
from structdep_parser.cli import train as train_command
from structdep_parser.cli.options import Arguments, add_renamed, argument_parser, command, confirmed
from structdep_parser.config import Config
from structdep_parser.console import plain
from structdep_parser.data.corpus import completed
from structdep_parser.data.treebank import Treebank
from structdep_parser.files import write_whole
from structdep_parser.parsers.decoding import Decoding
from structdep_parser.tables import as_csv, markdown, mean_of
from structdep_parser.training import processes
from structdep_parser.training.processes import STOPPED, Train
from structdep_parser.training.results import Row, results_in, with_treebanks

PUBLISHED = {
    "mh3": {"got": "83.72 ± 0.19", "hu": "83.05 ± 0.17"},
    "mst": {"got": "84.74 ± 0.28", "hu": "82.81 ± 0.49"},
    "mh4-two": {"got": "83.85 ± 0.19", "hu": "83.69 ± 0.20"},
    "mh4-hybrid": {"got": "84.59 ± 0.38", "hu": "84.59 ± 0.50"},
    "1ec": {"got": "84.77 ± 0.27", "hu": "83.48 ± 0.27"},
    "greedy-mh3": {"got": "82.28 ± 0.18", "hu": "81.75 ± 0.47"},
    "greedy-mh4": {"got": "81.40 ± 0.45", "hu": "80.75 ± 0.54"},
}
"""UAS on dev of UD 2.0, gold tokens, by parser and language: mean and standard deviation of five seeds."""
ASKED = 10
"""Runs above which the command asks before it trains, or needs --yes."""
EPOCHS, USUAL = {"got": (40, 20), "hu": (70, 30)}, (50, 25)
FEW = {"1ec": 5, "1ec1": 5}
"""Of --warm-start: epochs of the first parser, and of those that start from its weights; few if charts are slow."""
NOT_FOR_ALL = ("lang", "parser", "seed", "name", "runs", "folds", "minutes")
"""Options of structdep train that differ from run to run, or of which no table can be made."""
MINUTES = {"mh3": 1.1, "mh4-two": 1.8, "mh4-hybrid": 2.2, "1ec1": 2.8, "1ec": 3.6, "greedy-mh3": 0.7, "greedy-mh4": 1.1}
MEASURED = 35_024
"""Minutes of an epoch of Gothic on one CPU core, roughly, and its number of words. Other parsers: a minute."""
EPILOG = """\
each run is one of structdep train, in a process of its own. Finished runs are kept, interrupted runs resume. Options
after -- go to structdep train: table4.py --lang got -- --loss nll. The tables are written again after each run; they
contain all finished runs in the folder by these parsers. Runs of other configurations than the default, or on another
version of a treebank where there are several, have rows of their own. New runs of these need another --runs DIR.
"""


def planned(options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Arguments of structdep train for each run, seed by seed, so that a table of all parsers is there early."""
    for seed, lang in product(options.seeds, options.lang):
        own = ("--lang", lang, "--seed", str(seed), "--runs", str(options.runs))
        if not options.warm_start:
            yield from ((*own, "--parser", parser, *options.options) for parser in options.parsers)
            continue
        long, short = EPOCHS.get(lang, USUAL)
        first = (*own, "--parser", options.warm_start, "--epochs", str(long), *options.options)
        yield first
        start = "--init-from", str(options.runs / config_of(first).name), "--set", "learning_rate=0.0015"
        for parser in (name for name in options.parsers if name != options.warm_start):
            epochs = str(FEW.get(parser, short))
            yield (*own, "--parser", parser, *start, "--epochs", epochs, *options.options)


def config_of(command: Sequence[str]) -> Config:
    return train_command.config(train_command.parser().parse_args(command))


class Planned(NamedTuple):
    """A run that is asked for, about how long it takes, and whether there are test files."""

    config: Config
    minutes: float
    has_test: bool

    def is_in(self, ready: Mapping[Config, Row]) -> bool:
        """Whether it is finished, and evaluated on the test files."""
        row = ready.get(self.config)
        return row is not None and not (self.has_test and row["test UAS"] == "")


def on_treebanks(command_lines: Iterable[Sequence[str]]) -> Iterator[Planned]:
    """Each run, with the treebank that it would be trained on."""
    found: dict[str, tuple[Treebank, Config, int]] = {}
    for command_line in command_lines:
        options, config = train_command.parser().parse_args(command_line), config_of(command_line)
        train_command.check_processes(options)
        if config.lang not in found:
            treebank = train_command.treebank(options)
            found[config.lang] = treebank, completed(config, treebank), treebank.words()
        treebank, whole, words = found[config.lang]
        config = train_command.fitted(config, options, treebank)
        minutes = words / MEASURED * config.epochs * config.members * MINUTES.get(config.parser, 1.0)
        filled_in = {name: getattr(whole, name) for name in ("treebank", "feature_width", "feature_checksum")}
        yield Planned(replace(config, **filled_in), minutes, treebank.test is not None)


def check(options: argparse.Namespace) -> None:
    """Raise ValueError for options whose runs would fail, or be in no table, after hours of training."""
    asked = train_command.parser().parse_args(["--lang", *options.lang[:1], *options.options])
    if ending := Decoding(asked.decode, beam=asked.beam).ending:
        raise ValueError(
            f"-- --decode {asked.decode} --beam {asked.beam}: tables are made of report.json, but this would write "
            f"report{ending}.json: leave these options out, and give them to structdep train when a run is finished"
        )
    usual = train_command.parser().parse_args(["--lang", *options.lang[:1]])
    for name in (name for name in NOT_FOR_ALL if getattr(asked, name) != getattr(usual, name)):
        raise ValueError(f"-- --{name}: not for all runs of a table: leave it out")
    if options.warm_start and asked.members > 1:
        raise ValueError(
            f"--warm-start -- --members {asked.members}: a parser begins with what one has learned, not several: "
            "leave out --warm-start or --members"
        )


def table(rows: Sequence[Row], langs: Sequence[str]) -> str:
    """A line a parser: UAS and LAS on dev of each language, and the published UAS beside."""
    header = ["parser", *(f"{lang} {column}" for lang in langs for column in ("UAS", "published", "LAS"))]
    lines: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        lines.setdefault((row["parser"], row["changes"]), [])
    for lang in langs:
        for (parser, changes), line in lines.items():
            names = lang, parser, changes
            found = [row for row in rows if (row["lang"], row["parser"], row["changes"]) == names]
            line += [_cell(found, "dev UAS"), PUBLISHED.get(parser, {}).get(lang, ""), _cell(found, "dev LAS")]
    return markdown(header, [[", ".join(filter(None, name)), *line] for name, line in lines.items()], numbers=True)


def _cell(rows: Sequence[Row], column: str) -> str:
    """Mean, standard deviation and number of runs."""
    found = [row[column] for row in rows if row[column] != ""]
    return f"{mean_of(found)} ({len(found)})" if found else ""


def write(options: argparse.Namespace) -> str:
    """Write table4.csv, a line a run that is done, and table4.md, which is returned."""
    langs, parsers = options.lang, options.parsers
    done = results_in(options.runs).values()
    chosen = with_treebanks([row for row in done if row["lang"] in langs and row["parser"] in parsers])
    if not chosen:
        return f"no run of these parsers and languages is done in {options.runs}"
    rows = sorted(chosen, key=lambda row: (parsers.index(row["parser"]), row["changes"], row["lang"], row["seed"]))
    text = f"{table(rows, options.lang)}\n\nDev, mean ± standard deviation (seeds); published: five seeds.\n"
    folder = options.out or options.runs
    write_whole(folder / "table4.csv", as_csv(rows))
    write_whole(folder / "table4.md", text)
    return text


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argument_parser(
        "table4.py",
        "Train parsers of several seeds and languages, and put their scores beside the published ones.",
        EPILOG,
    )
    made.add_argument("--lang", nargs="+", default=["got", "hu"], help="default: got hu")
    defaults = [Config().parser, *PUBLISHED]
    made.add_argument("--parsers", nargs="+", choices=PARSERS, default=defaults, help=f"default: {' '.join(defaults)}")
    made.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3, 4, 5], help="default: 1 2 3 4 5")
    made.add_argument(
        "--warm-start",
        nargs="?",
        const="mst2-mean-field",
        choices=CHART_PARSERS,
        metavar="PARSER",
        help="train this first (default: %(const)s) for each language and seed, and start the others from its weights",
    )
    made.add_argument("--runs", type=Path, default=Path("runs"), help="the folder of runs; default: %(default)s")
    made.add_argument("--out", type=Path, metavar="DIR", help="folder of table4.md and table4.csv; default: --runs")
    made.add_argument("--collect", action="store_true", help="train nothing; write the tables of finished runs")
    made.add_argument("--yes", action="store_true", help=f"train more than {ASKED} parsers without being asked")
    add_renamed(made, started="--warm-start")
    made.add_argument("options", nargs="*", metavar="-- OPTIONS", help="of structdep train")
    return made


@command("table4.py")
def main(arguments: Arguments = None, train: Train = processes.train) -> int:
    """Run what is not done, and write the tables; 1 where a run failed, or none was wanted."""
    options, console, failed = parser().parse_args(arguments), plain(), []
    check(options)
    ready = results_in(options.runs)
    if options.collect and not ready:
        raise ValueError(f"--collect: no run in {options.runs} is done")
    wanted = [] if options.collect else list(planned(options))
    runs = [*on_treebanks(wanted)]
    missing = [run.minutes for run in runs if not run.is_in(ready)]
    told = f"this would train {len(missing)} parsers, one after the other: {sum(missing) / 60:.0f} hours of a CPU core"
    if len(missing) > ASKED and not options.yes and not confirmed(told, "--yes, or fewer --parsers or --seeds"):
        console.print("nothing was trained")
        return 1
    for number, (command_line, run) in enumerate(zip(wanted, runs, strict=True), start=1):
        if run.is_in(results_in(options.runs)):
            continue
        console.rule(f"{number} of {len(wanted)}: {run.config.name}")
        if status := train(command_line):
            failed.append(f"{run.config.name} (exit status {status})")
        if status == STOPPED:
            break
        write(options)
    console.print(write(options))
    for name in failed:
        console.print(f"failed: {name}", style="red")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

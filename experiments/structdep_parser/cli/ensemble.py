"""`structdep ensemble`: parse with several trained parsers at once, and report what is gained."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from structdep_parser.choices import CHART_PARSERS, WAYS
from structdep_parser.cli.options import Arguments, add_renamed, add_treebank_options, argument_parser, command

EPILOG = """\
--by marginals: the tree with the highest sum of arc probabilities, averaged over the parsers; a parser
without probabilities votes. --by votes: the tree whose arcs are in the most trees of the parsers; the first
parser breaks ties. --by scores: the best tree by the mean of the scores; for parsers of one kind, such as seeds. The
relation of each arc has the highest mean probability. Probabilities of parsers trained by the hinge loss are
unreliable: --by votes may be more accurate.
"""


@command("structdep ensemble")
def main(arguments: Arguments = None) -> int:
    options = parser().parse_args(arguments)

    from structdep_parser.console import plain
    from structdep_parser.nn.compiled import prepare_process

    prepare_process()
    text, folder = run(options)
    plain().print(f"{text}\nall in {folder}")
    return 0


def parser() -> argparse.ArgumentParser:
    made = argument_parser(
        "structdep ensemble",
        "Parse dev and test with several finished runs together, and report the gain over each run.",
        EPILOG,
    )
    made.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="folders of finished runs on one treebank; a run with --members counts as all its members",
    )
    made.add_argument(
        "--trees",
        choices=CHART_PARSERS,
        metavar="PARSER",
        help="search the trees of this parser's class; default: mst (all trees), or with --by scores that of the runs",
    )
    add_renamed(made, system="--trees")
    made.add_argument(
        "--by",
        choices=WAYS,
        nargs="+",
        default=["marginals"],
        help="how to combine: one for all runs, or one for each run; default: marginals",
    )
    made.add_argument(
        "--weights", type=float, nargs="+", metavar="W", help="the weight of each run, such as 1 1 0.5; default: 1"
    )
    add_treebank_options(made)
    made.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder to write dev.conllu, test.conllu and report.md to; default: beside the first run",
    )
    return made


def run(options: argparse.Namespace) -> tuple[str, Path]:
    """Parse, write and report: the report, and the folder that it is in."""
    from structdep_parser.files import write_whole
    from structdep_parser.parsers.ensemble import Ensemble
    from structdep_parser.parsers.trained_model import models_in
    from structdep_parser.training.ensemble_run import evaluated, gains
    from structdep_parser.training.run_treebank import options_of, other_files, treebank_of_run

    found = models_in(options.runs)
    if len(found) < 2:
        raise ValueError("an ensemble takes two runs or more: write more, or one with --members")
    names = [Path(run).name for run in found]
    models = {run if names.count(name := Path(run).name) > 1 else name: model for run, model in found.items()}
    treebanks = [
        treebank_of_run(model.config, Path(run), options.treebanks, options.ud_version) for run, model in found.items()
    ]
    first, *others = zip(models, treebanks, strict=True)
    for name, own in others:
        if own.checksum != first[1].checksum:
            files = options_of(first[1])
            raise ValueError(
                f"{first[0]} was trained on {files}, but {name} on {other_files(own, files)}: train both with the same "
                "files (and the same --held-out)"
            )
    splits = next((own for own in treebanks if own.test), first[1]).evaluated()
    if not splits:
        raise ValueError("the runs have neither dev nor test files, which the ensemble would parse")
    ensemble = Ensemble.of(models, options.by, options.trees, options.weights)
    lang = models[first[0]].config.lang
    folder = options.out or options.runs[0].parent / f"{lang}-ensemble-{ensemble.ways}-{ensemble.trees}"
    ways = zip(ensemble.by, ensemble.weights, strict=True)
    check_folder(folder, dict(zip(found, map(list, ways), strict=True)))
    scores = {split: evaluated(ensemble, gold, folder / f"{split}.conllu")[1] for split, gold in splits.items()}
    text = f"# {ensemble}\n\n{gains(scores)}\n"
    write_whole(folder / "report.md", text)
    return text, folder


def check_folder(folder: Path, members: Mapping[str, Sequence[Any]]) -> None:
    """Write which runs, how and by what weight, to a new folder; in an old one they must be the same."""
    from structdep_parser.files import write_whole

    path, text = folder / "ensemble.json", json.dumps(members, indent=1) + "\n"
    if path.is_file() and path.read_text(encoding="utf-8") != text:
        raise ValueError(f"{folder} holds what other runs, ways or weights gave: write --out to use another folder")
    write_whole(path, text)

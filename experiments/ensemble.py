"""Parse with several trained parsers at once: by their mean scores, by the sum of their marginals, or by their votes.

python experiments/ensemble.py runs/got-mst-nll-1 runs/got-mst2-mean-field-nll-1 runs/got-1ec-hinge-1 \\
    --by marginals marginals votes --weights 1 1 0.5
"""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from experiments.chart_parsers import CHARTS
from experiments.compiled import keep_programs
from experiments.evaluation import Evaluation, evaluate
from experiments.files import write_whole
from experiments.members import Ensemble, Member
from experiments.memory import keep_freed_memory
from experiments.messages import failed, plain
from experiments.run_treebank import treebank_of_run
from experiments.runs import member_folders
from experiments.sentences import Sentence
from experiments.shapes import plan
from experiments.tables import markdown
from experiments.trained_model import TrainedModel
from experiments.writing import write_predictions

WAYS = ("marginals", "votes", "scores")
WORDS_PER_BATCH = 2000
EPILOG = """\
by marginals: the tree of --system with the most heads to be expected, in the mean over the parsers (those without
probabilities give votes); by votes: with the most heads in their trees, of equals those of the first parser; by
scores: the best tree by the mean of all score tables, of parsers of one kind (seeds, say). Relations are those of the
highest mean probability. What was trained by hinge has probabilities, too, but they mean little: votes may do better.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; what the user can mend is told without a traceback."""
    options = parser().parse_args(arguments)
    keep_freed_memory()
    keep_programs()
    console = plain()
    try:
        text, folder = run(options)
    except (OSError, ValueError) as error:
        return failed("ensemble.py", error)
    except KeyboardInterrupt:
        return 130
    console.print(text)
    console.print(f"all in {folder}")
    return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="ensemble.py",
        description="Parse dev and test with several finished runs at once, and report what is gained.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "runs",
        nargs="+",
        type=Path,
        metavar="RUN",
        help="folders of finished runs on one treebank; of a run of --members, all of them",
    )
    made.add_argument("--system", choices=CHARTS, help="whose trees to seek; default: mst, by scores the parsers' own")
    made.add_argument(
        "--by", choices=WAYS, nargs="+", default=["marginals"], help="one way, or one for each run; default: marginals"
    )
    made.add_argument(
        "--weights", type=float, nargs="+", metavar="W", help="how much each run counts, such as 1 1 0.5; default: 1"
    )
    made.add_argument("--treebanks", type=Path, metavar="DIR", help="where treebanks are, as for ud.py")
    made.add_argument("--version", help="of UD, such as 2.0, to choose between several")
    made.add_argument(
        "--out", type=Path, metavar="DIR", help="for dev.conllu, test.conllu, report.md; default: beside the first run"
    )
    return made


def run(options: argparse.Namespace) -> tuple[str, Path]:
    """Parse, write and report: the report, and the folder that it is in."""
    runs = [folder for run in options.runs for folder in member_folders(run) or [run]]
    names = [run.name for run in runs]
    folders = {str(run) if names.count(run.name) > 1 else run.name: run for run in runs}
    models = {name: TrainedModel.load(folder) for name, folder in folders.items()}
    if len(models) < max(2, len(runs)):
        raise ValueError("an ensemble takes two runs or more, each of them once")
    found = [
        treebank_of_run(model.config, folders[name], options.treebanks, options.version)
        for name, model in models.items()
    ]
    if other := next(
        (name for name, own in zip(models, found, strict=True) if own.checksum != found[0].checksum), None
    ):
        raise ValueError(f"{other} was trained on another treebank, or version of it, than {next(iter(models))}")
    splits = found[0].evaluated()
    ensemble = together(models, splits.values(), options.by, options.system, options.weights)
    first = options.runs[0]
    lang = next(iter(models.values())).config.lang
    folder = options.out or first.parent / f"{lang}-ensemble-{ensemble.ways}-{ensemble.system}"
    settle(
        folder, {str(run): [way, weight] for run, way, weight in zip(runs, ensemble.by, ensemble.weights, strict=True)}
    )
    scores = {split: evaluated(ensemble, gold, folder / f"{split}.conllu")[1] for split, gold in splits.items()}
    text = f"# {ensemble}\n\n{gains(scores)}\n"
    write_whole(folder / "report.md", text)
    return text, folder


def settle(folder: Path, members: Mapping[str, Sequence[Any]]) -> None:
    """Write which runs, how and by what weight, to a new folder; in an old one they must be the same."""
    path, text = folder / "ensemble.json", json.dumps(members, indent=1) + "\n"
    if path.is_file() and path.read_text(encoding="utf-8") != text:
        raise ValueError(f"{folder} holds what other runs, ways or weights gave: write --out to use another folder")
    write_whole(path, text)


def together(
    models: Mapping[str, TrainedModel],
    splits: Iterable[Sequence[Sentence]],
    by: Sequence[str],
    system: str | None,
    weights: Sequence[float] | None = None,
) -> Ensemble:
    """The ensemble of these models, for these sentences."""
    most = max(model.config.max_shapes for model in models.values())
    shapes = plan([sentence for split in splits for sentence in split], WORDS_PER_BATCH, most)
    return Ensemble([Member(name, model, shapes) for name, model in models.items()], by, system, weights)


Scores = Mapping[str, tuple[float, float]]
"""UAS and LAS of each parser, that of all together last."""


def evaluated(ensemble: Ensemble, sentences: Sequence[Sentence], path: Path) -> tuple[Evaluation, Scores]:
    """How good all together are, whose trees are written, and the scores of each beside theirs."""
    predictions, alone = ensemble.beside_members(sentences)
    write_predictions(path, sentences, predictions.heads, predictions.deprels)
    found = {name: evaluate(sentences, made) for name, made in (*alone.items(), (str(ensemble), predictions))}
    return found[str(ensemble)], {name: (100 * own.all.uas, 100 * own.all.las) for name, own in found.items()}


def gains(splits: Mapping[str, Scores]) -> str:
    """A table: a row for each parser, for all together, and for what is gained.

    Example:
        >>> print(gains({"dev": {"a": (80.0, 70.0), "b": (82.0, 70.0), "both": (83.0, 73.5)}}))
        | parser | dev UAS | LAS |
        | --- | --: | --: |
        | a | 80.00 | 70.00 |
        | b | 82.00 | 70.00 |
        | both | 83.00 | 73.50 |
        | more than the best | +1.00 | +3.50 |
        | more than the mean | +2.00 | +3.50 |
    """
    header = ["parser", *(column for split in splits for column in (f"{split} UAS", "LAS"))]
    names = list(next(iter(splits.values())))
    table = {name: [score for scores in splits.values() for score in scores[name]] for name in names}
    (*alone, (_, all_of_them)) = table.items()
    columns = list(zip(*(scores for _, scores in alone), strict=True))
    gained = {
        f"more than the {of.__name__.replace('max', 'best')}": [of(column) for column in columns] for of in (max, mean)
    }
    body = [[name, *(f"{score:.2f}" for score in scores)] for name, scores in table.items()]
    body += [
        [name, *(f"{score - other:+.2f}" for score, other in zip(all_of_them, others, strict=True))]
        for name, others in gained.items()
    ]
    return markdown(header, body, numbers=True)


if __name__ == "__main__":
    sys.exit(main())

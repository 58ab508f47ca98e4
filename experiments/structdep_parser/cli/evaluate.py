"""`structdep evaluate`: trees of a file scored against gold trees, by the rules of CoNLL 2018 and by kind of arc."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from structdep_parser.cli.options import Arguments, argument_parser, command
from structdep_parser.tables import markdown, shown

if TYPE_CHECKING:
    from structdep_parser.data.conllu import Sentence
    from structdep_parser.evaluation.shared_task import Score

EPILOG = """\
the files are aligned by their characters, so that tokens, words and sentences may differ. Relations are compared
without subtypes. CLAS, MLAS and BLEX count only content words. The tables of --by are of the gold words, of which those
that are aligned with no word are wrong; they compare relations with subtypes, and count punctuation, except in the row
without punctuation.
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argument_parser(
        "structdep evaluate",
        "Score the trees of a CoNLL-U file against gold trees, by the rules of the CoNLL 2018 shared task.",
        EPILOG,
    )
    made.add_argument("system", type=Path, metavar="SYSTEM.conllu")
    made.add_argument("gold", type=Path, metavar="GOLD.conllu")
    made.add_argument(
        "--by",
        choices=("kind", "relation"),
        help="also print scores by kind of gold arc, or by gold relation (with --json: words, uas and las of each)",
    )
    made.add_argument("--json", action="store_true", help="print the scores as JSON")
    return made


@command("structdep evaluate")
def main(arguments: Arguments = None) -> int:
    options = parser().parse_args(arguments)

    from structdep_parser.console import plain
    from structdep_parser.data.conllu import read
    from structdep_parser.evaluation.shared_task import shared_task_scores

    gold, system = read(options.gold), read(options.system)
    scores = shared_task_scores(gold, system)
    if options.json:
        found: dict[str, object] = {name: _values(score) for name, score in scores.items()}
        if options.by:
            own = groups(options, gold, system)
            found[options.by] = {
                name: {"words": words, "uas": uas if words else None, "las": las if words else None}
                for name, words, uas, las in own
            }
        print(json.dumps(found, indent=1))
        return 0
    header = ("metric", "precision", "recall", "F1", "of aligned words")
    rows = [
        (name, *(shown(float("nan") if v is None else v) for v in _values(score).values()))
        for name, score in scores.items()
    ]
    plain().print(markdown(header, rows, numbers=True))
    if options.by:
        shares = [(name, str(words), shown(uas), shown(las)) for name, words, uas, las in groups(options, gold, system)]
        plain().print("\n" + markdown(("gold arcs", "words", "UAS", "LAS"), shares, numbers=True))
    return 0


def _values(score: "Score") -> dict[str, float | None]:
    return {name: getattr(score, name) for name in ("precision", "recall", "f1", "aligned_accuracy")}


def groups(
    options: argparse.Namespace, gold: "Sequence[Sentence]", system: "Sequence[Sentence]"
) -> list[tuple[str, int, float, float]]:
    """Groups of gold words: name, number of words, UAS and LAS in per cent."""
    from structdep_parser.evaluation.on_gold_words import on_gold_words
    from structdep_parser.evaluation.scores import by_relation, evaluate

    predictions = on_gold_words(gold, system)
    found = evaluate(gold, predictions).groups if options.by == "kind" else by_relation(gold, predictions)
    return [(name, own.total, 100 * own.uas, 100 * own.las) for name, own in found.items()]

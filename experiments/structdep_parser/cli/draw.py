"""`structdep draw`: trees of a CoNLL-U file in the terminal, or as SVG; compared with gold trees, or by themselves."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from structdep_parser.cli.options import Arguments, argument_parser, command

if TYPE_CHECKING:
    from rich.console import Console

    from structdep_parser.data.conllu import Sentence
    from structdep_parser.drawing.arcs import Arc

DIRECTIONS = {"auto": None, "ltr": False, "rtl": True}
"""Whether words are drawn from right to left."""
EPILOG = """\
if MISC has ArcProb (--confidence of structdep train or parse), less probable arcs are fainter. With --gold, wrong arcs
are red. In an SVG, their gold arcs are blue and dashed, below the words; the terminal shows the gold head and relation.
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argument_parser("structdep draw", "Draw dependency trees.", EPILOG)
    made.add_argument("trees", type=Path, metavar="TREES.conllu")
    made.add_argument("--gold", type=Path, metavar="GOLD.conllu", help="the same sentences with gold trees")
    made.add_argument(
        "--sentences", nargs="+", metavar="N", help="numbers from 1 (3 17-20) or values of sent_id; default: all"
    )
    made.add_argument(
        "--direction",
        choices=DIRECTIONS,
        default="auto",
        help="of the words: auto is right to left (rtl) for sentences of which most letters are; default: %(default)s",
    )
    made.add_argument("--svg", type=Path, metavar="DIR", help="write one file for each sentence instead of printing")
    return made


def chosen(sentences: "Sequence[Sentence]", names: Sequence[str] | None) -> list[int]:
    """Places of sentences by number (3), numbers (17-20) or sent_id.

    Raises:
        ValueError: a name of no sentence.
    """
    if names is None:
        return list(range(len(sentences)))
    ids = {sentence.sent_id: place for place, sentence in enumerate(sentences)}
    found = [(name, _places(name, ids, len(sentences))) for name in names]
    if wrong := next((name for name, places in found if not places), None):
        source, many = (sentences[0].source, len(sentences)) if sentences else ("the file", 0)
        raise ValueError(f"--sentences {wrong}: {source} has neither this sent_id nor this sentence; it has {many}")
    return [place for _, places in found for place in places]


def _places(name: str, ids: dict[str, int], sentences: int) -> range:
    """The places that a name means; empty if there is no such sentence."""
    if name in ids:
        return range(ids[name], ids[name] + 1)
    numbers = re.fullmatch(r"(\d+)(?:-(\d+))?", name)
    first, last = (int(numbers[1]), int(numbers[2] or numbers[1])) if numbers else (0, 0)
    return range(first - 1, last) if 1 <= first <= last <= sentences else range(0)


@command("structdep draw")
def main(arguments: Arguments = None) -> int:
    options = parser().parse_args(arguments)

    from structdep_parser.console import plain
    from structdep_parser.data.conllu import read
    from structdep_parser.drawing.arcs import arcs_of, compared
    from structdep_parser.drawing.canvas import with_dark
    from structdep_parser.drawing.svg import svg
    from structdep_parser.evaluation.comparison import check_words
    from structdep_parser.files import write_whole

    console = plain()
    sentences = read(options.trees)
    arcs = list(map(arcs_of, sentences))
    if options.gold:
        gold = read(options.gold)
        check_words(options.trees, sentences, options.gold, gold)
        arcs = [compared(*pair) for pair in zip(arcs, map(arcs_of, gold), strict=True)]
    places, right_to_left = chosen(sentences, options.sentences), DIRECTIONS[options.direction]
    for place in places:
        title = f"{place + 1} {sentences[place].sent_id}".rstrip()
        if options.svg:
            drawing = svg(sentences[place].columns, arcs[place], title, right_to_left)
            write_whole(options.svg / f"{options.trees.stem}-{place + 1}.svg", with_dark(drawing))
        else:
            _print(console, title, sentences[place], arcs[place], right_to_left)
    if options.svg:
        console.print(f"{len(places)} drawing{'s' * (len(places) != 1)} in {options.svg}")
    return 0


def _print(
    console: "Console", title: str, sentence: "Sentence", arcs: "Sequence[Arc]", right_to_left: bool | None
) -> None:
    """The sentence's number, its drawing, and what colours mean, where there are some."""
    from structdep_parser.drawing.arcs import legend
    from structdep_parser.drawing.terminal import LEGEND, STYLES, text

    console.print(title, style="bold")
    console.print(text(sentence.forms, arcs, right_to_left))
    for kind in legend(arcs):
        console.print(LEGEND[kind], style=STYLES[kind])
    console.print()

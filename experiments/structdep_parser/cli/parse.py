"""`structdep parse`: parse CoNLL-U, or tokenized text, with trained parsers."""

import argparse
import gc
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO

from structdep_parser.choices import DECODERS
from structdep_parser.cli.options import Arguments, argument_parser, command

EPILOG = """\
MODEL is the folder of a finished run, or a copy of its folder model/. Several models, or a run with several --members,
parse together: they find the tree with the highest sum of arc probabilities, averaged over the models, and have neither
--confidence nor --k-best. HEAD and DEPREL are replaced; DEPREL is root, or a subtype of it, exactly where HEAD is 0.
--tags replaces UPOS, XPOS, FEATS and LEMMA; --confidence adds to MISC. Comments, multiword tokens, empty nodes and all
other columns are written back byte for byte, but a byte order mark is dropped, comments between words move up to the
other comments, and one empty line ends each sentence. A wrong sentence is reported and left out; the exit status is
then 1.
"""
DECODING = ("k_best", "constraints", "single_root", "decode", "beam", "tags", "treebank")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argument_parser("structdep parse", "Parse sentences of CoNLL-U; the output is CoNLL-U.", EPILOG)
    made.add_argument(
        "model",
        type=Path,
        nargs="+",
        metavar="MODEL",
        help="the folder of a model or of a run; several models parse together",
    )
    made.add_argument("-i", "--input", type=Path, metavar="FILE", help="default: standard input")
    made.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")
    made.add_argument("--vectors", type=Path, metavar="FILE", help="word vectors, if their file has moved")
    made.add_argument("--features-file", type=Path, metavar="FILE", help="features of the sentences to parse")
    made.add_argument(
        "--treebank",
        metavar="NAME",
        help="the treebank whose vector to use, of a parser trained on several; default: the first one of its --train",
    )
    made.add_argument(
        "--text", action="store_true", help="the input has one sentence in each line, words separated by U+0020"
    )
    made.add_argument(
        "--strict", action="store_true", help="stop at the first wrong sentence; default: report it and leave it out"
    )
    made.add_argument(
        "--constraints",
        action="store_true",
        help="keep the heads of the input and the relations of these heads; predict heads and relations that are _",
    )
    made.add_argument(
        "--tags",
        action="store_true",
        help="also write predicted UPOS, XPOS, FEATS and LEMMA in place of those of the input",
    )
    made.add_argument(
        "--confidence", action="store_true", help="write probabilities (ArcProb, DeprelProb, TreeProb) to MISC"
    )
    made.add_argument(
        "--k-best",
        type=int,
        default=1,
        metavar="K",
        help="write the K best trees of each sentence one after another; structdep evaluate refuses such a file",
    )
    made.add_argument(
        "--single-root",
        action=argparse.BooleanOptionalAction,
        help="exactly one word depends on the root; default: as in training, where the default is yes",
    )
    made.add_argument(
        "--decode", choices=DECODERS, default="argmax", help="the best tree, or the tree of minimum Bayes risk"
    )
    made.add_argument(
        "--beam", type=int, default=1, metavar="WIDTH", help="beam width of a transition parser; default: 1"
    )
    made.add_argument(
        "--memory",
        type=float,
        default=4.0,
        metavar="GIB",
        help="a sentence whose chart needs more is parsed by a cheaper exact system; default: %(default)s",
    )
    return made


@command("structdep parse")
def main(arguments: Arguments = None, source: Iterable[bytes] | None = None, sink: BinaryIO | None = None) -> int:
    options = parser().parse_args(arguments)
    if options.text and options.constraints:
        raise ValueError("--constraints with --text: text has no heads; leave one of them out")
    if options.output and options.output.exists() and is_read_from(options.output, options.input):
        raise ValueError(f"--output is the file that is read, {options.output}: write another --output")
    try:
        if options.input is None:
            return run(options, source or sys.stdin.buffer, sink or sys.stdout.buffer)
        with open(options.input, "rb") as lines:
            return run(options, lines, sink or sys.stdout.buffer)
    except BrokenPipeError:
        # Who reads has had enough; nothing more is to be flushed at exit.
        sys.stdout = None
        return 1


def is_read_from(output: Path, given: Path | None) -> bool:
    """Whether a file that exists is the one with the input: of this name, or standard input."""
    try:
        read = os.stat(given) if given else os.fstat(sys.stdin.fileno())
    except (OSError, ValueError):  # no such file; or standard input that is no file
        return False
    return os.path.samestat(read, output.stat()) and stat.S_ISREG(read.st_mode)


@contextmanager
def uncollected() -> Iterator[None]:
    """Without garbage collection: while modules are loaded, it takes a tenth of a second and frees nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def run(options: argparse.Namespace, source: Iterable[bytes], sink: BinaryIO) -> int:
    """Parse what comes from `source`, group by group, so that memory does not grow with it."""
    with uncollected():
        from structdep_parser.api import load
        from structdep_parser.console import plain
        from structdep_parser.data.streams import Refusal, groups, read, without
        from structdep_parser.nn.compiled import prepare_process

    prepare_process()
    errors = plain(stderr=True)
    refusal = Refusal("structdep parse", options.strict)
    trained = load(
        *options.model,
        memory=options.memory,
        warn=lambda text: errors.print(f"structdep parse: {text}"),
        vectors=options.vectors,
        features_file=options.features_file,
    )
    decoding = {name: getattr(options, name) for name in DECODING} | {"probabilities": options.confidence}
    trained.check(**decoding)
    name = "standard input" if options.input is None else str(options.input)
    is_empty = True
    with open(options.output, "wb") if options.output else nullcontext(sink) as file:
        given = read(source, options.text, options.constraints, refusal, name)
        for group in groups(without(trained.lacking, given, refusal), refusal):
            is_empty = False
            for parsed in trained.stream(group, **decoding):
                if parsed.trees:
                    file.write(parsed.to_conllu().encode())
                else:
                    refusal(ValueError(parsed.problem))
            file.flush()
    if is_empty and not refusal.status:
        errors.print(f"structdep parse: no sentences in {name}")
    return refusal.status

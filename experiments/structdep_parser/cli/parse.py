"""Parse CoNLL-U, or tokenized text, with a trained model.

python experiments/parse.py runs/got-mh4-hybrid-hinge-1 < in.conllu > out.conllu
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from structdep_parser.console import failed, plain
from structdep_parser.data.sentences import Sentence
from structdep_parser.data.streams import Refusal, groups, read
from structdep_parser.data.writing import with_tree
from structdep_parser.nn.compiled import cache_programs
from structdep_parser.nn.malloc import tune_malloc
from structdep_parser.parsers.decoding import DECODERS, Decoding
from structdep_parser.parsers.joint_parser import JointParser, models_in
from structdep_parser.parsers.prediction import Tree
from structdep_parser.parsers.trained_parser import GIB, TrainedParser, Warn

EPILOG = """""\
MODEL is the folder of a finished run, or a copy of its model/, which is all that another machine needs. Several, or a
run of several --members, parse together: the tree of each sentence has the most heads to be expected by all. Comments,
multiword tokens, empty nodes and all other columns stay as they are, to the byte; HEAD and DEPREL are replaced. DEPREL
is root where HEAD is 0, and nowhere else. A byte order mark is dropped, comments between words move up to the others,
and one empty line ends each sentence. Sentences that are wrong are told and left out; the exit status is 1 then.
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="structdep parse",
        description="Parse sentences from standard input to standard output, both CoNLL-U.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "model",
        type=Path,
        nargs="+",
        metavar="MODEL",
        help="the folder of a model, or of a run; several parse together",
    )
    made.add_argument("--text", action="store_true", help="the input is a sentence a line, words separated by U+0020")
    made.add_argument(
        "--strict", action="store_true", help="end at the first sentence that is wrong; else it is left out, and told"
    )
    made.add_argument(
        "--constraints",
        action="store_true",
        help="keep the heads of the input, and relations given with them, and find those that are _",
    )
    made.add_argument("--confidence", action="store_true", help="write probabilities (ArcProb, TreeProb) to MISC")
    made.add_argument("--k-best", type=int, default=1, metavar="K", help="the K best trees of each sentence")
    made.add_argument(
        "--single-root",
        action=argparse.BooleanOptionalAction,
        help="trees in which one word depends on the root; default: as it was trained, usually yes",
    )
    made.add_argument("--decode", choices=DECODERS, default="argmax", help="the best tree, or minimum Bayes risk")
    made.add_argument("--beam", type=int, default=1, metavar="WIDTH", help="runs that a transition parser keeps")
    made.add_argument(
        "--memory",
        type=float,
        default=4.0,
        metavar="GIB",
        help="sentences that would take more are parsed by a cheaper exact system; default: %(default)s",
    )
    return made


def main(arguments: Sequence[str] | None = None, source: BinaryIO | None = None, sink: BinaryIO | None = None) -> int:
    """Run the command line; what the user can mend is told without a traceback."""
    options = parser().parse_args(arguments)
    tune_malloc()
    cache_programs()
    source, sink = source or sys.stdin.buffer, sink or sys.stdout.buffer
    errors = plain(stderr=True)
    decoding = Decoding(options.decode, options.confidence, options.beam, options.k_best, options.constraints)
    refusal = Refusal("structdep parse", options.strict)
    try:
        if options.text and options.constraints:
            raise ValueError("--constraints with --text: text has no heads; leave one of them out")
        trained_parser = parser_for(options, decoding, lambda text: errors.print(f"structdep parse: {text}"))
        for group in groups(read(source, options.text, options.constraints, refusal), refusal):
            for sentence, trees in zip(group, trained_parser(group), strict=True):
                if trees:
                    sink.write(written(sentence, trees, decoding).encode())
                else:
                    refusal(ValueError(f"{sentence.where}: no tree has the heads it comes with{_roots(sentence)}"))
            sink.flush()
    except BrokenPipeError:
        # Who reads has had enough; nothing more is to be flushed at exit.
        sys.stdout = None
        return 1
    except (OSError, ValueError) as error:
        return failed("structdep parse", error)
    except KeyboardInterrupt:
        return 130
    return refusal.status


def parser_for(options: argparse.Namespace, decoding: Decoding, warn: Warn) -> TrainedParser | JointParser:
    """What parses: one model, or several at once."""
    if not options.memory >= 0:
        raise ValueError(f"--memory {options.memory}: expected a number of GiB, 0 or more")
    models = models_in(options.model)
    if options.single_root is not None:
        roots = {"single_root": options.single_root}
        models = {name: replace(model, config=replace(model.config, **roots)) for name, model in models.items()}
    if len(models) > 1:
        return JointParser(models, decoding, options.memory * GIB, warn)
    (model,) = models.values()
    return TrainedParser(model, decoding, options.memory * GIB, warn)


def _roots(sentence: Sentence) -> str:
    """Why there may be no tree."""
    roots = int((sentence.heads == 0).sum())
    return f": HEAD is 0 in {roots} words, and in one of a tree with a single root" if roots > 1 else ""


def written(sentence: Sentence, trees: Sequence[Tree], decoding: Decoding) -> str:
    """The sentence as CoNLL-U, once for each tree."""
    return "".join(
        with_tree(
            sentence,
            tree.heads,
            tree.deprels,
            None if tree.confidence is None else tree.confidence.misc(),
            [f"# tree = {rank} of {len(trees)}"] * (decoding.k_best > 1),
        )
        for rank, tree in enumerate(trees, start=1)
    )

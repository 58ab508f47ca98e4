"""Parse CoNLL-U, or tokenized text, with a trained model.

python experiments/parse.py runs/got-mh4-hybrid-hinge-1 < in.conllu > out.conllu
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from experiments.annotator import GIB, Annotator, Warn
from experiments.compiled import keep_programs
from experiments.decoding import DECODERS, Decoding
from experiments.joint_annotator import JointAnnotator, models_in
from experiments.memory import keep_freed_memory
from experiments.messages import failed, plain
from experiments.prediction import Tree
from experiments.sentences import Sentence, from_words, stream, text_lines, with_tree
from experiments.shapes import ladder

SOURCE = "standard input"
WORDS_AT_ONCE = 4000
"""Words that are read before they are parsed: enough to fill batches."""
LONGEST = ladder()[-1].words
EPILOG = """""\
MODEL is the folder of a finished run, or a copy of its model/, which is all that another machine needs. Several, or a
run of several --members, parse together: the tree of each sentence has the most heads to be expected by all. Comments,
multiword tokens, empty nodes and all other columns stay as they are; HEAD and DEPREL are replaced. The output is UTF-8,
each line ends in a line feed, a byte order mark is dropped, and comments between words move up to the others.
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="parse.py",
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
    made.add_argument("--text", action="store_true", help="the input is a sentence a line, words separated by spaces")
    made.add_argument(
        "--constraints",
        action="store_true",
        help="keep the heads of the input, and relations given with them, and find those that are _",
    )
    made.add_argument("--confidence", action="store_true", help="write probabilities (ArcProb, TreeProb) to MISC")
    made.add_argument("--k-best", type=int, default=1, metavar="K", help="the K best trees of each sentence")
    made.add_argument("--single-root", action="store_true", help="trees in which one word depends on the root")
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
    keep_freed_memory()
    keep_programs()
    source, sink = source or sys.stdin.buffer, sink or sys.stdout.buffer
    errors = plain(stderr=True)
    decoding = Decoding(
        options.decode, options.confidence, options.beam, options.k_best, options.constraints, options.single_root
    )
    try:
        if options.text and options.constraints:
            raise ValueError("--constraints with --text: text has no heads; leave one of them out")
        annotator = annotator_of(options, decoding, lambda text: errors.print(f"parse.py: {text}"))
        for group in groups(read(source, options)):
            first = annotator.done + 1
            for number, (sentence, trees) in enumerate(zip(group, annotator(group), strict=True), first):
                sink.write(written(number, sentence, trees, decoding).encode())
            sink.flush()
    except BrokenPipeError:
        # Who reads has had enough; nothing more is to be flushed at exit.
        sys.stdout = None
        return 1
    except (OSError, ValueError) as error:
        return failed("parse.py", error)
    except KeyboardInterrupt:
        return 130
    return 0


def annotator_of(options: argparse.Namespace, decoding: Decoding, warn: Warn) -> Annotator | JointAnnotator:
    """What parses: one model, or several at once."""
    if not options.memory >= 0:
        raise ValueError(f"--memory {options.memory}: expected a number of GiB, 0 or more")
    models = models_in(options.model)
    if len(models) > 1:
        return JointAnnotator(models, decoding, options.memory * GIB, warn)
    (model,) = models.values()
    return Annotator(model, decoding, options.memory * GIB, warn)


def read(source: BinaryIO, options: argparse.Namespace) -> Iterator[Sentence]:
    """The sentences of the input."""
    if options.text:
        return (from_words(words) for line in text_lines(source, SOURCE) if (words := line.split()))
    return stream(source, SOURCE, "partial" if options.constraints else "none")


def groups(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """Runs of sentences with about `WORDS_AT_ONCE` words each; what was read before an error comes before the error."""
    group: list[Sentence] = []
    try:
        for number, sentence in enumerate(sentences, start=1):
            if len(sentence) > LONGEST:
                raise ValueError(
                    f"sentence {number} ({sentence.sent_id or 'no sent_id'}) has {len(sentence)} words, and "
                    f"{LONGEST} are the most that can be parsed: split it (with --text each line is a sentence)"
                )
            group.append(sentence)
            if sum(map(len, group)) >= WORDS_AT_ONCE:
                yield group
                group = []
    except ValueError:
        yield from [group] * bool(group)
        raise
    yield from [group] * bool(group)


def written(number: int, sentence: Sentence, trees: Sequence[Tree], decoding: Decoding) -> str:
    """The sentence as CoNLL-U, once for each tree. Raises ValueError where there is none."""
    if not trees:
        one = " with a single root" if decoding.single_root else ""
        raise ValueError(
            f"sentence {number} ({sentence.sent_id or 'no sent_id'}): no tree{one} has the heads it comes with"
        )
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


if __name__ == "__main__":
    sys.exit(main())

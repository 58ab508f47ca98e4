"""The command line of `structdep train`."""

import argparse
from pathlib import Path

from structdep_parser.choices import (
    DECODERS,
    LIKELIHOOD,
    LOSSES,
    ORACLES,
    PARSERS,
    POSITIONS,
    SCHEMES,
    TAGS,
    TREEBANKS_VARIABLE,
)
from structdep_parser.cli.files import treebank as treebank
from structdep_parser.cli.options import (
    add_renamed,
    add_treebank_options,
    argument_parser,
)
from structdep_parser.config import EPOCHS, SIZE, Config
from structdep_parser.data.held_out import TENTH

DEFAULTS = Config()
EPILOG = f"""\
treebanks are searched in --treebanks DIR, else in ${TREEBANKS_VARIABLE}, else in data/, with all subfolders;
`--lang demo` generates one. An interrupted run resumes when the same command is given again.

in RUNS/NAME/: config.json, log.jsonl (a line an evaluation), checkpoints/ (the last and the best), dev.conllu and
test.conllu (predicted trees), report.md and report.json; also calibration.svg with --confidence, dev-mbr.conllu with
--decode mbr, dev-beam8.conllu with --beam 8. With --members, trees and reports are those of all members together, and
the run of each member is in seed-1/, seed-2/ and so on.
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argument_parser(
        "structdep train",
        "Train a dependency parser on a UD treebank, and evaluate it on its dev and test sets.",
        EPILOG,
    )
    model = made.add_argument_group("model")
    model.add_argument("--parser", choices=PARSERS, default=DEFAULTS.parser, help="default: %(default)s")
    model.add_argument(
        "--loss", choices=LOSSES, default="", help=f"default: nll for {' and '.join(LIKELIHOOD)}, hinge for others"
    )
    model.add_argument(
        "--positions",
        type=int,
        choices=POSITIONS,
        help="number of positions whose vectors a transition parser reads; default: 4 (s2, s1, s0, b0)",
    )
    model.add_argument(
        "--oracle",
        choices=ORACLES,
        help="of a greedy-* or swap-* parser; default: dynamic, if the parser has a dynamic oracle",
    )
    model.add_argument(
        "--pseudo-projective",
        choices=SCHEMES,
        help="train a projective parser on lifted arcs, and lower arcs after parsing",
    )
    model.add_argument(
        "--single-root",
        action=argparse.BooleanOptionalAction,
        default=DEFAULTS.single_root,
        help="exactly one word depends on the root, as in UD; default: yes",
    )
    model.add_argument(
        "--tags",
        choices=TAGS,
        default=DEFAULTS.tags,
        help="also predict tags, features and lemmas; stack: the parser reads their vectors; default: %(default)s",
    )
    model.add_argument(
        "--init-from",
        default=DEFAULTS.init_from,
        metavar="RUN",
        help="start from the weights of this finished run, also of another parser, where the shapes are equal",
    )
    model.add_argument("--vectors", default="", metavar="FILE", help="word vectors as inputs: .vec, .txt or .npz")
    model.add_argument(
        "--features-file", default="", metavar="FILE", help="features of each sentence as inputs: safetensors or HDF5"
    )
    model.add_argument(
        "--encoder-layer", default="", metavar="MODULE:CLASS", help="a flax.nnx module that replaces the BiLSTM"
    )
    model.add_argument("--seed", type=int, default=DEFAULTS.seed, help="same seed, same result; default: %(default)s")
    data = made.add_argument_group("treebank")
    data.add_argument(
        "--lang",
        nargs="+",
        default=[],
        metavar="CODE",
        help="the code of a language or treebank (got, got_proiel), or demo; several are trained on together, and each "
        "has a vector, which is an input of its words; with --train, one name of the run",
    )
    data.add_argument(
        "--train",
        nargs="+",
        default=[],
        metavar="FILE",
        help="files of your own to train on; NAME=FILE, here and below, gives each treebank of such a name a vector",
    )
    data.add_argument("--dev", nargs="+", default=[], metavar="FILE", help="default: every tenth sentence of --train")
    data.add_argument(
        "--held-out",
        default=TENTH,
        metavar="I/K",
        help="without --dev: the I-th of every K training sentences is kept for dev (default: %(default)s); none: all "
        "are trained on, and the last epoch is taken",
    )
    data.add_argument(
        "--folds",
        type=int,
        metavar="K",
        help="without --dev: cross-validation by K parsers, each of which keeps another K-th of the sentences for dev",
    )
    data.add_argument("--test", nargs="+", default=[], metavar="FILE", help="files to evaluate on after training")
    add_treebank_options(data)
    data.add_argument("--download", action="store_true", help="fetch the treebank of --ud-version from its repository")
    data.add_argument("--repository", metavar="UD_NAME", help="the repository, if --lang does not name a known one")
    evaluation = made.add_argument_group("evaluation", "also of a run that is already trained")
    evaluation.add_argument(
        "--decode", choices=DECODERS, default="argmax", help="the best tree, or the tree of minimum Bayes risk"
    )
    evaluation.add_argument(
        "--confidence",
        action="store_true",
        help="write probabilities to MISC, and report how often arcs of each probability are right",
    )
    evaluation.add_argument(
        "--beam", type=int, default=1, metavar="WIDTH", help="beam width of a transition parser; default: 1, greedy"
    )
    run = made.add_argument_group("run")
    run.add_argument(
        "--epochs", type=int, help=f"default: {EPOCHS} for {SIZE:,} words, more for fewer words, fewer for more"
    )
    run.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=NUMBER",
        help="other values of config.json, such as graft=0.3; the last value of a name counts",
    )
    run.add_argument(
        "--members",
        type=int,
        default=DEFAULTS.members,
        metavar="M",
        help="train M parsers with different seeds, and parse with all of them together; default: %(default)s",
    )
    run.add_argument(
        "--at-once", type=int, default=1, metavar="N", help="number of members trained at the same time; default: 1"
    )
    run.add_argument("--minutes", type=float, help="stop at the end of the epoch in which this time is over")
    run.add_argument(
        "--logger",
        metavar="MODULE[:CLASS]",
        help="also tell the figures of each epoch to trackio, wandb or a like module, or to a class of your own",
    )
    run.add_argument("--name", help="the folder of the run in RUNS; default: LANG-PARSER-CHOICES-LOSS-SEED")
    run.add_argument(
        "--devices",
        type=count,
        default=1,
        metavar="N",
        help="number of devices that share each batch, or all; default: 1",
    )
    run.add_argument("--runs", type=Path, default=Path("runs"), help="the folder of runs; default: %(default)s")
    hosts = made.add_argument_group(
        "several processes",
        "share each batch; --devices counts those of a process; the first process writes and reports",
    )
    hosts.add_argument(
        "--distributed", action="store_true", help="find the other processes by Slurm, Open MPI or a TPU pod"
    )
    hosts.add_argument("--coordinator", metavar="HOST:PORT", help="or by the address of the first process")
    hosts.add_argument("--processes", type=int, metavar="N", help="number of processes")
    hosts.add_argument("--process", type=int, metavar="I", help="number of this process, from 0")
    add_renamed(made, start="--init-from", features="--positions")
    return made


def count(number: str) -> int | None:
    """A number, or None for all."""
    return None if number == "all" else int(number)

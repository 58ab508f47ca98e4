"""The demonstration: a projective parser and MH_4 on a treebank with crossing arcs, in a few minutes.

python experiments/demo.py
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from structdep_parser.cli.options import Arguments, command
from structdep_parser.config import Config
from structdep_parser.console import plain, print_table
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.nn.compiled import prepare_process
from structdep_parser.training.experiment import Experiment

PARSERS = ("eisner", "mh4-hybrid")
COLUMNS = {
    "UAS": ("all", "uas"),
    "LAS": ("all", "las"),
    "crossing arcs": ("crossing", "uas"),
    "other": ("not crossing", "uas"),
}
SMALL = Config(
    loss="hinge",
    layers=2,
    tag_features=64,
    tag_weight=0.2,
    min_count=3,  # new names turn up in dev: one word in thirty is to be unknown
    word_vectors=48,
    character_vectors=24,
    character_states=64,  # agreement is in the last letters
    states=128,
    scorer_features=64,
    labeler_features=32,
    graft=0.0,  # participles agree in gender with nouns elsewhere, and grafts do not look at it
    word_dropout=0.1,
    input_dropout=0.1,  # an invented language has no exceptions to learn by heart
    state_dropout=0.1,
    recurrent_dropout=0.0,
    epochs=25,
    words_per_batch=200,
    max_shapes=2,  # sentences have 4 to 16 words
    learning_rate=4e-3,
    average=0.98,
)


@command("demo.py")
def main(arguments: Arguments = None, config: Config = SMALL, parsers: Sequence[str] = PARSERS) -> int:
    """Train each parser, or take what an earlier demonstration left, and print their scores on the test set."""
    made = argparse.ArgumentParser(prog="demo.py", description="Train a projective parser and MH_4 on crossing arcs.")
    made.add_argument("--runs", type=Path, default=Path("runs"), help="the folder of runs; default: %(default)s")
    folder = made.parse_args(arguments).runs / "demo"
    prepare_process()
    console, rows = plain(), []
    treebank = write_demo_treebank(folder / "treebank")
    for name in parsers:
        console.rule(name)
        experiment = Experiment(replace(config, parser=name), treebank, folder / name, console)
        experiment.train()
        groups = experiment.report().evaluations["test"].groups
        rows.append([name, *(f"{100 * getattr(groups[group], score):.1f}" for group, score in COLUMNS.values())])
    print_table("test sentences of the demonstration treebank", ("parser", *COLUMNS), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())

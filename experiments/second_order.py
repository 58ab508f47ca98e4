"""Ways of decoding a trained parser with second-order scores (or arc scores), beside the trees of another run.

python experiments/second_order.py --run runs/got-mst2-greedy-hinge-1 --other runs/got-mh4-hybrid-hinge-1
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from structdep import greedy
from structdep_parser.cli.options import Arguments, command
from structdep_parser.config import Config
from structdep_parser.data.batches import tree_batches
from structdep_parser.data.conllu import Heads
from structdep_parser.data.corpus import rows
from structdep_parser.data.treebank import read
from structdep_parser.evaluation.scores import evaluate
from structdep_parser.files import write_whole
from structdep_parser.nn.compiled import Compiled, prepare_process
from structdep_parser.parsers.prediction import Predictions
from structdep_parser.parsers.second_order_ways import WAYS, WITH_OTHER, Way
from structdep_parser.training.experiment import Experiment
from structdep_parser.training.run_treebank import treebank_of_run


@command("second_order.py")
def main(arguments: Arguments = None) -> int:
    """Print a table of the ways: attachment, mean score of the trees, and tokens a second."""
    options = parser().parse_args(arguments)
    prepare_process()
    table = "\n".join(lines(options.run, options.other, options.split, options.treebanks))
    print(table)
    write_whole(options.run / f"{options.split}-second-order.md", table + "\n")
    return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="second_order.py", description="Decode a trained parser in several ways.")
    made.add_argument("--run", type=Path, required=True, help="the folder of a run of mst2-greedy, or of mst")
    made.add_argument("--other", type=Path, help="the folder of a run with trees of the same treebank")
    made.add_argument("--split", default="dev", choices=("dev", "test"), help="default: %(default)s")
    made.add_argument("--treebanks", type=Path, metavar="DIR", help="where treebanks are, as for structdep train")
    return made


def lines(run: Path, other: Path | None, split: str, treebanks: Path | None) -> Iterator[str]:
    """The table of a run, whose best checkpoint is taken."""
    config = Config.read(run / "config.json")
    experiment = Experiment(config, treebank_of_run(config, run, treebanks), run, Console(quiet=True))
    gold = experiment.corpus.splits[split]
    # The trees of the other run take the place of gold ones in batches.
    sentences = gold if other is None else read(other / f"{split}.conllu")
    if [sentence.forms for sentence in sentences] != [sentence.forms for sentence in gold]:
        raise ValueError(f"{other}/{split}.conllu does not have the sentences of {config.lang}'s {split}")
    yield "| decoding | UAS | LAS | mean score | tokens/s |\n|---|--:|--:|--:|--:|"
    for name, way in (WAYS if other is None else WAYS | WITH_OTHER).items():
        predictions, score, seconds = parsed(experiment, sentences, way)
        counts = evaluate(gold, predictions).all
        cells = (100 * counts.uas, 100 * counts.las, score)
        yield f"| {name} | {' | '.join(f'{cell:.2f}' for cell in cells)} | {sum(map(len, gold)) / seconds:.0f} |"


def parsed(experiment: Experiment, sentences: Sequence[Any], way: Way) -> tuple[Predictions, float, float]:
    """Trees, the mean of their scores, and the seconds spent in scoring, decoding and labelling."""
    predictor = experiment.predictor
    parameters = experiment.run.best(experiment.trainer.start())[1].average
    decode, score = Compiled(way), Compiled(greedy.score)
    before = predictor.scoring
    heads: Heads = [np.zeros(0, np.int32)] * len(sentences)
    total = 0.0
    reading = predictor.reader(parameters, sentences)
    for batch in tree_batches(sentences):
        scores = predictor.score(parameters, reading.of_trees(batch), batch.lengths)
        found = decode(scores, batch.lengths, batch.heads)
        total += float(np.where(batch.index >= 0, score(scores, found, batch.lengths), 0).sum())
        for place, tree in rows(batch, np.asarray(found)):
            heads[place] = tree
    labels = predictor.relations(parameters, reading, heads)
    deprels = [predictor.vocabulary.relations(*pair) for pair in zip(heads, labels, strict=True)]
    return Predictions(heads, deprels), total / len(sentences), predictor.scoring - before + decode.spent


if __name__ == "__main__":
    sys.exit(main())

"""What processes of a run do that are not its first: they train with it, and leave the rest to it."""

from structdep_parser.config import Config
from structdep_parser.data.corpus import Corpus
from structdep_parser.data.treebank import Treebank
from structdep_parser.parsers.registry import algorithm_of
from structdep_parser.training.devices import Devices, agreed
from structdep_parser.training.trainer import Trainer, epochs


def train_as_worker(config: Config, treebank: Treebank, devices: Devices) -> None:
    """Train as long as the first process does, from the state that it has (`Experiment.train`)."""
    parser = algorithm_of(config)
    corpus, config = Corpus.of(treebank, config, parser.learns_parts)
    trees = parser.trees(corpus.splits["train"], corpus.vocabulary)
    trainer = Trainer(config, corpus, parser, trees, devices)
    done, first = agreed((0, trainer.start()))
    for _ in epochs(trainer, first, int(done), lambda done: None):
        if agreed(False):
            break

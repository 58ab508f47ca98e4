"""Small models on the first sentences of the demonstration treebank, to train in seconds."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from rich.console import Console

from structdep_parser.arrays import named
from structdep_parser.config import Config
from structdep_parser.data.batches import tree_batches
from structdep_parser.data.conllu import Sentence
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.treebank import Treebank
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.nn.model import Model
from structdep_parser.nn.scorers import Scorer
from structdep_parser.parsers.registry import algorithm_of
from structdep_parser.parsers.trained_model import TrainedModel
from structdep_parser.training.experiment import Experiment

TINY = Config(
    parser="eisner",
    word_vectors=16,
    character_vectors=8,
    character_states=16,
    states=32,
    layers=1,
    tags="on",  # to build on them takes another layer
    scorer_features=16,
    labeler_features=8,
    tag_features=64,
    tag_weight=0.2,
    graft=0.15,
    epochs=3,
    words_per_batch=100,
    max_shapes=1,
    learning_rate=3e-2,
)


def small_treebank(whole: Path, folder: Path, code: str = "demo") -> Treebank:
    """40 sentences to train on, 15 for dev and test; `whole` is for all of the demonstration treebank."""
    treebank = write_demo_treebank(whole)
    for path, sentences in ((treebank.train, 40), (treebank.dev, 15), (treebank.test, 15)):
        assert path is not None
        blocks = path.read_text(encoding="utf-8").split("\n\n")
        (folder / path.name.replace("demo", code)).write_text(
            "\n\n".join(blocks[:sentences]) + "\n\n", encoding="utf-8"
        )
    return Treebank(code, *(folder / f"{code}-ud-{split}.conllu" for split in ("train", "dev", "test")))


def experiment(treebank: Treebank, folder: Path, config: Config = TINY) -> Experiment:
    return Experiment(config, treebank, folder, Console(quiet=True))


def losses(treebank: Treebank, folder: Path, config: Config, steps: int = 8) -> list[float]:
    """Of as many steps with one batch, without dropout."""
    still = replace(config, word_dropout=0.0, input_dropout=0.0, state_dropout=0.0, recurrent_dropout=0.0, warm_up=0.0)
    trainer = experiment(treebank, folder, still).trainer
    (batch, *_), targets = trainer.material(0)
    state, found = trainer.devices.copied(trainer.start()), []
    for _ in range(steps):
        state, value = trainer.advance(state, batch, targets)
        found.append(float(value))
    assert int(state.step) == steps
    return found


def random_model(config: Config, sentences: list[Sentence], seed: int = 1) -> TrainedModel:
    """Of random weights, as if it had been trained."""
    vocabulary, rng = Vocabulary.of(sentences, 1), np.random.default_rng(seed)
    shapes = nnx.state(nnx.eval_shape(lambda: Model(config, vocabulary, algorithm_of(config))))
    weights = jax.tree.map(lambda leaf: jnp.asarray(0.3 * rng.normal(size=leaf.shape), leaf.dtype), shapes)
    return TrainedModel(config, vocabulary, named(weights))


def score_tables(model: TrainedModel, sentences: list[Sentence]) -> Iterator[tuple[int, dict[str, jax.Array]]]:
    """The tables of each sentence, by its place."""

    @jax.jit
    def scored(words: Any, lengths: jax.Array) -> dict[str, jax.Array]:
        scorer = model.merged(model.arrays).scorer
        return scorer(scorer.weighted(words), lengths)

    reading = model.reader(model.arrays, sentences)
    for batch in tree_batches(sentences):
        tables = scored(reading.of_trees(batch), batch.lengths)
        for row, place in enumerate(np.asarray(batch.index).tolist()):
            if place >= 0:
                yield place, {name: table[row] for name, table in tables.items()}


def scores_of(scorer: Scorer, states: jax.Array, lengths: jax.Array, rngs: nnx.Rngs | None = None) -> Any:
    """Scores of sentences, from vectors in context `[B, n+2, states]`."""
    return scorer(scorer.weighted(scorer.of_words(states, rngs)), lengths, rngs)

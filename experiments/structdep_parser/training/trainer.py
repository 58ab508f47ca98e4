"""The training of a model: its batches, and the loop over epochs."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from structdep_parser.config import Config
from structdep_parser.data.augmentation import Grafts
from structdep_parser.data.batch import Batch, filled
from structdep_parser.data.batches import batches
from structdep_parser.data.conllu import Heads
from structdep_parser.data.corpus import Corpus
from structdep_parser.data.shapes import plan
from structdep_parser.nn.model import Model
from structdep_parser.nn.stored_programs import part
from structdep_parser.parsers.registry import Algorithm, Targets
from structdep_parser.parsers.trained_model import identity
from structdep_parser.training.devices import Devices
from structdep_parser.training.progress import Done
from structdep_parser.training.step import Schedule, State, Step

Advance = Callable[[Done], None]
"""Told after each step what is done of the epoch."""

Material = tuple[list[Batch], Targets]
"""The batches of an epoch, and what they train for."""


class Epoch(NamedTuple):
    """What an epoch came to; `seconds` include those of compiling."""

    loss: float
    sentences: int
    seconds: float


class Trainer:
    """Makes the first state, and trains it epoch by epoch, on one device or on several with the same result."""

    def __init__(
        self, config: Config, corpus: Corpus, parser: Algorithm, trees: Heads, devices: Devices | None = None
    ) -> None:
        self.devices, self.features = devices or Devices(), corpus.features
        self.config, self.corpus = config, corpus
        self.sentences, self.targets = corpus.splits["train"], parser.targets(trees)
        self.grafts = Grafts(self.sentences, trees, config.graft) if config.graft else None
        self.shapes = plan(self.sentences, config.words_per_batch, config.max_shapes, parser.growth, config.alone)
        self.graph, self.parameters = nnx.split(Model(config, corpus.vocabulary, parser))
        self.schedule = Schedule.of(config, config.epochs * len(self.material(0)[0]))
        self.key = jax.random.key(config.seed)
        self.spent = 0.0  # seconds in epochs, without those of compiling
        self.identity = part(identity(config, corpus.vocabulary), f"on {len(self.devices)} devices")
        self.step = Step(self.graph, config, self.devices.everywhere, self.identity)

    @property
    def compiling(self) -> float:
        """Seconds spent in it."""
        return sum(program.seconds for program in self.step.programs)

    def start(self) -> State:
        """The state before the first step."""
        parameters, average = (jax.tree.map(jnp.copy, self.parameters) for _ in range(2))
        return State(jnp.int32(0), parameters, average, self.step.optimizer.init(parameters))

    def material(self, epoch: int) -> Material:
        """That of one epoch, the same whenever it is asked for."""
        rng = np.random.default_rng([self.config.seed, epoch])
        sentences, targets = self.sentences, self.targets
        if self.grafts:
            sentences, trees = self.grafts(rng)
            targets = targets.of(trees)
        return batches(sentences, self.corpus.vocabulary, rng=rng, shapes=self.shapes, features=self.features), targets

    def epoch(self, number: int, material: Material, state: State, advance: Advance) -> tuple[State, Epoch]:
        """Train on every sentence once; the state is on all devices. FloatingPointError if the loss is not finite.

        The device never idles: a step is sent to it before the loss of the step before is waited for.
        """
        start, compiled = time.perf_counter(), self.compiling
        (first, *others), targets = material
        words = np.cumsum([batch.words for batch in (first, *others)]).tolist()
        losses: list[float] = []

        def finish(loss: jax.Array) -> None:
            losses.append(float(loss))
            advance(Done(number, words[len(losses) - 1], words[-1], float(np.mean(losses))))

        state, sent = self.advance(state, first, targets)
        for batch in others:
            before = sent
            state, sent = self.advance(state, batch, targets)
            finish(before)
        finish(sent)
        if not np.isfinite(losses).all():
            raise FloatingPointError(f"the loss is {losses[-1]} in epoch {number}: try another --seed or --loss")
        seconds = time.perf_counter() - start
        self.spent += seconds - (self.compiling - compiled)
        return state, Epoch(float(np.mean(losses)), len(self.sentences), seconds)

    def advance(self, state: State, batch: Batch, targets: Targets) -> tuple[State, jax.Array]:
        """One step, with the batch on all devices."""
        batch = filled(batch, len(self.devices))
        batch, target = self.devices.shared((batch, targets(batch.trees)))
        with jax.set_mesh(self.devices.mesh):
            return self.step(state, batch, target, self.key, self.schedule)


def epochs(trainer: Trainer, state: State, after: int, advance: Advance) -> Iterator[tuple[int, State, Epoch]]:
    """The epochs that follow number `after`; while one is trained, the batches of the next are made."""
    numbers = range(after + 1, trainer.config.epochs + 1)
    if not numbers:
        return
    state = trainer.devices.copied(state)
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(trainer.material, numbers[0])
        for number in numbers:
            material = coming.result()
            if number < numbers[-1]:
                coming = thread.submit(trainer.material, number + 1)
            state, result = trainer.epoch(number, material, state, advance)
            yield number, trainer.devices.own(state), result

"""The training of a model: state, optimizer, step, and the loop over epochs."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from structdep_parser.config import Config
from structdep_parser.data.augmentation import Grafts
from structdep_parser.data.batches import Batch, batches, filled
from structdep_parser.data.corpus import Corpus
from structdep_parser.data.sentences import Heads
from structdep_parser.data.shapes import plan
from structdep_parser.nn.compiled import Compiled
from structdep_parser.nn.model import Model
from structdep_parser.nn.stored_programs import part
from structdep_parser.parsers.registry import Algorithm, Targets
from structdep_parser.parsers.trained_model import identity
from structdep_parser.training.devices import Devices
from structdep_parser.training.progress import Done

Advance = Callable[[Done], None]
"""Told after each step what is done of the epoch."""

Material = tuple[list[Batch], Targets]
"""The batches of an epoch, and what they train for."""


class State(NamedTuple):
    """All that changes in training; the epoch's order and the step's dropout follow from the seed and their number."""

    step: jax.Array
    parameters: Any
    average: Any
    optimizer: Any


class Schedule(NamedTuple):
    """A learning rate that rises linearly, then falls as a cosine to zero; an argument of the compiled update.

    Example:
        >>> schedule = Schedule.of(Config(learning_rate=1.0, warm_up=0.1), 100)
        >>> [round(float(schedule.rate(step)), 3) for step in (0, 5, 10, 55, 100)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    peak: np.float32
    warm_up: np.float32
    steps: np.float32

    @classmethod
    def of(cls, config: Config, steps: int) -> "Schedule":
        warm_up = max(1, round(config.warm_up * steps))
        return cls(*map(np.float32, (config.learning_rate, warm_up, max(steps, warm_up + 1))))

    def rate(self, step: Any) -> jax.Array:
        """Of a step, counted from 0."""
        share = jnp.clip((step - self.warm_up) / (self.steps - self.warm_up), 0, 1)
        return self.peak * jnp.minimum(step / self.warm_up, (1 + jnp.cos(jnp.pi * share)) / 2)


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
        self.shapes = plan(self.sentences, config.words_per_batch, config.max_shapes, parser.growth)
        self.graph, self.parameters = nnx.split(Model(config, corpus.vocabulary, parser))
        self.optimizer = optimizer(config)
        self.schedule = Schedule.of(config, config.epochs * len(self.material(0)[0]))
        self.key = jax.random.key(config.seed, impl="rbg")
        self.spent = 0.0  # seconds in epochs, without those of compiling
        # Only the gradient's program depends on the shapes of batches.
        self.gradient = Compiled(self._gradient, out_shardings=self.devices.everywhere)
        self.update = Compiled(self._update, donate_argnums=0, out_shardings=self.devices.everywhere)
        self.identity = part(identity(config, corpus.vocabulary), f"on {len(self.devices)} devices")
        self.gradient.identity, self.update.identity = part(self.identity, "gradient"), part(self.identity, "update")

    @property
    def compiling(self) -> float:
        """Seconds spent in it."""
        return self.gradient.seconds + self.update.seconds

    def start(self) -> State:
        """The state before the first step."""
        parameters, average = (jax.tree.map(jnp.copy, self.parameters) for _ in range(2))
        return State(jnp.int32(0), parameters, average, self.optimizer.init(parameters))

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
        words = np.cumsum([batch.lengths[batch.index >= 0].sum() for batch in (first, *others)]).tolist()
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
        batch, target = self.devices.shared((batch, targets(batch)))
        with jax.set_mesh(self.devices.mesh):
            loss, gradient = self.gradient.dispatch(state.parameters, state.step, batch, target, self.key)
            return self.update.dispatch(state, gradient, self.schedule), loss

    def _gradient(
        self, parameters: Any, step: jax.Array, batch: Batch, target: Any, key: jax.Array
    ) -> tuple[jax.Array, Any]:
        key = jax.random.fold_in(key, step)

        def loss(own: Any) -> jax.Array:
            return nnx.merge(self.graph, own).loss(batch, target, nnx.Rngs(dropout=key))

        return jax.value_and_grad(loss)(parameters)

    def _update(self, state: State, gradient: Any, schedule: Schedule) -> State:
        updates, optimizer = self.optimizer.update(gradient, state.optimizer, state.parameters)
        rate = schedule.rate(state.step)
        updates = jax.tree.map(lambda update: -rate * update, updates)
        parameters = optax.apply_updates(state.parameters, updates)
        # Early steps count for little: the average forgets the first weights as fast as it has seen others.
        decay = jnp.minimum(self.config.average, (1 + state.step) / (10 + state.step))
        average = optax.incremental_update(parameters, state.average, 1 - decay)
        return State(state.step + 1, parameters, average, optimizer)


def optimizer(config: Config) -> optax.GradientTransformation:
    """Adam with decoupled weight decay and clipping, for a learning rate of -1."""
    adam = optax.scale_by_adam(b1=0.9, b2=config.beta2)
    return optax.chain(optax.clip_by_global_norm(config.clip), adam, optax.add_decayed_weights(config.weight_decay))


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

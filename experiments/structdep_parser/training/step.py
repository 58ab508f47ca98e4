"""A step of training, in four programs, of which each depends on as few shapes as it can.

Reading is the same for all shapes of trees, and costs most: its losses and its gradient are programs of their own, and
between them stands that of trees. The last program, which moves the weights, depends on no shapes.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.sharding import NamedSharding

from structdep_parser.config import Config
from structdep_parser.data.batch import Batch, Forms, Gold, Lines, TreeBatch
from structdep_parser.nn.compiled import Compiled
from structdep_parser.nn.model import Model
from structdep_parser.nn.scorers import OF_WORDS
from structdep_parser.nn.stored_programs import part

Inputs = tuple[Lines, Forms, Gold]
Draws = tuple[jax.Array, jax.Array]
"""The key of dropout, and the number of the step."""
WithLoss = tuple[Any, jax.Array]
"""Vectors for the scorer, of all places in lines, and the sum of the losses of relations and tags."""


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


class Step:
    """Makes a state of the one before.

    Args:
        graph: the model without its weights.
        config: of the optimizer.
        everywhere: how arrays lie that all devices have.
        identity: what the model depends on, if compiled programs are to be kept for other processes.
    """

    def __init__(self, graph: Any, config: Config, everywhere: NamedSharding, identity: str) -> None:
        self.graph, self.optimizer, self.average = graph, optimizer(config), config.average
        self.programs = (
            Compiled(self._read, out_shardings=(everywhere, None)),
            Compiled(self._trees, out_shardings=everywhere),
            Compiled(self._gradient, out_shardings=everywhere),
            Compiled(self._update, donate_argnums=0, out_shardings=everywhere),
        )
        for number, program in enumerate(self.programs):
            program.identity = part(identity, f"training {number}")

    def __call__(
        self, state: State, batch: Batch, target: Any, key: jax.Array, schedule: Schedule
    ) -> tuple[State, jax.Array]:
        """The next state, and the loss, a word's mean."""
        read, trees, gradient, update = (program.dispatch for program in self.programs)
        inputs, draws = (batch.lines, batch.forms, batch.gold), (key, state.step)
        found, kept = read(state.parameters, inputs, draws)
        loss, of_trees, cotangents = trees(state.parameters, found, batch.root, batch.trees, target, draws)
        of_words = gradient(state.parameters, inputs, draws, kept, cotangents)
        return update(state, of_words, of_trees, schedule), loss

    def _read(self, parameters: Any, inputs: Inputs, draws: Draws) -> tuple[WithLoss, list[Any]]:
        """What is read, and what its gradient needs besides these arguments."""
        found, pull = self._reading(parameters, inputs, draws)
        given = jax.tree.leaves((parameters, inputs))
        return found, [leaf for leaf in jax.tree.leaves(pull) if not _is_among(leaf, given)]

    def _gradient(self, parameters: Any, inputs: Inputs, draws: Draws, kept: list[Any], cotangents: WithLoss) -> Any:
        """By the weights of what reads."""
        # What is read here again tells where things belong, and is not computed.
        _, pull = self._reading(parameters, inputs, draws)
        leaves, structure = jax.tree.flatten(pull)
        given, rest = jax.tree.leaves((parameters, inputs)), iter(kept)
        leaves = [leaf if _is_among(leaf, given) else next(rest) for leaf in leaves]
        return jax.tree.unflatten(structure, leaves)(cotangents)[0]

    def _reading(self, parameters: Any, inputs: Inputs, draws: Draws) -> Any:
        of_trees, of_words = split_state(parameters)

        def read(own: Any) -> WithLoss:
            model: Model = nnx.merge(self.graph, own, of_trees)
            return model.read_with_loss(*inputs, nnx.Rngs(dropout=jax.random.fold_in(*draws)))

        return jax.vjp(read, of_words)

    def _trees(
        self, parameters: Any, read: WithLoss, root: jax.Array, batch: TreeBatch, target: Any, draws: Draws
    ) -> tuple[jax.Array, Any, WithLoss]:
        """The loss, a word's mean, and its gradient by the scorer's weights and by what was read."""
        of_trees, of_words = split_state(parameters)
        words = jnp.where(batch.index >= 0, batch.lengths, 0).sum()

        def loss(own: Any, read: WithLoss) -> jax.Array:
            model: Model = nnx.merge(self.graph, own, of_words)
            rngs = nnx.Rngs(dropout=jax.random.fold_in(jax.random.fold_in(*draws), 1))
            return (model.trees_loss(read[0], root, batch, target, rngs) + read[1]) / words

        value, (gradient, cotangents) = jax.value_and_grad(loss, (0, 1))(of_trees, read)
        return value, gradient, cotangents

    def _update(self, state: State, of_words: Any, of_trees: Any, schedule: Schedule) -> State:
        gradient = nnx.merge_state(of_words, of_trees)
        updates, optimizer = self.optimizer.update(gradient, state.optimizer, state.parameters)
        rate = schedule.rate(state.step)
        updates = jax.tree.map(lambda update: -rate * update, updates)
        parameters = optax.apply_updates(state.parameters, updates)
        # Early steps count for little: the average forgets the first weights as fast as it has seen others.
        decay = jnp.minimum(self.average, (1 + state.step) / (10 + state.step))
        average = optax.incremental_update(parameters, state.average, 1 - decay)
        return State(state.step + 1, parameters, average, optimizer)


def split_state(parameters: Any) -> tuple[Any, Any]:
    """The weights of the scorer but those that it reads words with, and all others."""
    of_trees, of_words = nnx.split_state(
        parameters, lambda path, _: path[0] == "scorer" and path[1] not in OF_WORDS, ...
    )
    return of_trees, of_words


def _is_among(leaf: Any, others: Sequence[Any]) -> bool:
    return any(leaf is other for other in others)


def optimizer(config: Config) -> optax.GradientTransformation:
    """Adam with decoupled weight decay and clipping, for a learning rate of -1."""
    adam = optax.scale_by_adam(b1=0.9, b2=config.beta2)
    return optax.chain(optax.clip_by_global_norm(config.clip), adam, optax.add_decayed_weights(config.weight_decay))

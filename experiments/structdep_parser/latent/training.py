"""Trains the latent-tree model by one estimator, and measures answers and trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

import structdep as sd
from structdep.trees import heads_to_arcs
from structdep_parser.latent.estimators import ESTIMATORS, SYSTEM
from structdep_parser.latent.expressions import CLOSE, Expressions, generate
from structdep_parser.latent.model import LatentTreeModel
from structdep_parser.nn.compiled import Compiled


@dataclass(frozen=True)
class Setting:
    """Sizes: of expressions, of the data, of the model and of training."""

    words: int = 12
    depth: int = 3
    train: int = 20_000
    test: int = 1_000
    features: int = 64
    batch: int = 32
    steps: int = 800
    learning_rate: float = 3e-3
    scorer_rate: float = 3e-4

    def __post_init__(self) -> None:
        for name in ("train", "test", "features", "batch", "steps", "learning_rate", "scorer_rate"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}: expected a number above 0")
        if self.features % 2:
            raise ValueError(f"features is {self.features}: expected an even number, half for each direction")

    def model(self, seed: int) -> LatentTreeModel:
        return LatentTreeModel(self.features, rounds=self.depth + 1, rngs=nnx.Rngs(seed))

    def optimizer(self) -> optax.GradientTransformation:
        """Scores learn slower than messages: what an arc is worth is unknown before messages are learned."""
        rates = {"scorer": self.scorer_rate, "messages": self.learning_rate}
        by_part = {part: optax.adam(optax.cosine_decay_schedule(rate, self.steps)) for part, rate in rates.items()}
        return optax.partition(by_part, _part_of_weights)

    def expressions(self, seed: int) -> tuple[Expressions, Expressions]:
        """Those to train on, and those to test on; by chance, some short ones are in both."""
        made = generate(self.train + self.test, self.words, self.depth, seed)
        return made.rows(slice(self.train)), made.rows(slice(self.train, None))


class Result(NamedTuple):
    """Shares of the test expressions, losses at the start and end of training, and the time of a training step.

    `answers` are found by the estimator's own arcs, `answers_by_best` by the best tree. `arcs` is the share of
    arguments and operators whose head in the best tree is the true one; brackets do not count, as no answer depends on
    them. Both are NaN where no trees are learned.
    """

    answers: float
    answers_by_best: float
    arcs: float
    first_loss: float
    last_loss: float
    milliseconds: float


class Programs:
    """The compiled programs of an estimator."""

    def __init__(self, name: str, setting: Setting) -> None:
        self.estimator = ESTIMATORS[name]
        self.optimizer = setting.optimizer()
        self.structure = nnx.graphdef(setting.model(0))
        self.step, self.test = Compiled(self._step), Compiled(self._test)

    def _step(
        self, weights: Any, state: Any, train: Expressions, rows: jax.Array, key: jax.Array
    ) -> tuple[Any, Any, jax.Array]:
        def loss(weights: Any) -> jax.Array:
            return self.estimator.loss(nnx.merge(self.structure, weights), train.rows(rows), key)

        value, gradient = jax.value_and_grad(loss)(weights)
        updates, state = self.optimizer.update(gradient, state)
        return optax.apply_updates(weights, updates), state, value

    def _test(self, weights: Any, batch: Expressions, key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        model = nnx.merge(self.structure, weights)
        scores = model.scorer(batch.tokens, batch.lengths)
        heads = sd.argmax(SYSTEM, scores, batch.lengths)
        own, best = self.estimator.arcs(scores, batch, key), heads_to_arcs(heads, batch.lengths).astype(scores.dtype)
        by_own, by_best = (model.logits(batch.tokens, arcs).argmax(-1) == batch.answers for arcs in (own, best))
        counts = (jnp.arange(heads.shape[-1]) < batch.lengths[:, None]) & (batch.tokens != CLOSE)
        return by_own.mean(), by_best.mean(), jnp.sum((heads == batch.heads) & counts) / counts.sum()


def train_and_test(name: str, seeds: Sequence[int], setting: Setting) -> Iterator[Result]:
    """A result for each seed, which is that of the data, of the model and of random trees."""
    programs = Programs(name, setting)
    for seed in seeds:
        train, test = setting.expressions(seed)
        weights, losses, before = nnx.state(setting.model(seed)), [], programs.step.spent
        state, key, random = programs.optimizer.init(weights), jax.random.key(seed), np.random.default_rng(seed)
        for number in range(setting.steps):
            rows = jnp.asarray(random.integers(setting.train, size=setting.batch))
            weights, state, loss = programs.step(weights, state, train, rows, jax.random.fold_in(key, number))
            losses.append(float(loss))
        own, best, arcs = (100 * float(share) for share in programs.test(weights, test, key))
        if not programs.estimator.learns_trees:
            best = arcs = float("nan")
        tenth = max(1, setting.steps // 10)
        milliseconds = 1000 * (programs.step.spent - before) / setting.steps
        yield Result(own, best, arcs, float(np.mean(losses[:tenth])), float(np.mean(losses[-tenth:])), milliseconds)


def _part_of_weights(weights: Any) -> Any:
    return jax.tree.map_with_path(lambda path, _: "scorer" if path[0].key == "scorer" else "messages", weights)

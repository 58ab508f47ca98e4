"""The losses of the latent-tree model: by each relaxation and gradient estimator, and with true or uniform trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

import structdep as sd
from structdep import relaxations
from structdep.trees import heads_to_arcs
from structdep_parser.latent.expressions import Expressions
from structdep_parser.latent.model import LatentTreeModel

SYSTEM = sd.charts.eisner(single_root=True)
SAMPLES, STRENGTH = 8, 100.0
"""The random trees of an expression, and how far blackbox differentiation steps along gradients, which are small."""

Arcs = Callable[[jax.Array, Expressions, jax.Array], jax.Array]
"""From scores, expressions and a key to arcs `[batch, n+1, n+1]`, which may be relaxed."""


class Estimator(NamedTuple):
    """How arcs are found for the model, and whether the loss is estimated by random trees in their place."""

    arcs: Arcs
    is_sampled: bool = False
    learns_trees: bool = True

    def loss(self, model: LatentTreeModel, batch: Expressions, key: jax.Array) -> jax.Array:
        """The mean over expressions, with gradients for scores."""
        scores = model.scorer(batch.tokens, batch.lengths)
        if not self.is_sampled:
            return cross_entropy(model, batch, self.arcs(scores, batch, key)).mean()

        def of_heads(heads: jax.Array) -> jax.Array:
            return cross_entropy(model, batch, heads_to_arcs(heads, batch.lengths).astype(scores.dtype))

        return relaxations.score_function(SYSTEM, scores, of_heads, key, batch.lengths, SAMPLES).mean()


def cross_entropy(model: LatentTreeModel, batch: Expressions, arcs: jax.Array) -> jax.Array:
    """Of the answer to each expression, `[batch]`."""
    return optax.softmax_cross_entropy_with_integer_labels(model.logits(batch.tokens, arcs), batch.answers)


def true_arcs(scores: jax.Array, batch: Expressions, key: jax.Array) -> jax.Array:
    return heads_to_arcs(batch.heads, batch.lengths).astype(scores.dtype)


def uniform(scores: jax.Array, batch: Expressions, key: jax.Array) -> jax.Array:
    return relaxations.marginals(SYSTEM, jnp.where(jnp.isfinite(scores), 0.0, -jnp.inf), batch.lengths)


def best_with_marginals(scores: jax.Array, batch: Expressions, key: jax.Array) -> jax.Array:
    relaxed = relaxations.marginals(SYSTEM, scores, batch.lengths)
    return relaxations.straight_through(SYSTEM, scores, batch.lengths, relaxed=relaxed)


def of_trees(relaxation: Callable[..., jax.Array], **options: Any) -> Arcs:
    """Arcs by a relaxation."""
    return lambda scores, batch, key: relaxation(SYSTEM, scores, lengths=batch.lengths, **options)


def of_random_trees(relaxation: Callable[..., jax.Array], **options: Any) -> Arcs:
    """Arcs by a relaxation that draws."""
    return lambda scores, batch, key: relaxation(SYSTEM, scores, key, lengths=batch.lengths, **options)


def sparsemap(*arguments: Any, **options: Any) -> jax.Array:
    return relaxations.sparsemap(*arguments, max_trees=8, max_rounds=16, **options).arcs


ESTIMATORS: Mapping[str, Estimator] = {
    "true-trees": Estimator(true_arcs, learns_trees=False),
    "uniform-trees": Estimator(uniform, learns_trees=False),
    "marginals": Estimator(of_trees(relaxations.marginals)),
    "stochastic-softmax": Estimator(of_random_trees(relaxations.stochastic_softmax)),
    "sparsemap": Estimator(of_trees(sparsemap)),
    "perturbed": Estimator(of_random_trees(relaxations.perturbed, samples=SAMPLES)),
    "straight-through": Estimator(of_trees(relaxations.straight_through)),
    "straight-through-marginals": Estimator(best_with_marginals),
    "spigot": Estimator(of_trees(relaxations.spigot)),
    "blackbox": Estimator(of_trees(relaxations.blackbox, strength=STRENGTH)),
    "implicit-mle": Estimator(of_random_trees(relaxations.implicit_mle, strength=STRENGTH)),
    "score-function": Estimator(of_trees(relaxations.straight_through), is_sampled=True),
}
"""The first two learn no trees: they show how much answers depend on trees."""

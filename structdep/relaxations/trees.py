"""A class of trees as an oracle: the best tree for given scores, and which arcs there can be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from structdep.inference.constraints import Constraints
from structdep.inference.queries import argmax
from structdep.trees import heads_to_arcs
from structdep.trees.classes import System

BestHeads = Callable[[jax.Array, ArrayLike | None], jax.Array]
"""From scores `[*batch, n+1, n+1]` and lengths to heads `[*batch, n]`, -1 where there is no tree."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Trees:
    """The trees of some sentences. `system` may also be a function, `BestHeads`."""

    system: System | BestHeads = field(metadata={"static": True})
    lengths: ArrayLike | None = None
    constraints: Constraints | None = None
    single_root: bool = field(default=False, metadata={"static": True})

    def heads(self, scores: jax.Array) -> jax.Array:
        """The best tree: int32 `[*batch, n]`, -1 where there is none, 0 in padding."""
        if isinstance(self.system, System):
            return argmax(self.system, scores, self.lengths, constraints=self.constraints, single_root=self.single_root)
        if self.constraints is not None or self.single_root:
            raise ValueError("constraints and single_root need a system: a function takes scores and lengths")
        return self.system(scores, self.lengths)

    def arcs(self, heads: jax.Array, dtype: jnp.dtype) -> jax.Array:
        """The arcs of trees, 0 or 1, `[*batch, n+1, n+1]`: zeros where there is none."""
        return heads_to_arcs(heads, self.lengths).astype(dtype)

    def best(self, scores: jax.Array) -> jax.Array:
        """The arcs of the best tree, 0 or 1."""
        return self.arcs(self.heads(scores), scores.dtype)

    def is_word(self, words: int) -> jax.Array:
        """Which places of `words` have a word, `[*batch, words]`; `[words]` where all sentences are as long."""
        return jnp.arange(words) < self.last(words)[..., None]

    def last(self, words: int) -> jax.Array:
        """The last word of each sentence, among `words` places."""
        return jnp.asarray(words if self.lengths is None else self.lengths)

    def possible(self, scores: jax.Array) -> jax.Array:
        """Which arcs may have gradients: those between nodes of a sentence whose scores are finite."""
        nodes = jnp.arange(scores.shape[-1])
        last = self.last(scores.shape[-1] - 1)[..., None, None]
        inside = (nodes[:, None] <= last) & (nodes <= last) & (nodes > 0) & (nodes[:, None] != nodes)
        allowed = True if self.constraints is None else self.constraints.allowed(scores.shape)
        return inside & allowed & jnp.isfinite(scores)


def as_scores(scores: ArrayLike) -> jax.Array:
    """Arc scores as an array of floats, at least of single precision.

    Raises:
        TypeError: a mapping of tables, since relaxations read arc scores alone.
    """
    if isinstance(scores, Mapping):
        raise TypeError(f"relaxations take the arc scores alone, an array [*batch, n+1, n+1], not {sorted(scores)}")
    array = jnp.asarray(scores)
    return array.astype(jnp.promote_types(array.dtype, jnp.float32))


def check_positive(**numbers: ArrayLike) -> None:
    """Raise ValueError for numbers that are not above 0, by their names; those that JAX traces are not checked."""
    for name, number in numbers.items():
        if not isinstance(number, jax.core.Tracer) and not (np.asarray(number) > 0).all():
            raise ValueError(f"{name} is {number}: write a number above 0")


def change(scores: jax.Array, possible: jax.Array) -> jax.Array:
    """Zeros, whose derivative is that of the scores: what a linear map of derivatives is applied to."""
    finite = jnp.where(possible, scores, 0)
    return finite - jax.lax.stop_gradient(finite)


def inner(scores: jax.Array, arcs: jax.Array) -> jax.Array:
    """The inner product, `[*batch]`: arcs that are 0 do not count, whatever their scores."""
    return jnp.sum(jnp.where(arcs > 0, scores * arcs, 0), (-2, -1))

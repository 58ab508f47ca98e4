"""From vectors in context to the score tables of charts."""

from collections.abc import Mapping
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from flax import nnx

from structdep_parser.nn.distances import Distances
from structdep_parser.nn.encoder import Dropped
from structdep_parser.nn.linear import Linear
from structdep_parser.nn.mean_field import MeanField, Parts, mean_field
from structdep_parser.nn.mlp import MLP

Pairs = Mapping[tuple[str, str], tuple[str, ...]]
"""For each pair of roles, the names of the tables that its biaffine fills."""
Triples = Mapping[tuple[str, str, str], tuple[str, ...]]
"""The same for triples, the words of second-order parts."""
Singles = Mapping[str, tuple[str, ...]]
"""The same for single roles, by a linear form."""
Words = tuple[dict[str, jax.Array], Parts | None]
"""Vectors of words in each role, and, where scores are refined, in the roles of parts."""
OF_WORDS = "roles", "refine", "shares"
"""Attributes of scorers whose weights `of_words` takes."""


class Scorer(Protocol):
    """What makes scores of sentences from vectors in context: first for each word by itself, then for sentences."""

    def of_words(self, states: jax.Array, rngs: Dropped = None, start: jax.Array | None = None) -> Any:
        """Vectors of words, from `[.., places, states]`: sentences, or lines with these starts (see `data.lines`)."""

    def __call__(self, words: Any, lengths: jax.Array, rngs: Dropped = None) -> Any:
        """Scores, from vectors of words `[B, n+2, ..]` and lengths `[B]`."""


class Biaffine(nnx.Module):
    """`x W_t y + u_t x + v_t y + b_t` for each t (Dozat, Manning 2017), starting from zero."""

    def __init__(self, features: int, outputs: int) -> None:
        self.weights = nnx.Param(jnp.zeros((outputs, features + 1, features + 1)))

    def pairs(self, x: jax.Array, y: jax.Array) -> jax.Array:
        """Every x with every y: `[batch, n, f]` twice to `[outputs, batch, n, n]`."""
        return jnp.einsum("bitg,bjg->tbij", self._weighted(x), _with_one(y))

    def each(self, x: jax.Array, y: jax.Array) -> jax.Array:
        """Each x with its own y: `[batch, n, f]` twice to `[batch, n, outputs]`."""
        return jnp.einsum("bitg,big->bit", self._weighted(x), _with_one(y))

    def _weighted(self, x: jax.Array) -> jax.Array:
        """Each x times all W, as one matrix, which is faster than one after the other: `[batch, n, outputs, f + 1]`."""
        outputs, features, _ = self.weights.shape
        matrix = self.weights[...].swapaxes(0, 1).reshape(features, outputs * features)
        return (_with_one(x).reshape(-1, features) @ matrix).reshape(*x.shape[:-1], outputs, features)


def _with_one(x: jax.Array) -> jax.Array:
    return jnp.pad(x, ((0, 0), (0, 0), (0, 1)), constant_values=1.0)


class Trilinear(nnx.Module):
    """`Σ_f w_tf x_f y_f z_f` for each t, starting from zero."""

    def __init__(self, features: int, outputs: int) -> None:
        self.weights = nnx.Param(jnp.zeros((outputs, features)))

    def __call__(self, x: jax.Array, y: jax.Array, z: jax.Array) -> jax.Array:
        """All triples: `[batch, n, f]` three times to `[outputs, batch, n, n, n]`."""
        return jnp.einsum("tbijf,bkf->tbijk", jnp.einsum("tf,bif,bjf->tbijf", self.weights[...], x, y), z)


class TableScorer(nnx.Module):
    """Score tables: an MLP for each role, which makes vectors of each word, and forms for each tuple of roles.

    Roles have `features` in pairs (and alone, if they stand in a pair, too), `part_features` in triples. The sentinel
    is in tables of configurations, not in those of dependents. `refine` makes parts, by which arc scores are refined.
    """

    def __init__(
        self,
        pairs: Pairs,
        triples: Triples,
        singles: Singles,
        states: int,
        features: int,
        part_features: int,
        dropout: float,
        refine: MeanField | None = None,
        *,
        rngs: nnx.Rngs,
    ) -> None:
        sizes = {role: features for role in sorted({role for pair in pairs for role in pair})}
        sizes |= {role: part_features for triple in triples for role in triple}
        self.pairs, self.triples = (nnx.static(tuple(tables.items())) for tables in (pairs, triples))
        self.singles = nnx.static(tuple(singles.items()))
        self.roles = nnx.Dict({role: MLP(states, size, dropout, rngs=rngs) for role, size in sizes.items()})
        self.biaffines = nnx.List(Biaffine(features, len(names)) for names in pairs.values())
        self.distances = nnx.List(Distances(features, len(names)) for names in pairs.values())
        self.trilinears = nnx.List(Trilinear(part_features, len(names)) for names in triples.values())
        self.linears = nnx.List(Linear(features, len(names), rngs=rngs) for names in singles.values())
        self.refine = refine

    def of_words(self, states: jax.Array, rngs: Dropped = None, start: jax.Array | None = None) -> Words:
        """From vectors in context, those in each role, and those that refine."""
        features = {role: mlp(states, rngs, start) for role, mlp in self.roles.items()}
        return features, None if self.refine is None else self.refine.of_words(states, rngs, start)

    def __call__(self, words: Words, lengths: jax.Array, rngs: Dropped = None) -> dict[str, jax.Array]:
        """Tables for sentences, from vectors `[batch, n+2, ..]`."""
        features = words[0]
        without_sentinel, parts = jax.tree.map(lambda x: x[:, :-1], words)
        scores: dict[str, jax.Array] = {}
        for ((one, other), names), biaffine, distances in zip(self.pairs, self.biaffines, self.distances, strict=True):
            among = without_sentinel if other == "dependent" else features
            tables = biaffine.pairs(among[one], among[other]) + distances.pairs(among[one], among[other])
            scores |= dict(zip(names, tables, strict=True))
        for (roles, names), trilinear in zip(self.triples, self.trilinears, strict=True):
            scores |= dict(zip(names, trilinear(*(without_sentinel[role] for role in roles)), strict=True))
        for (role, names), linear in zip(self.singles, self.linears, strict=True):
            scores |= dict(zip(names, jnp.moveaxis(linear(without_sentinel[role]), -1, 0), strict=True))
        return scores if parts is None else scores | {"arc": mean_field(scores["arc"], parts, lengths)}

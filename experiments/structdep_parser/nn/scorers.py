"""From vectors in context to the score tables of charts."""

from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple, Protocol

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


class Weighted(NamedTuple):
    """Vectors of words times weights, what of a table's entries each word gives by itself: `[.., f]` each.

    For each pair of roles, two for its biaffine and two for distances; the scores of single roles; besides, vectors in
    the roles of triples and of parts.
    """

    pairs: list[tuple[jax.Array, jax.Array]]
    distances: list[tuple[jax.Array, jax.Array]]
    singles: list[jax.Array]
    roles: dict[str, jax.Array]
    parts: Parts | None


class Scorer(Protocol):
    """What makes scores of sentences from vectors in context: first for each word by itself, then for sentences."""

    def of_words(self, states: jax.Array, rngs: Dropped = None, start: jax.Array | None = None) -> Any:
        """Vectors of words, from `[.., places, states]`: sentences, or lines with these starts (see `data.lines`)."""

    def weighted(self, words: Any) -> Any:
        """What else depends on each word by itself, from `of_words`; best where there is no padding yet."""

    def __call__(self, words: Any, lengths: jax.Array, rngs: Dropped = None) -> Any:
        """Scores, from `weighted`, `[B, n+2, ..]`, and lengths `[B]`."""


class Biaffine(nnx.Module):
    """`x W_t y + u_t x + v_t y + b_t` for each t (Dozat, Manning 2017), starting from zero."""

    def __init__(self, features: int, outputs: int) -> None:
        self.weights = nnx.Param(jnp.zeros((outputs, features + 1, features + 1)))

    def weighted(self, x: jax.Array) -> jax.Array:
        """Each x times all W, as one matrix, which is faster than one after the other: `[.., outputs (f + 1)]`."""
        outputs, features, _ = self.weights.shape
        matrix = self.weights[...].swapaxes(0, 1).reshape(features, outputs * features)
        return (_with_one(x).reshape(-1, features) @ matrix).reshape(*x.shape[:-1], outputs * features)

    def pairs(self, weighted: jax.Array, y: jax.Array) -> jax.Array:
        """Every x with every y, from `weighted` of x `[batch, n, ..]` and `[batch, m, f]`: `[outputs, batch, n, m]`."""
        return jnp.einsum("bitg,bjg->tbij", self._by_output(weighted), _with_one(y))

    def each(self, x: jax.Array, y: jax.Array) -> jax.Array:
        """Each x with its own y: `[batch, n, f]` twice to `[batch, n, outputs]`."""
        return jnp.einsum("bitg,big->bit", self._by_output(self.weighted(x)), _with_one(y))

    def _by_output(self, weighted: jax.Array) -> jax.Array:
        return weighted.reshape(*weighted.shape[:-1], *self.weights.shape[:2])


def _with_one(x: jax.Array) -> jax.Array:
    return jnp.concatenate([x, jnp.ones((*x.shape[:-1], 1), x.dtype)], axis=-1)


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

    def weighted(self, words: Words) -> Weighted:
        """What each word gives to tables, from vectors of words `[.., n, ..]`."""
        roles, parts = words
        members = [(roles[one], roles[other]) for (one, other), _ in self.pairs]
        pairs = [(biaffine.weighted(x), y) for biaffine, (x, y) in zip(self.biaffines, members, strict=True)]
        distances = [table.of_each(x, y) for table, (x, y) in zip(self.distances, members, strict=True)]
        singles = [linear(roles[role]) for (role, _), linear in zip(self.singles, self.linears, strict=True)]
        of_triples = {role: roles[role] for role in chain(*dict(self.triples))}
        return Weighted(pairs, distances, singles, of_triples, parts)

    def __call__(self, words: Weighted, lengths: jax.Array, rngs: Dropped = None) -> dict[str, jax.Array]:
        """Tables for sentences, from `weighted`, `[batch, n+2, ..]`."""
        without_sentinel = jax.tree.map(lambda x: x[:, :-1], words)
        scores: dict[str, jax.Array] = {}
        for place, ((_, other), names) in enumerate(self.pairs):
            among = without_sentinel if other == "dependent" else words
            tables = self.biaffines[place].pairs(*among.pairs[place])
            tables += self.distances[place].pairs(*among.distances[place])
            scores |= dict(zip(names, tables, strict=True))
        for (roles, names), trilinear in zip(self.triples, self.trilinears, strict=True):
            scores |= dict(zip(names, trilinear(*(without_sentinel.roles[role] for role in roles)), strict=True))
        for (_, names), single in zip(self.singles, without_sentinel.singles, strict=True):
            scores |= dict(zip(names, jnp.moveaxis(single, -1, 0), strict=True))
        parts = without_sentinel.parts
        return scores if parts is None else scores | {"arc": mean_field(scores["arc"], parts, lengths)}

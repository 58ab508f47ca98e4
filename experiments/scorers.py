"""Parsers as data: a deduction system, and the score tables that roles fill together; one module scores them all."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from flax import nnx

import structdep as sd
from experiments.encoder import Dropout, Dropped
from structdep import charts
from structdep.greedy import second_order
from structdep.spanning import all_trees
from structdep.systems import System

REDUCES = ("la", "ra", "la'", "ra'", "la2", "ra2")


@dataclass(frozen=True)
class Parser:
    """`tables`: for each pair of roles, the names of the tables that its biaffine fills.

    The roles are `head` and `dependent` of arcs, or places of a configuration: stack top `s0`, below it `s1`, buffer
    front `b0`. `best` finds a tree's best derivation by these tables, `once` has one derivation for each tree, and so
    probabilities of trees; `arcs` has the same trees by arc scores alone. Tables of pairs of arcs are filled by
    `triples` of roles: the words of a part.
    """

    best: System
    once: System
    arcs: System
    tables: Mapping[tuple[str, str], tuple[str, ...]]
    triples: Mapping[tuple[str, str, str], tuple[str, ...]] = field(default_factory=dict)

    def system(self, loss: str) -> System:
        """What is trained with a loss, and decoded with: a likelihood is that of trees."""
        return self.once if loss == "nll" else self.best


ARCS = {("head", "dependent"): ("arc",)}
TWO = {("s0", "b0"): ("shift", *REDUCES)}
HYBRID = TWO | {("s1", "s0"): tuple(f"{name}:s1" for name in REDUCES)}
PARTS = {("g", "h", "d"): ("grandparent",), ("parent", "first", "second"): ("sibling",)}
GREEDY = second_order()
EISNER, MH4 = charts.eisner(), charts.mhk(4)
MH4_STEPS = charts.mhk(4, transitions=True), charts.mh4_trees(transitions=True)
PARSERS = {
    "mst": Parser(all_trees(), all_trees(), all_trees(), ARCS),
    "mst2-greedy": Parser(GREEDY, GREEDY, all_trees(), ARCS, PARTS),
    "eisner": Parser(EISNER, EISNER, EISNER, ARCS),
    "arc-eager": Parser(
        charts.arc_eager(transitions=True),
        charts.arc_eager_trees(transitions=True),
        EISNER,
        {("s0", "b0"): ("shift", "la", "ra", "reduce")},
    ),
    "mh3": Parser(
        charts.arc_hybrid(transitions=True),
        charts.arc_hybrid_trees(transitions=True),
        EISNER,
        {("s0", "b0"): ("shift", "la", "ra")},
    ),
    "mh4": Parser(MH4, charts.mh4_trees(), MH4, ARCS),
    "mh4-two": Parser(*MH4_STEPS, MH4, TWO),
    "mh4-hybrid": Parser(*MH4_STEPS, MH4, HYBRID),
}
LOSSES: dict[str, Callable[..., jax.Array]] = {"hinge": sd.losses.hinge, "nll": sd.losses.nll}


class MLP(nnx.Module):
    """One layer and dropout: what a word is in one role."""

    def __init__(self, inputs: int, outputs: int, dropout: float, *, rngs: nnx.Rngs) -> None:
        self.linear = nnx.Linear(inputs, outputs, rngs=rngs)
        self.dropout = Dropout(dropout)

    def __call__(self, x: jax.Array, rngs: Dropped) -> jax.Array:
        return self.dropout(nnx.leaky_relu(self.linear(x), 0.1), rngs)


class Biaffine(nnx.Module):
    """`x W_t y + u_t x + v_t y + b_t` for each t (Dozat, Manning 2017), starting from zero."""

    def __init__(self, features: int, outputs: int) -> None:
        self.weights = nnx.Param(jnp.zeros((outputs, features + 1, features + 1)))

    def pairs(self, x: jax.Array, y: jax.Array) -> jax.Array:
        """Every x with every y: `[batch, n, f]` twice to `[outputs, batch, n, n]`."""
        return jnp.einsum("bif,tfg,bjg->tbij", _with_one(x), self.weights[...], _with_one(y))

    def each(self, x: jax.Array, y: jax.Array) -> jax.Array:
        """Each x with its own y: `[batch, n, f]` twice to `[batch, n, outputs]`."""
        return jnp.einsum("bif,tfg,big->bit", _with_one(x), self.weights[...], _with_one(y))


def _with_one(x: jax.Array) -> jax.Array:
    return jnp.pad(x, ((0, 0), (0, 0), (0, 1)), constant_values=1.0)


class Trilinear(nnx.Module):
    """`Σ_f w_tf x_f y_f z_f` for each t, starting from zero."""

    def __init__(self, features: int, outputs: int) -> None:
        self.weights = nnx.Param(jnp.zeros((outputs, features)))

    def __call__(self, x: jax.Array, y: jax.Array, z: jax.Array) -> jax.Array:
        """All triples: `[batch, n, f]` three times to `[outputs, batch, n, n, n]`."""
        return jnp.einsum("tbijf,bkf->tbijk", jnp.einsum("tf,bif,bjf->tbijf", self.weights[...], x, y), z)


class Scorer(nnx.Module):
    """The score tables of a parser from `[batch, n+2, states]`: an MLP for each role, a form for each tuple of them.

    Roles have `features` in pairs, `part_features` in triples.
    """

    def __init__(
        self, parser: Parser, states: int, features: int, part_features: int, dropout: float, *, rngs: nnx.Rngs
    ) -> None:
        sizes = {role: features for role in sorted({role for pair in parser.tables for role in pair})}
        sizes |= {role: part_features for triple in parser.triples for role in triple}
        self.tables, self.triples = (nnx.static(tuple(t.items())) for t in (parser.tables, parser.triples))
        self.roles = nnx.Dict({role: MLP(states, size, dropout, rngs=rngs) for role, size in sizes.items()})
        self.biaffines = nnx.List(Biaffine(features, len(names)) for names in parser.tables.values())
        self.trilinears = nnx.List(Trilinear(part_features, len(names)) for names in parser.triples.values())

    def __call__(self, states: jax.Array, rngs: Dropped = None) -> dict[str, jax.Array]:
        features = {role: mlp(states, rngs) for role, mlp in self.roles.items()}
        scores: dict[str, jax.Array] = {}
        for ((one, other), names), biaffine in zip(self.tables, self.biaffines, strict=True):
            scores |= dict(zip(names, biaffine.pairs(features[one], features[other]), strict=True))
        scores = {name: _without_sentinel(table) if name == "arc" else table for name, table in scores.items()}
        without = {role: x[:, :-1] for role, x in features.items()}
        for (roles, names), trilinear in zip(self.triples, self.trilinears, strict=True):
            scores |= dict(zip(names, trilinear(*(without[role] for role in roles)), strict=True))
        return scores


def _without_sentinel(table: jax.Array) -> jax.Array:
    return table[..., :-1, :-1]

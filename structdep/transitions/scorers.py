"""Scores of transitions: any function of a configuration's `Features`, or the tables that charts take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod

import jax
import jax.numpy as jnp

from structdep.inference.scores import Tables, named
from structdep.transitions.configuration import Features
from structdep.transitions.notation import PLACES, Transition, TransitionSystem

Scorer = Callable[[Features], jax.Array]
"""From nodes `[*batch, ..]` to the scores of all transitions, `[*batch, .., transitions]`.

A pytree that can be called (of parameters and a sentence's vectors, say) is compiled with once, a plain function once
for every new function object.
"""
CONTEXTS = {"": ("s0", "b0"), ":s1": ("s1", "s0"), ":full": ("s1", "s0", "b0")}
"""The places that a table of a transition looks at, by the end of its name."""


def vectors(states: jax.Array, features: Features, places: Sequence[str] = PLACES) -> jax.Array:
    """The vectors of the nodes at some places of a configuration, concatenated: the input of a scorer's network.

    Args:
        states: float `[*batch, n+2, d]`: a vector of the root, of each word, and at length + 1 the vector for no node.
        features: the nodes at the places, int32 `[*batch, ..]`.
        places: the names of the places, from s2, s1, s0, b0 and b1.

    Returns:
        float `[*batch, .., len(places) · d]`.

    Example:
        >>> states = jnp.arange(8.0).reshape(4, 2)  # root, two words, none
        >>> vectors(states, Features(3, 0, 1, 2, 3), ("s0", "b0"))
        Array([2., 3., 4., 5.], dtype=float32)
    """
    nodes = jnp.stack([jnp.asarray(getattr(features, place)) for place in places], axis=-1)
    batch = states.shape[:-2]
    found = jnp.take_along_axis(states, nodes.reshape(*batch, prod(nodes.shape[len(batch) :]), 1), axis=-2)
    return found.reshape(*nodes.shape[:-1], len(places) * states.shape[-1])


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TableScorer:
    """A scorer from tables of scores; made by `table_scorer`.

    Args:
        tables: scores by name, float `[*batch, n+2, n+2(, n+2)]`.
        system: the transition system.
    """

    tables: dict[str, jax.Array]
    system: TransitionSystem = field(metadata={"static": True})

    def __call__(self, features: Features) -> jax.Array:
        """The scores of all transitions."""
        nodes = {place: jnp.asarray(node) for place, node in features._asdict().items()}
        none = jnp.zeros(nodes["s0"].shape)

        def score(transition: Transition) -> jax.Array:
            places = {name: at for name, at in _tables(transition).items() if name in self.tables}
            found = (_entry(self.tables[name], [nodes[p] for p in at]) for name, at in places.items())
            return sum(found, none)

        return jnp.stack([score(transition) for transition in self.system.transitions], axis=-1)

    def check(self, system: TransitionSystem, batch: tuple[int, ...], words: int) -> None:
        """Check that the tables fit a system and sentences.

        Args:
            system: the system of the runs.
            batch: the shape of the batch.
            words: the number of words of padded sentences, n.

        Raises:
            ValueError: the tables are of another system, or have another batch or another number of words.
        """
        if system != self.system:
            raise ValueError(f"the scorer is of {self.system.name}, the runs of {system.name}: give both one system")
        known = reduce(dict.__or__, map(_tables, self.system.transitions))
        for name, table in self.tables.items():
            own, room = table.shape[: table.ndim - len(known[name])], table.shape[-1] - 2
            if own not in ((), batch) or room != words:
                raise ValueError(
                    f"scores {name!r} are of a batch {own} of up to {room} words, but lengths are of a batch {batch}, "
                    f"and words={words}"
                )


def table_scorer(system: TransitionSystem, tables: Tables) -> TableScorer:
    """A scorer from the tables of scores that charts read; with a wide beam, both find the same best run.

    Args:
        system: a transition system.
        tables: arc scores, float `[*batch, n+1, n+1]`, or a mapping from names to tables: `arc`; and for each
            transition t `t[s0, b0]`, `t:s1[s1, s0]` and `t:full[s1, s0, b0]`, `[*batch, n+2, n+2(, n+2)]`, whose scores
            add up. Absent tables score 0.

    Returns:
        A scorer for `greedy` and `beam_search`, a pytree.

    Raises:
        ValueError: other names, or shapes that do not fit.

    Example:
        >>> from structdep.transitions import arc_hybrid
        >>> scorer = table_scorer(arc_hybrid(), {"la": jnp.ones((4, 4)), "arc": jnp.eye(3)})
        >>> scorer(Features(3, 0, 1, 2, 3))
        Array([0., 1., 0.], dtype=float32)
    """
    tables = named(tables)
    known = reduce(dict.__or__, map(_tables, system.transitions))
    if unknown := tables.keys() - known:
        raise ValueError(f"{system.name} has no scores {sorted(unknown)}, it has {sorted(known)}")
    arrays = {name: jnp.asarray(table) for name, table in tables.items()}
    shapes = {name: _batch_and_words(name, array, len(known[name])) for name, array in arrays.items()}
    if len(set(shapes.values())) > 1:
        raise ValueError(f"scores do not fit, their batches and numbers of words are {shapes}")
    return TableScorer({name: _with_sentinel(name, array) for name, array in arrays.items()}, system)


def _batch_and_words(name: str, table: jax.Array, arity: int) -> tuple[tuple[int, ...], int]:
    more = 1 if name == "arc" else 2
    batch, nodes = table.shape[: table.ndim - arity], set(table.shape[table.ndim - arity :])
    if table.ndim < arity or len(nodes) > 1 or min(nodes) < more:
        expected = f"[*batch{f', n+{more}' * arity}]"
        raise ValueError(f"scores {name!r} have shape {table.shape}, expected {expected} for n words")
    return batch, min(nodes) - more


def _with_sentinel(name: str, table: jax.Array) -> jax.Array:
    return jnp.pad(table, [(0, 0)] * (table.ndim - 2) + [(0, 1)] * 2) if name == "arc" else table


def _tables(transition: Transition) -> dict[str, tuple[str, ...]]:
    """The tables that may score a transition, and the places that they look at."""
    contexts = {transition.name + end: places for end, places in CONTEXTS.items()}
    return contexts | {"arc": transition.arc} if transition.arc else contexts


def _entry(table: jax.Array, nodes: Sequence[jax.Array]) -> jax.Array:
    """The entries of a table `[*batch, m, ..]` at nodes `[*batch, ..]`."""
    size, batch = table.shape[-1], table.shape[: table.ndim - len(nodes)]
    index = reduce(lambda high, low: high * size + low, nodes)
    each = prod(index.shape[len(batch) :])
    found = jnp.take_along_axis(table.reshape(*batch, size ** len(nodes)), index.reshape(*batch, each), axis=-1)
    return found.reshape(index.shape)

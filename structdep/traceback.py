"""From a filled chart down: one derivation of each sentence, by visiting O(n) cells and recomputing only those.

Every kind of item has a stack of cells to visit. A step takes the top of each stack, in all sentences at once, chooses
a product that makes this cell, notes its scores, and pushes its premises. The choice is the best product (the first
among equals: rules in their order, then splits from the left), or one drawn in proportion to its weight.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from structdep.choices import GOAL, Choices, choices
from structdep.engine import Arrays
from structdep.layout import Layout
from structdep.plan import Plan
from structdep.semirings import KBest, Semiring
from structdep.semirings.numerics import apart


class Stacks(NamedTuple):
    """Cells to visit: `cells` [kinds, depth, 1 + arity, batch], of which the first `sizes` [kinds, batch] count.

    A cell is the item's row in its family, its positions and, in `KBest`, its rank.
    """

    cells: jax.Array
    sizes: jax.Array

    def push(self, kind: jax.Array, cell: jax.Array, wanted: jax.Array) -> Stacks:
        """With a cell of one kind or another in each sentence where one is wanted."""
        batch, column = jnp.arange(self.sizes.shape[1]), jnp.arange(len(cell))[:, None]
        depth = jnp.where(wanted, self.sizes[kind, batch], self.cells.shape[1])
        cells = self.cells.at[kind, depth, column, batch].set(cell, mode="drop")
        return Stacks(cells, self.sizes.at[kind, batch].add(wanted))

    def top(self, kind: int) -> jax.Array:
        """The last cell of each sentence."""
        last = jnp.maximum(self.sizes[kind] - 1, 0)
        return jnp.take_along_axis(self.cells[kind], last[None, None], axis=0)[0]

    def pop(self, kind: int) -> tuple[jax.Array, jax.Array, Stacks]:
        """The last cell of each sentence, whether there is one, and the stacks without it."""
        size = self.sizes[kind]
        left = self.sizes.at[kind].set(jnp.maximum(size - 1, 0))
        return apart(partial(self.top, kind)), size > 0, Stacks(self.cells, left)


State = tuple[Stacks, jax.Array, jax.Array | None]
"""What is to be visited, the uses of all scores in one array, and what chooses at random."""


def derivation(
    plan: Plan,
    layout: Layout,
    tables: Arrays,
    charts: Arrays,
    lengths: jax.Array,
    exists: jax.Array,
    semiring: Semiring,
    key: jax.Array | None = None,
    rank: jax.Array | None = None,
) -> Arrays:
    """How often one derivation uses each score: arrays like `tables`, all 0 in sentences where none `exists`.

    Without a `key` it is a best one, or the one of a `rank` in `KBest`; else one drawn with probability exp(its score -
    the sum of all).
    """
    kinds = choices(plan, layout)
    ends = np.cumsum([table[..., 0].size for table in tables.values()])
    offsets = dict(zip(tables, [0, *ends[:-1]], strict=True))
    premises = [kind.premises(kinds) for kind in kinds.values()]
    scores = [kind.scores(offsets) for kind in kinds.values()]
    batch = jnp.arange(len(lengths))
    dtype = next(iter(tables.values())).dtype

    def visit(number: int, kind: Choices, state: State) -> State:
        stacks, uses, key = state
        key, own = (None, None) if key is None else jax.random.split(key)
        cell, active, stacks = stacks.pop(number)
        entry, nodes, ranks = kind.choose(cell, lengths, tables, charts, semiring, own)
        for slots in scores[number]:
            score = slots.at(entry)
            places = (score["strides"] * _places(score, nodes)).sum(0) + score["offset"][0]
            wanted = active & (score["offset"][0] >= 0)
            uses = uses.at[jnp.where(wanted, places, len(uses)), batch].add(1, mode="drop")
        for m, slots in enumerate(premises[number]):
            premise = slots.at(entry)
            places = _places(premise, nodes)
            left, right = jnp.take_along_axis(places, premise["ends"], axis=0)
            wanted = active & (premise["kind"][0] >= 0) & (right - left != premise["axiom"][0])
            pushed = jnp.concatenate([premise["row"], places, *([] if rank is None else [ranks[m : m + 1]])])
            stacks = stacks.push(premise["kind"][0], pushed, wanted)
        return stacks, uses, key

    def step(state: State) -> State:
        for number, (name, kind) in enumerate(kinds.items()):
            state = visit(number, kind, state) if name != GOAL else state
        return state

    arity = max(len(kind.group.conclusion.positions) for kind in kinds.values())
    cells = jnp.zeros((len(kinds), layout.nodes, 1 + arity, len(lengths)), jnp.int32)
    if rank is not None:
        cells = jnp.concatenate([cells, jnp.full_like(cells[:, :, :1], rank)], axis=2)
    sizes = jnp.zeros((len(kinds), len(lengths)), jnp.int32).at[-1].set(exists)
    uses = jnp.zeros((ends[-1], len(lengths)), dtype)
    start = visit(len(kinds) - 1, kinds[GOAL], (Stacks(cells, sizes), uses, key))
    _, uses, _ = lax.while_loop(lambda state: state[0].sizes.any(), step, start)
    parts = jnp.split(uses, ends[:-1])
    return {name: part.reshape(table.shape) for part, (name, table) in zip(parts, tables.items(), strict=True)}


def derivations(
    plan: Plan,
    layout: Layout,
    tables: Arrays,
    charts: Arrays,
    lengths: jax.Array,
    values: tuple[jax.Array, ...],
    semiring: KBest,
) -> Arrays:
    """How often each of the k best derivations, with these values, uses each score: arrays like `tables`, k last."""

    def ranked(rank: jax.Array, exists: jax.Array) -> Arrays:
        return derivation(plan, layout, tables, charts, lengths, exists, semiring, rank=rank)

    exists = jnp.stack([value > -jnp.inf for value in values])
    return jax.vmap(ranked, out_axes=-1)(jnp.arange(len(values)), exists)


def _places(slot: dict[str, jax.Array], nodes: jax.Array) -> jax.Array:
    """The nodes at a slot's positions."""
    return jnp.take_along_axis(nodes, slot["variables"], axis=0) + slot["shifts"]

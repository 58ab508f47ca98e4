"""From a filled chart down: one derivation of each sentence, by visiting O(n) cells and recomputing only those.

Every kind of item has a stack of cells to visit. A step takes the top of each stack, in all sentences at once, chooses
a product that makes this cell, notes its scores, and pushes its premises. The choice is the best product (the first
among equals: rules in their order, then splits from the left), or one drawn in proportion to its weight.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from structdep._engines.xla.choices import GOAL, Choices, choices
from structdep._engines.xla.steps import Arrays
from structdep._lowering.layout import Layout
from structdep._lowering.plan import Plan
from structdep.semirings import KBest, Semiring
from structdep.semirings.reductions import stored


class Stacks(NamedTuple):
    """Cells to visit: `cells` [kinds, depth, 1 + arity, batch], of which the first `sizes` [kinds, batch] count.

    A cell is the item's row in its store, its positions and, in `KBest`, its rank.
    """

    cells: jax.Array
    sizes: jax.Array

    def push(self, kinds: jax.Array, cells: jax.Array, wanted: jax.Array) -> Stacks:
        """With cells `[m, 1 + arity, batch]` of these kinds `[m, batch]`, those that are wanted."""
        earlier = np.tri(len(kinds), k=-1, dtype=bool)[..., None] & (kinds[:, None] == kinds) & wanted
        depth = jnp.take_along_axis(self.sizes, kinds, axis=0, mode="clip") + earlier.sum(1)
        depth = jnp.where(wanted, depth, self.cells.shape[1])[:, None]
        column, batch = jnp.arange(cells.shape[1])[:, None], jnp.arange(cells.shape[2])
        pushed = self.cells.at[kinds[:, None], depth, column, batch].set(cells.astype(self.cells.dtype), mode="drop")
        more = wanted & (kinds == jnp.arange(len(self.sizes))[:, None, None])
        return Stacks(pushed, self.sizes + more.sum(1))

    def top(self, kind: int) -> jax.Array:
        """The last cell of each sentence."""
        last = jnp.maximum(self.sizes[kind] - 1, 0)
        return jnp.take_along_axis(self.cells[kind], last[None, None], axis=0)[0]

    def pop(self, kind: int) -> tuple[jax.Array, jax.Array, Stacks]:
        """The last cell of each sentence, whether there is one, and the stacks without it."""
        size = self.sizes[kind]
        left = self.sizes.at[kind].set(jnp.maximum(size - 1, 0))
        return stored(self.top(kind)), size > 0, Stacks(self.cells, left)


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
    keys: jax.Array | None = None,
    rank: jax.Array | None = None,
) -> Arrays:
    """How often one derivation uses each score: arrays like `tables`, all 0 in sentences where none `exists`.

    Without `keys`, one a sentence, it is a best one, or the one of a `rank` in `KBest`; else one drawn with probability
    exp(its score - the sum of all).
    """
    kinds = choices(plan, layout)
    ends = np.cumsum([table[..., 0].size for table in tables.values()])
    offsets = dict(zip(tables, [0, *ends[:-1]], strict=True))
    premises = [jnp.moveaxis(jnp.asarray(kind.premises(kinds)), 0, -1) for kind in kinds.values()]
    scores = [jnp.moveaxis(jnp.asarray(kind.scores(offsets)), 0, -1) for kind in kinds.values()]
    batch = jnp.arange(len(lengths))
    dtype = next(iter(tables.values())).dtype

    def visit(number: int, kind: Choices, state: State) -> State:
        stacks, uses, keys = state
        keys, own = (None, None) if keys is None else jax.vmap(jax.random.split, out_axes=1)(keys)
        cell, active, stacks = stacks.pop(number)
        entry, nodes, ranks = kind.choose(cell, lengths, tables, charts, semiring, own)
        places = _values(scores[number].at[..., entry].get(mode="promise_in_bounds"), nodes)
        uses = uses.at[jnp.where(active & (places >= 0), places, len(uses)), batch].add(1, mode="drop")
        found = premises[number].at[..., entry].get(mode="promise_in_bounds")
        forms = found[:, 2:].reshape(len(found), 1 + plan.arity, 1 + len(nodes), len(batch))
        width, *positions = jnp.moveaxis(_values(forms, nodes), 1, 0)
        cells = [found[:, 1], *positions, *([] if rank is None else [ranks[: len(found)]])]
        stacks = stacks.push(found[:, 0], jnp.stack(cells, axis=1), active & (found[:, 0] >= 0) & (width > 0))
        return stacks, uses, keys

    def step(state: State) -> State:
        for number, (name, kind) in enumerate(kinds.items()):
            state = visit(number, kind, state) if name != GOAL else state
        return state

    cells = jnp.zeros((len(kinds), layout.nodes, 1 + plan.arity, len(lengths)), jnp.int32)
    if rank is not None:
        cells = jnp.concatenate([cells, jnp.full_like(cells[:, :, :1], rank)], axis=2)
    sizes = jnp.zeros((len(kinds), len(lengths)), jnp.int32).at[-1].set(exists)
    uses = jnp.zeros((ends[-1], len(lengths)), dtype)
    start = visit(len(kinds) - 1, kinds[GOAL], (Stacks(cells, sizes), uses, keys))
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

    exists = jnp.stack([jnp.isfinite(value) for value in values])
    return jax.vmap(ranked, out_axes=-1)(jnp.arange(len(values)), exists)


def _values(forms: jax.Array, nodes: jax.Array) -> jax.Array:
    """The values of linear forms `[.., 1 + variables, batch]` of the nodes `[variables, batch]`."""
    return forms[..., 0, :] + (forms[..., 1:, :] * nodes).sum(-2)

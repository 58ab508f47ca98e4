"""From a filled chart down: one derivation of each sentence, by visiting O(n) cells and recomputing only those.

Every kind of item has a stack of cells to visit. A step takes the top of each stack, in all sentences at once, chooses
a product that makes this cell, notes its scores, and pushes its premises. The choice is the best product (the first
among equals: rules in their order, then splits from the left), or one drawn in proportion to its weight.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from structdep.cells import over_splits, product, summed_variables
from structdep.deduction import Atom
from structdep.engine import Arrays
from structdep.layout import Layout
from structdep.plan import Plan
from structdep.rewriting import Fold
from structdep.scheduling import width_of_axiom
from structdep.semirings import Semiring


class Stack(NamedTuple):
    """Cells to visit: `cells` [depth, arity, batch], of which the first `size` [batch] count."""

    cells: jax.Array
    size: jax.Array

    def push(self, cell: jax.Array, wanted: jax.Array) -> Stack:
        batch = jnp.arange(len(self.size))
        row = jnp.where(wanted, self.size, len(self.cells))
        return Stack(self.cells.at[row, :, batch].set(cell.T, mode="drop"), self.size + wanted)

    def pop(self) -> tuple[jax.Array, jax.Array, Stack]:
        top = jnp.maximum(self.size - 1, 0)
        cell = self.cells[top, :, jnp.arange(len(self.size))].T
        return cell, self.size > 0, Stack(self.cells, jnp.maximum(self.size - 1, 0))


@dataclass(frozen=True)
class Choices:
    """The products that make a kind of item, and where each has its premises and scores."""

    fold: Fold
    layout: Layout

    @cached_property
    def variables(self) -> tuple[str, ...]:
        summed = (name for term in self.fold.terms for name in summed_variables(self.fold, term))
        own = (p.name for p in self.fold.conclusion.positions)
        return tuple(dict.fromkeys((*own, *summed, "", "n")))

    @cached_property
    def splits(self) -> list[tuple[int, ...]]:
        """For each product, how many splits there are, along each summed position."""
        return [(self.layout.nodes,) * len(summed_variables(self.fold, term)) for term in self.fold.terms]

    def choose(
        self,
        cell: jax.Array,
        lengths: jax.Array,
        tables: Arrays,
        charts: Arrays,
        semiring: Semiring,
        key: jax.Array | None,
    ) -> tuple[jax.Array, jax.Array]:
        """The number of the chosen product, `[batch]`, and the node of each variable, `[variables, batch]`."""
        at = dict(zip((p.name for p in self.fold.conclusion.positions), cell, strict=True))
        at |= {"": jnp.zeros_like(lengths), "n": lengths}
        values = []
        for term in self.fold.terms:
            grid = over_splits(summed_variables(self.fold, term), self.layout, at)
            value = product(term, grid, self.layout, tables, charts, semiring)
            values.append(value.reshape(-1, len(lengths)))
        every = jnp.concatenate(values)
        if key is None:
            flat = jnp.argmax(every == semiring.sum(every, 0), axis=0)
        else:
            flat = jax.random.categorical(key, every, axis=0)
        starts = np.cumsum([0, *(prod(sizes) for sizes in self.splits)])
        number = jnp.searchsorted(jnp.asarray(starts[1:]), flat, side="right", method="compare_all")
        split = flat - jnp.asarray(starts)[number]
        return number, jnp.stack([self._node(name, number, split, at) for name in self.variables])

    def _node(self, name: str, number: jax.Array, split: jax.Array, at: dict[str, jax.Array]) -> jax.Array:
        if name in at:
            return at[name]
        strides = [self._stride(name, summed_variables(self.fold, term)) for term in self.fold.terms]
        return split // jnp.asarray(strides)[number] % self.layout.nodes

    def _stride(self, name: str, summed: tuple[str, ...]) -> int:
        return self.layout.nodes ** (len(summed) - 1 - summed.index(name)) if name in summed else 1

    def places(self, name: str, number: jax.Array, nodes: jax.Array) -> Iterable[tuple[jax.Array, jax.Array]]:
        """Items or scores of this name in the chosen product: whether any, `[batch]`, and where, `[arity, batch]`."""
        rows = [[atom for atom in term if atom.symbol.name == name] for term in self.fold.terms]
        for slot in range(max(map(len, rows))):
            atoms = [row[slot] if slot < len(row) else None for row in rows]
            arity = next(len(atom.positions) for atom in atoms if atom)
            variables = jnp.asarray([self._names(atom, arity) for atom in atoms])
            shifts = jnp.asarray([[p.shift for p in atom.positions] if atom else [0] * arity for atom in atoms])
            wanted = jnp.asarray([atom is not None for atom in atoms])[number]
            yield wanted, jnp.take_along_axis(nodes, variables[number].T, axis=0) + shifts[number].T

    def _names(self, atom: Atom | None, arity: int) -> list[int]:
        return [self.variables.index(p.name) for p in atom.positions] if atom else [0] * arity


State = tuple[dict[str, Stack], Arrays, jax.Array | None]


def derivation(
    plan: Plan,
    layout: Layout,
    tables: Arrays,
    charts: Arrays,
    lengths: jax.Array,
    exists: jax.Array,
    semiring: Semiring,
    key: jax.Array | None = None,
) -> Arrays:
    """How often one derivation uses each score: arrays like `tables`, all 0 in sentences where none `exists`.

    Without a `key` it is a best one, else one drawn with probability exp(its score - the sum of all).
    """
    kinds = {fold.conclusion.symbol.name: Choices(fold, layout) for fold in (*plan.items, plan.goal)}
    axioms = [(axiom.symbol.name, width_of_axiom(axiom)) for axiom in plan.system.axioms]
    stacks = {name: _empty(kind.fold.conclusion, layout, len(lengths)) for name, kind in kinds.items()}
    goal = plan.goal.conclusion.symbol.name
    stacks[goal] = stacks[goal]._replace(size=exists.astype(jnp.int32))
    uses = {name: jnp.zeros(table.shape, table.dtype) for name, table in tables.items()}

    def visit(name: str, state: State) -> State:
        stacks, uses, key = state
        key, own = (None, None) if key is None else jax.random.split(key)
        cell, active, popped = stacks[name].pop()
        stacks = stacks | {name: popped}
        number, nodes = kinds[name].choose(cell, lengths, tables, charts, semiring, own)
        for score in uses:
            for wanted, place in kinds[name].places(score, number, nodes):
                used = uses[score].at[(*place, jnp.arange(len(lengths)))].add(wanted & active, mode="drop")
                uses = uses | {score: used}
        for premise, kind in kinds.items():
            for wanted, place in kinds[name].places(premise, number, nodes):
                left, right = (place[end] for end in kind.fold.conclusion.ends)
                wanted &= active
                for width in (width for name, width in axioms if name == premise):
                    wanted &= right - left != width
                stacks = stacks | {premise: stacks[premise].push(place, wanted)}
        return stacks, uses, key

    def step(state: State) -> State:
        for name in (name for name in kinds if name != goal):
            state = visit(name, state)
        return state

    def waiting(state: State) -> jax.Array:
        return jnp.stack([stack.size for stack in state[0].values()]).any()

    return lax.while_loop(waiting, step, visit(goal, (stacks, uses, key)))[1]


def _empty(conclusion: Atom, layout: Layout, batch: int) -> Stack:
    return Stack(jnp.zeros((layout.nodes, len(conclusion.positions), batch), jnp.int32), jnp.zeros(batch, jnp.int32))

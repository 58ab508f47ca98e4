"""From a filled chart down: one derivation of each sentence, by visiting O(n) cells and recomputing only those.

Every kind of item has a stack of cells to visit. A step takes the top of each stack, in all sentences at once, chooses
a product that makes this cell, notes its scores, and pushes its premises. The choice is the best product (the first
among equals: rules in their order, then splits from the left), or one drawn in proportion to its weight.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from structdep.cells import Bindings, chart_value, over_splits, table_value
from structdep.deduction import Atom
from structdep.engine import Arrays
from structdep.groups import Group, Member, align, is_nothing
from structdep.layout import Layout
from structdep.plan import Plan
from structdep.rewriting import summed_variables
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
    """The products that make the items of a family, and where each has its premises and scores.

    A cell is `[1 + arity, batch]`: the item's row in its family, and its positions.
    """

    plan: Plan
    group: Group
    layout: Layout

    @cached_property
    def member(self) -> np.ndarray:
        """The number in the group of the item that has each row."""
        rows = [self.plan.rows.get(fold.conclusion.symbol, 0) for fold in self.group.folds]
        return np.array([rows.index(row) if row in rows else 0 for row in range(max(rows) + 1)])

    @cached_property
    def terms(self) -> list[tuple[tuple[Atom, ...], ...]]:
        return list(self.group.terms)

    @cached_property
    def summed(self) -> list[tuple[str, ...]]:
        """For each product, the positions that it sums."""
        return [summed_variables(self.group.conclusion, tuple(slot[0] for slot in term)) for term in self.terms]

    @cached_property
    def variables(self) -> tuple[str, ...]:
        own = (p.name for p in self.group.conclusion.positions)
        return tuple(dict.fromkeys((*own, *(name for summed in self.summed for name in summed), "", "n")))

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
        at = dict(zip((p.name for p in self.group.conclusion.positions), cell[1:], strict=True))
        at |= {"": jnp.zeros_like(lengths), "n": lengths}
        member = jnp.asarray(self.member)[cell[0]]
        values = []
        for term, summed in zip(self.terms, self.summed, strict=True):
            grid = over_splits(summed, self.layout, at)
            factors = [self._factor(slot, member, grid, tables, charts, semiring) for slot in term]
            values.append(reduce(semiring.times, factors).reshape(-1, len(lengths)))
        every = jnp.concatenate(values)
        if key is None:
            flat = jnp.argmax(every == semiring.sum(every, 0), axis=0)
        else:
            flat = jax.random.categorical(key, every, axis=0)
        starts = np.cumsum([0, *(self.layout.nodes ** len(summed) for summed in self.summed)])
        number = jnp.searchsorted(jnp.asarray(starts[1:]), flat, side="right", method="compare_all")
        split = flat - jnp.asarray(starts)[number]
        return number, jnp.stack([self._node(name, number, split, at) for name in self.variables])

    def _factor(
        self,
        slot: tuple[Atom, ...],
        member: jax.Array,
        at: Bindings,
        tables: Arrays,
        charts: Arrays,
        semiring: Semiring,
    ) -> jax.Array:
        """The values of a factor: of an item in the row that the member of the group has, or of the score it has."""
        if slot[0].is_item:
            family, rows = self.plan.places(slot)
            return chart_value(charts, family, jnp.asarray(rows)[member], slot[0], at, self.layout, semiring)
        scores = tuple(dict.fromkeys(slot))
        values = jnp.stack([table_value(tables[atom.symbol.name], atom, at, semiring) for atom in scores])
        which = jnp.asarray([scores.index(atom) for atom in slot])[member]
        return jnp.take_along_axis(values, which[(None,) * (values.ndim - 1)], axis=0)[0]

    def _node(self, name: str, number: jax.Array, split: jax.Array, at: dict[str, jax.Array]) -> jax.Array:
        if name in at:
            return at[name]
        strides = [self._stride(name, summed) for summed in self.summed]
        return split // jnp.asarray(strides)[number] % self.layout.nodes

    def _stride(self, name: str, summed: tuple[str, ...]) -> int:
        return self.layout.nodes ** (len(summed) - 1 - summed.index(name)) if name in summed else 1

    def places(
        self, name: str, number: jax.Array, row: jax.Array, nodes: jax.Array
    ) -> Iterable[tuple[jax.Array, jax.Array]]:
        """Items of a family, or scores, in the chosen product: whether there is one, `[batch]`, and in which cell."""
        member = jnp.asarray(self.member)[row]
        for table in self._tables(name):
            wanted, rows, variables, shifts = (jnp.asarray(column)[number, member] for column in table)
            place = jnp.take_along_axis(nodes, variables.T, axis=0) + shifts.T
            yield wanted, jnp.concatenate([rows[None], place])

    def _tables(self, name: str) -> Iterable[tuple[np.ndarray, ...]]:
        """For each such factor, by product and member: whether it is there, its row, its variables and their shifts."""
        slots = [[slot for slot in term if self._name(slot) == name] for term in self.terms]
        for number in range(max(map(len, slots))):
            chosen = [own[number] if number < len(own) else None for own in slots]
            arity = next(len(slot[0].positions) for slot in chosen if slot)
            members = range(len(self.group.folds))
            entries = [[self._entry(slot[m] if slot else None, arity) for m in members] for slot in chosen]
            yield tuple(np.array([[entry[column] for entry in row] for row in entries]) for column in range(4))

    def _name(self, slot: tuple[Atom, ...]) -> str:
        return self.plan.places(slot)[0] if slot[0].is_item else slot[0].symbol.name

    def _entry(self, atom: Atom | None, arity: int) -> tuple[bool, int, list[int], list[int]]:
        if atom is None or is_nothing(atom):
            return False, 0, [0] * arity, [0] * arity
        variables = [self.variables.index(p.name) for p in atom.positions]
        return True, self.plan.rows.get(atom.symbol, 0), variables, [p.shift for p in atom.positions]


def choices(plan: Plan, layout: Layout) -> dict[str, Choices]:
    """Of each family, and of the goal."""
    kinds: dict[str, list[Member]] = {}
    families = plan.families | {plan.goal.conclusion.symbol: "goal"}
    for fold in (*plan.items, plan.goal):
        kinds.setdefault(families[fold.conclusion.symbol], []).append(Member.of(fold, families))
    return {name: Choices(plan, align(members), layout) for name, members in kinds.items()}


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
    kinds = choices(plan, layout)
    axioms = [(plan.families[a.symbol], plan.rows[a.symbol], width_of_axiom(a)) for a in plan.system.axioms]
    stacks = {name: _empty(kind.group.conclusion, layout, len(lengths)) for name, kind in kinds.items()}
    goal = "goal"
    stacks[goal] = stacks[goal]._replace(size=exists.astype(jnp.int32))
    uses = {name: jnp.zeros(table.shape, table.dtype) for name, table in tables.items()}

    def visit(name: str, state: State) -> State:
        stacks, uses, key = state
        key, own = (None, None) if key is None else jax.random.split(key)
        cell, active, popped = stacks[name].pop()
        stacks = stacks | {name: popped}
        number, nodes = kinds[name].choose(cell, lengths, tables, charts, semiring, own)
        for score in uses:
            for wanted, place in kinds[name].places(score, number, cell[0], nodes):
                used = uses[score].at[(*place[1:], jnp.arange(len(lengths)))].add(wanted & active, mode="drop")
                uses = uses | {score: used}
        for premise, kind in kinds.items():
            for wanted, place in kinds[name].places(premise, number, cell[0], nodes):
                left, right = (place[1 + end] for end in kind.group.conclusion.ends)
                wanted &= active
                for row, width in ((row, width) for name, row, width in axioms if name == premise):
                    wanted &= (place[0] != row) | (right - left != width)
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
    cells = jnp.zeros((layout.nodes, 1 + len(conclusion.positions), batch), jnp.int32)
    return Stack(cells, jnp.zeros(batch, jnp.int32))

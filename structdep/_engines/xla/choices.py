"""The products that make an item, how to choose one of them, and where its premises and scores are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import chain, product
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from structdep._engines.xla.cells import Bindings, chart_value, over_splits, table_value
from structdep._engines.xla.steps import Arrays
from structdep._lowering.groups import Group, Member, align, is_nothing
from structdep._lowering.layout import Layout
from structdep._lowering.plan import Plan
from structdep._lowering.unfolding import summed_variables
from structdep.deduction import Atom, Item, Position, Score
from structdep.deduction.widths import width_of_axiom
from structdep.semirings import KBest, MaxPlus, Semiring
from structdep.semirings.reductions import stored

GOAL = "goal"


@dataclass(frozen=True)
class Choices:
    """The products that make the items of a store, in one order."""

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
        return tuple(dict.fromkeys((*own, *chain(*self.summed), "", "n")))

    def choose(
        self,
        cell: jax.Array,
        lengths: jax.Array,
        tables: Arrays,
        charts: Arrays,
        semiring: Semiring,
        keys: jax.Array | None,
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        """The entry of the chosen product, `[batch]`, the nodes of variables and the ranks of premises, `[.., batch]`.

        The cells `[1 + arity, batch]` are rows of items, and their positions. In `KBest` they end with a rank: the
        product is that of the best value, the second best, .., and each of its premises has such a rank, too.
        """
        at = dict(zip((p.name for p in self.group.conclusion.positions), cell[1:], strict=False))
        at |= {"": jnp.zeros_like(lengths), "n": lengths}
        member = jnp.asarray(self.member)[cell[0]]
        values: dict[tuple[int, tuple[int, ...]], jax.Array] = {}
        for number, (term, summed) in enumerate(zip(self.terms, self.summed, strict=True)):
            grid = over_splits(summed, self.layout, at)
            factors = [self._factor(slot, member, grid, tables, charts, semiring) for slot in term]
            for of_premises, value in _products(factors, semiring):
                values[number, of_premises] = value.reshape(-1, len(lengths))
        every = jnp.concatenate(list(values.values()))
        if isinstance(semiring, KBest):
            flat = _nth(every, cell[-1], semiring.k)
        else:
            if keys is not None:  # the greatest of values with such noise is each with probability exp(value - sum)
                noise = jax.vmap(lambda key: jax.random.gumbel(key, every.shape[:1], every.dtype), out_axes=1)(keys)
                every, semiring = every + noise, MaxPlus()
            best = stored(semiring.fold([([every], 1)]))
            flat = jnp.argmax(every == best, axis=0)
        starts = np.cumsum([0, *map(len, values.values())])
        which = (flat >= starts[1:-1, None]).sum(0)
        split = flat - jnp.asarray(starts)[which]
        chosen = jnp.asarray([number for number, _ in values])[which]
        nodes = jnp.stack([self._node(name, chosen, split, at) for name in self.variables])
        most = max(len(own) for _, own in values)
        ranks = np.array([[*own, *[0] * (most - len(own))] for _, own in values], np.int32)
        return chosen * len(self.group.folds) + member, nodes, jnp.asarray(ranks)[which].T

    def _factor(
        self,
        slot: tuple[Atom, ...],
        member: jax.Array,
        at: Bindings,
        tables: Arrays,
        charts: Arrays,
        semiring: Semiring,
    ) -> Any:
        """The values of a factor: of an item in the row that the member of the group has, or of the score it has."""
        if slot[0].is_item:
            store, rows = self.plan.places(slot)
            return chart_value(charts, store, jnp.asarray(rows)[member], slot[0], at, self.layout, semiring)
        scores = tuple(dict.fromkeys(slot))
        values = jnp.stack([table_value(tables[atom.symbol.name], atom, at, MaxPlus()) for atom in scores])
        which = jnp.asarray([scores.index(atom) for atom in slot])[member]
        which = which[(None,) * (values.ndim - 1)]
        return jnp.take_along_axis(values, which, axis=0, mode="promise_in_bounds")[0]

    def _node(self, name: str, number: jax.Array, split: jax.Array, at: dict[str, jax.Array]) -> jax.Array:
        if name in at:
            return at[name]
        strides = [self._stride(name, summed) for summed in self.summed]
        return split // jnp.asarray(strides)[number] % self.layout.nodes

    def _stride(self, name: str, summed: tuple[str, ...]) -> int:
        return self.layout.nodes ** (len(summed) - 1 - summed.index(name)) if name in summed else 1

    def premises(self, kinds: Mapping[str, Choices]) -> np.ndarray:
        """The items of each entry, `[entries, items, ..]`: kind, row, width beyond that of axioms, positions.

        The width and each position are forms. The kind is its number; -1 where there is no item, or where nothing makes
        it but an axiom.
        """
        numbers = {name: number for number, name in enumerate(kinds)}
        widest: dict[Item | Score, int] = {}
        for axiom in self.plan.system.axioms:
            widest[axiom.symbol] = max(width_of_axiom(axiom), widest.get(axiom.symbol, -1))

        def columns(atom: Atom) -> list[int]:
            left, right = atom.span
            width = self._form([(right, 1), (left, -1)], -widest.get(atom.symbol, -1))
            positions = [self._form([(position, 1)]) for position in atom.positions]
            rest = self._form([]) * (self.plan.arity - len(positions))
            kind = numbers.get(self.plan.stores[atom.symbol], -1)
            return [kind, self.plan.rows[atom.symbol], *chain(width, *positions), *rest]

        nothing = [-1, 0, *self._form([]) * (1 + self.plan.arity)]
        return self._table(lambda atom: atom.is_item, columns, nothing)

    def scores(self, offsets: Mapping[str, int]) -> np.ndarray:
        """The scores of each entry: where they are in an array of all tables, as forms `[entries, scores, ..]`.

        Tables begin at `offsets`. Where there is no score, it is at -1.
        """

        def columns(atom: Atom) -> list[int]:
            strides = [self.layout.nodes**power for power in reversed(range(len(atom.positions)))]
            return self._form(zip(atom.positions, strides, strict=True), offsets[atom.symbol.name])

        return self._table(lambda atom: not atom.is_item, columns, self._form([], -1))

    def _table(
        self, wanted: Callable[[Atom], bool], columns: Callable[[Atom], list[int]], nothing: list[int]
    ) -> np.ndarray:
        entries = [
            [columns(slot[m]) for slot in term if not is_nothing(slot[m]) and wanted(slot[m])]
            for term in self.terms
            for m in range(len(self.group.folds))
        ]
        most = max(map(len, entries))
        return np.array([own + [nothing] * (most - len(own)) for own in entries], np.int32).reshape(
            len(entries), most, len(nothing)
        )

    def _form(self, positions: Iterable[tuple[Position, int]], constant: int = 0) -> list[int]:
        """A linear form of the nodes of `variables`, its constant first: the sum of positions times factors."""
        form = [constant] + [0] * len(self.variables)
        for position, factor in positions:
            form[0] += factor * position.shift
            form[1 + self.variables.index(position.name)] += factor
        return form


def _products(factors: Sequence[Any], semiring: Semiring) -> Iterator[tuple[tuple[int, ...], jax.Array]]:
    """The product of some factors or, in `KBest`, of its premises by rank: those that can be among the best."""
    if not isinstance(semiring, KBest):
        yield (), reduce(semiring.times, factors)
        return
    premises = [factor for factor in factors if isinstance(factor, tuple)]
    rest = [factor for factor in factors if not isinstance(factor, tuple)]
    for ranks in product(range(semiring.k), repeat=len(premises)):
        if prod(rank + 1 for rank in ranks) <= semiring.k:
            yield ranks, sum([own[rank] for own, rank in zip(premises, ranks, strict=True)] + rest)


def _nth(values: jax.Array, rank: jax.Array, k: int) -> jax.Array:
    """The number of the row with the value of a rank, in each column: the same row for no two of the k ranks."""
    best = jax.lax.top_k(values.T, min(k, len(values)))[1]
    return jnp.take_along_axis(best, rank[:, None], axis=1, mode="clip")[:, 0]


def choices(plan: Plan, layout: Layout) -> dict[str, Choices]:
    """Of each store, those that are made last first; then of the goal."""
    members: dict[str, list[Member]] = {}
    stores = plan.stores | {plan.goal.conclusion.symbol: GOAL}
    for fold in (*plan.items, plan.goal):
        members.setdefault(stores[fold.conclusion.symbol], []).append(Member.of(fold, stores))
    names = [*sorted(members.keys() - {GOAL}, reverse=True), GOAL]
    return {name: Choices(plan, align(members[name]), layout) for name in names}

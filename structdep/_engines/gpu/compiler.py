"""From a plan to the programs that fill its charts, and that go back through them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace

from structdep._engines.gpu.packing import Packing
from structdep._engines.gpu.program import Item, Program, Size, Step, Term
from structdep._engines.xla.filling import make_steps
from structdep._engines.xla.steps import Step as Group
from structdep._lowering.layout import Layout
from structdep._lowering.plan import Block, Plan
from structdep._lowering.views import View


def to_fill(plan: Plan, layout: Layout, packing: Packing) -> Program:
    """Items with their products, in the order in which they can be made."""
    return Program([Step(tuple(group)) for group in _groups(plan, layout, packing)])


def to_go_back(plan: Plan, layout: Layout, packing: Packing) -> Program:
    """Items in the reverse order, with the shares that they give."""
    groups = [tuple(group) for group in _groups(plan, layout, packing)]
    return Program([Step(tuple(replace(item, terms=()) for item in g), _phases(g)) for g in reversed(groups)])


def _groups(plan: Plan, layout: Layout, packing: Packing) -> Iterator[Iterator[Item]]:
    """All that is the same for a group of items: the items, each by itself."""
    none, one = (make_steps(plan, layout, Block(width, width, plan.groups)) for width in (0, 1))
    for group, step, wider in zip(plan.groups, none, one, strict=True):
        leasts = [plan.least[fold.conclusion.symbol] for fold in group.folds]
        yield (_item(step, wider, member, least, packing) for member, least in enumerate(leasts))


def _item(step: Group, wider: Group, member: int, least: int, packing: Packing) -> Item:
    targets = tuple(packing.address(view, member) for view in step.targets)
    sizes = dict(_sizes(step.targets, wider.targets))
    lanes = tuple(range(-len(step.shape) + (step.members > 1), 0))
    terms = []
    for (views, summed), (larger, _), owners in zip(step.products, wider.products, step.owners, strict=True):
        if member in owners:
            loops = tuple(range(-len(step.shape) - summed, -len(step.shape)))
            own = tuple(packing.address(view, member) for view in views)
            terms.append(Term(targets[0], targets[0], own, lanes, loops, sizes | dict(_sizes(views, larger))))
    return Item(least, targets, lanes, sizes, tuple(terms))


def _sizes(views: Iterable[View], wider: Iterable[View]) -> Iterator[tuple[int, Size]]:
    """Of the axes of a grid, counted from its last, by what they are at widths 0 and 1."""
    for view, larger in zip(views, wider, strict=True):
        for dim, more in zip(view.dims[1:], larger.dims[1:], strict=True):
            if dim.axis is not None:
                yield dim.axis - view.rank, (dim.size, more.size - dim.size)


def _phases(items: Iterable[Item]) -> tuple[tuple[Term, ...], ...]:
    """The shares of all factors of all products, so that no two of a phase add to the same array."""
    phases: list[dict[Hashable, Term]] = []
    for share in (share for item in items for term in item.terms for share in _shares(term)):
        array = share.made.array
        phase = next((own for own in phases if array not in own), None)
        if phase is None:
            phases.append(phase := {})
        phase[array] = share
    return tuple(tuple(phase.values()) for phase in phases)


def _shares(term: Term) -> Iterator[Term]:
    """For each factor a term that adds to it: lanes have its cells, and loop over all other axes."""
    axes = (*term.loops, *term.lanes)
    for factor in term.factors:
        lanes = tuple(axis for axis in axes if axis in factor.steps)
        loops = tuple(axis for axis in axes if axis not in factor.steps)
        yield replace(term, made=factor, lanes=lanes, loops=loops)

"""Rules as they are drawn: rules that differ only in the states of their items are one, with arcs between its nodes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from structdep.deduction import Atom, DeductionSystem, Either, Position, Rule

Place = tuple[str, int]
"""A position of an item, by the item's kind and the number of the position."""


@dataclass(frozen=True)
class Link:
    """An arc that a rule adds: `sure`, or one of several or none; `directed`, or either way."""

    head: Position
    dependent: Position
    sure: bool = True
    directed: bool = True


@dataclass(frozen=True)
class Schema:
    """One or more rules over the same kinds of items at the same positions; `notes` are their other scores."""

    premises: tuple[Atom, ...]
    conclusion: Atom
    links: tuple[Link, ...] = ()
    notes: tuple[str, ...] = ()


def kind(atom: Atom) -> str:
    """The name of an item, without the state that items of one class differ in."""
    return getattr(atom.symbol, "state_class", "") or atom.symbol.name


def schemas(system: DeductionSystem) -> list[Schema]:
    """The rules of a system, in their order.

    Example:
        >>> import structdep as sd
        >>> [len(schemas(system)) for system in (sd.charts.eisner(), sd.charts.one_endpoint_crossing())]
        [4, 44]
    """
    groups: dict[object, list[Rule]] = {}
    for number, rule in enumerate(system.rules):
        atoms = (*rule.premises, rule.conclusion)
        has_states = any(getattr(atom.symbol, "state_class", "") for atom in atoms)
        shape = tuple((kind(atom), atom.positions) for atom in atoms)
        groups.setdefault(shape if has_states else number, []).append(rule)
    return [_schema(rules[0]) if len(rules) == 1 else _merged(rules) for rules in groups.values()]


def _schema(rule: Rule) -> Schema:
    sure = {factor for factor in rule.factors if isinstance(factor, Atom)}
    links = tuple(Link(arc.positions[0], arc.positions[1], arc in sure) for arc in _arcs(rule))
    notes = tuple(note for factor in rule.factors for note in _notes(factor))
    return Schema(rule.premises, rule.conclusion, links, notes)


def _notes(factor: Atom | Either) -> list[str]:
    """The scores that are not arcs; alternatives, a line each, if they have any."""
    if isinstance(factor, Atom):
        return [] if factor.is_item or factor.symbol.name == "arc" else [repr(factor)]
    lines = [" ".join(map(repr, option.factors)) for option in factor.options]
    only_arcs = all(isinstance(f, Atom) and f.symbol.name == "arc" for option in factor.options for f in option.factors)
    return [] if only_arcs else [lines[0], *("⊕ " + line for line in lines[1:])]


def _merged(rules: list[Rule]) -> Schema:
    """Arcs of one direction are directed; those that each rule has are sure."""
    sets = [{arc.positions for arc in _arcs(rule)} for rule in rules]
    links = []
    for head, dependent in sorted(set().union(*sets)):
        both = any((dependent, head) in arcs for arcs in sets)
        if not both or head < dependent:
            sure = all(arcs & {(head, dependent), (dependent, head)} for arcs in sets)
            links.append(Link(head, dependent, sure, directed=not both))
    notes = dict.fromkeys(repr(s) for rule in rules for s in rule.scores if s.symbol.name != "arc")
    return Schema(rules[0].premises, rules[0].conclusion, tuple(links), tuple(notes))


def _arcs(rule: Rule) -> list[Atom]:
    return [score for score in rule.scores if score.symbol.name == "arc"]


def heads(found: Sequence[Schema]) -> set[Place]:
    """The positions of items that can still be an end of an arc, there or in an item that is built from it."""
    active = set[Place]()
    while more := {place for rule in found for place in _active(rule, active)} - active:
        active |= more
    return active


def _active(rule: Schema, active: set[Place]) -> Iterator[Place]:
    ends = {end for link in rule.links for end in (link.head, link.dependent)}
    ends |= {p for m, p in enumerate(rule.conclusion.positions) if (kind(rule.conclusion), m) in active}
    for premise in rule.premises:
        yield from ((kind(premise), m) for m, p in enumerate(premise.positions) if p in ends)


def joints(found: Sequence[Schema], active: set[Place]) -> set[Place]:
    """The positions of items that meet such a position of the item beside them, and are none themselves."""
    meeting = set[Place]()
    for rule in found:
        for a, b in ((a, b) for a in rule.premises for b in rule.premises if a is not b):
            met = {p for m, p in enumerate(b.positions) if (kind(b), m) in active}
            meeting |= {(kind(a), m) for m, p in enumerate(a.inside) if p in met}
    return meeting - active


def sides(found: Sequence[Schema]) -> dict[str, bool]:
    """Whether the exterior position of an item is at its left, where the rules leave no choice.

    It is a node of a neighbour in some rule, or that of an item that is built from this one.
    """
    seen: dict[str, set[bool]] = {}
    for rule in found:
        for number, premise in enumerate(rule.premises):
            for other, neighbour in enumerate(rule.premises):
                if premise.is_exterior and other != number and premise.positions[-1] in neighbour.inside:
                    seen.setdefault(kind(premise), set()).add(other < number)
    passed = [
        {kind(premise), kind(rule.conclusion)}
        for rule in found
        for premise in rule.premises
        if premise.is_exterior
        and rule.conclusion.is_exterior
        and premise.positions[-1] == rule.conclusion.positions[-1]
    ]
    for _ in passed:
        for pair in passed:
            both = set[bool]().union(*(seen.get(name, set()) for name in pair))
            seen |= dict.fromkeys(pair, both)
    return {name: True in both for name, both in seen.items() if len(both) == 1}


def order(rule: Schema, left: dict[str, bool]) -> list[Position]:
    """All nodes of a rule from left to right."""
    nodes = list(dict.fromkeys(p for premise in rule.premises for p in premise.inside))
    more = [(p, False) for p in rule.conclusion.inside]
    more += [(a.positions[-1], left.get(kind(a), False)) for a in (*rule.premises, rule.conclusion) if a.is_exterior]
    more += [(end, False) for link in rule.links for end in (link.head, link.dependent)]
    for position, first in more:
        if position not in nodes:
            nodes.insert(_place(position, nodes, first), position)
    return nodes


def _place(position: Position, nodes: list[Position], first: bool) -> int:
    near = [m for m, node in enumerate(nodes) if node.name == position.name]
    before = [m for m in near if nodes[m] < position]
    if near:
        return before[-1] + 1 if before else near[0]
    return 0 if first else len(nodes)

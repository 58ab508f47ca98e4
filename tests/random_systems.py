"""Legal deduction systems at random: all that the notation allows of items and scores of up to three positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from structdep.deduction import Atom, DeductionSystem, Item, Position, Product, Rule, Score, arc, either, indices, n

i, j, k, m, x, y, z = indices("i j k m x y z")
SCORES = (
    (Score("word"), 1),
    (Score("word_or_sentinel", sentinel=True), 1),
    (arc, 2),
    (arc, 2),
    (Score("pair"), 2),
    (Score("pair_or_sentinel", sentinel=True), 2),
    (Score("triple"), 3),
    (Score("triple_or_sentinel", sentinel=True), 3),
)
"""Each with its number of positions."""
NO_SHIFTS, SHIFTS = st.just(0), st.sampled_from([0, 0, 0, 0, -1, 1])

Draw = Any
Shifts = st.SearchStrategy[int]


@st.composite
def systems(draw: Draw) -> DeductionSystem:
    """A system of one to four items, each a span (P), or one with a position inside (T) or outside (X)."""
    kinds = ["P", *draw(st.lists(st.sampled_from("PTX"), max_size=3))]
    with_states = draw(st.booleans())
    items = [
        Item(f"{kind}{number}", exterior=kind == "X", state_class=kind if with_states and number else "")
        for number, kind in enumerate(kinds)
    ]
    others = draw(st.lists(axioms_of(items), max_size=3, unique=True))
    axioms = list(dict.fromkeys([draw(axioms_of(items[:1])), *others]))
    last = draw(st.sampled_from([n, n + 1]))
    shifts = draw(st.sampled_from([NO_SHIFTS, SHIFTS]))
    derived = list(dict.fromkeys(axiom.symbol for axiom in axioms))
    rules: list[Rule] = []
    for _ in range(draw(st.integers(2, 12))):
        rule = draw(rules_of(derived, items, shifts, first=not rules))
        if legal(axioms, [*rules, rule], goal_of(items[0], last)):
            rules.append(rule)
            derived += [] if rule.conclusion.symbol in derived else [rule.conclusion.symbol]
    assume(rules)
    if draw(st.booleans()):
        goal = goal_of(Item("G"), last)
        tried = draw(st.lists(goal_rules(derived, goal, shifts), min_size=1, max_size=3))
        for rule in tried:
            rules += [rule] if legal(axioms, [*rules, rule], goal) else []
    else:
        goal = goal_of(draw(st.sampled_from([item for item in derived if not item.exterior])), last)
    found = legal(axioms, rules, goal)
    assume(found)
    return found  # type: ignore[return-value]


def legal(axioms: Sequence[Atom], rules: Sequence[Rule], goal: Atom) -> DeductionSystem | None:
    used = dict.fromkeys(score.symbol for rule in rules for score in rule.scores)
    try:
        return DeductionSystem("random", tuple(axioms), tuple(rules), goal, scores=tuple(used))  # type: ignore[arg-type]
    except ValueError:
        return None


def goal_of(item: Any, last: Position) -> Atom:
    return at(item, 0, k, last) if item.name[0] == "T" else at(item, 0, last)


def at(item: Item, *positions: Position | int) -> Atom:
    return Atom(item, tuple(Position("", p) if isinstance(p, int) else p for p in positions))


@st.composite
def axioms_of(draw: Draw, items: Sequence[Item]) -> Atom:
    item, width = draw(st.sampled_from(items)), draw(st.integers(0, 2))
    if item.name[0] == "P":
        return at(item, i, i + width)
    if item.name[0] == "T":
        return at(item, i, i + draw(st.integers(0, width)), i + width)
    return at(item, i, i + width, draw(st.sampled_from([x, x, i, i - 1, i + width, i + width + 1])))


@st.composite
def rules_of(draw: Draw, derived: Sequence[Item], items: Sequence[Item], shifts: Shifts, first: bool) -> Rule:
    """A rule in words: its premises lie side by side in the span of its conclusion. The first scores an arc."""
    item = draw(st.sampled_from(items))
    conclusion = at(item, *{"P": (i, j), "T": (i, m, j), "X": (i, j, x)}[item.name[0]])
    if draw(st.booleans()):
        spans = [(i, k + draw(shifts)), (k + draw(shifts), j)]
    else:
        spans = [draw(st.sampled_from([(i, j), (i, j), (i + 1, j), (i, j - 1)]))]
    premises = [draw(premises_of(derived, span, (i, j, k, m, x), shifts)) for span in spans]
    return draw(scored(premises, conclusion, (), shifts, first))


@st.composite
def goal_rules(draw: Draw, derived: Sequence[Item], goal: Atom, shifts: Shifts) -> Rule:
    """A rule for the goal alone, which may name the root, the last word and the nodes beside them."""
    start, end = goal.span
    fixed = (Position(""), Position("", 1), n, n - 1, end)
    if draw(st.booleans()):
        spans = [(start, k + draw(shifts)), (k + draw(shifts), end)]
    else:
        spans = [draw(st.sampled_from([(start, end), (start + 1, end), (start, end - 1)]))]
    premises = [draw(premises_of(derived, span, (k, m, y, *fixed), shifts)) for span in spans]
    return draw(scored(premises, goal, fixed, shifts, False))


@st.composite
def premises_of(
    draw: Draw, derived: Sequence[Item], span: tuple[Position, Position], others: Sequence[Position], shifts: Shifts
) -> Atom:
    """A derived item of this span, with its third position at one of the others, or at one that it alone names."""
    item = draw(st.sampled_from(derived))
    if item.name[0] in "PG":
        return at(item, *span)
    third = draw(st.sampled_from([*others, y, z])) + draw(shifts)
    return at(item, span[0], third, span[1]) if item.name[0] == "T" else at(item, *span, third)


@st.composite
def scored(
    draw: Draw, premises: Sequence[Atom], conclusion: Atom, fixed: Sequence[Position], shifts: Shifts, first: bool
) -> Rule:
    """The rule with up to two scores or choices of scores, at positions that it names."""
    named = [p for atom in (*premises, conclusion) for p in atom.positions if p.is_variable]
    some = list(dict.fromkeys([*named, *fixed]))

    @st.composite
    def plain(draw: Draw) -> Atom:
        score, arity = draw(st.sampled_from(SCORES))
        order = draw(st.permutations(some)) if len(some) >= arity else draw(st.tuples(*[st.sampled_from(some)] * arity))
        return Atom(score, tuple(p + draw(shifts) for p in order[:arity]))

    products = st.lists(plain(), min_size=1, max_size=2).map(lambda atoms: Product(tuple(atoms)))
    choices = st.lists(products, min_size=2, max_size=3).map(lambda options: either(*options))
    factors = draw(st.lists(st.one_of(plain(), plain(), choices), max_size=2))
    if first:
        factors.append(arc[tuple(draw(st.permutations(some))[:2])])
    return Rule((*premises, *factors), conclusion)

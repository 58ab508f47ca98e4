"""Transition scores of charts, against runs of the transition systems themselves."""

from collections import Counter

import pytest

from structdep.charts import arc_eager, arc_hybrid, mhk
from structdep.charts.arc_standard import arc_standard
from structdep.testing import Use, derivation_scores

Stack = tuple[int, ...]
Runs = Counter[tuple[Use, ...]]
Move = tuple[str, int, int]
"""A reduce transition: its name, and where its head and its dependent stand (b0 = 0, s0 = 1, s1 = 2, ..)."""

MOVES: dict[str, list[Move]] = {
    "arc_hybrid": [("la", 0, 1), ("ra", 2, 1)],
    "arc_standard": [("la", 1, 2), ("ra", 2, 1)],
    "mh4": [("la", 0, 1), ("ra", 2, 1), ("la'", 1, 2), ("ra'", 3, 2), ("la2", 0, 2), ("ra2", 3, 1)],
}
TABLES = {"arc_standard": ("", ":s1")}
"""The tables of a reduce transition, where they are not the usual three."""


def runs(name: str, words: int, stack: Stack = (0,), front: int = 1) -> Runs:
    """All runs of a transition system, by the scores that they use."""
    if stack == (0,) and front == words + 1:
        return Counter({(): 1})
    found: Runs = Counter()

    def go_on(uses: list[Use], stack: Stack, front: int) -> None:
        for rest, times in runs(name, words, stack, front).items():
            found[tuple(sorted((*uses, *rest)))] += times

    if front <= words:
        go_on([("shift", (stack[-1], front))], (*stack, front), front + 1)
    nodes = (front, *reversed(stack))
    for move, head, dependent in MOVES[name]:
        if len(nodes) > max(head, dependent) and nodes[head] <= words and nodes[dependent] != 0:
            places = {"": nodes[1::-1], ":s1": nodes[2:0:-1], ":full": nodes[2::-1]}
            tables = TABLES.get(name, tuple(places))
            uses = [("arc", (nodes[head], nodes[dependent])), *((move + t, places[t]) for t in tables)]
            go_on(uses, tuple(node for node in stack if node != nodes[dependent]), front)
    return found


def arc_eager_runs(words: int, stack: Stack = (0,), front: int = 1, headed: frozenset[int] = frozenset()) -> Runs:
    """All runs of arc-eager, where transitions look at who has a head already."""
    if stack == (0,) and front == words + 1:
        return Counter({(): 1})
    found: Runs = Counter()
    top = stack[-1]

    def go_on(uses: list[Use], stack: Stack, front: int, headed: frozenset[int]) -> None:
        for rest, times in arc_eager_runs(words, stack, front, headed).items():
            found[tuple(sorted((*uses, *rest)))] += times

    if front <= words:
        go_on([("shift", (top, front))], (*stack, front), front + 1, headed)
        go_on([("ra", (top, front)), ("arc", (top, front))], (*stack, front), front + 1, headed | {front})
    if top in headed:
        go_on([("reduce", (top, front))], stack[:-1], front, headed)
    elif top and front <= words:
        go_on([("la", (top, front)), ("arc", (front, top))], stack[:-1], front, headed)
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("name", ["arc_hybrid", "arc_standard", "arc_eager"])
def test_derivations_are_the_runs_of_the_transition_system(name: str, size: int) -> None:
    systems = {"arc_hybrid": arc_hybrid, "arc_standard": arc_standard, "arc_eager": arc_eager}
    found = Counter(uses for uses, *_ in derivation_scores(systems[name](transitions=True), size, {}))
    assert found == (arc_eager_runs(size) if name == "arc_eager" else runs(name, size))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_derivations_of_mh4_are_runs_of_its_transition_system(size: int) -> None:
    found = {uses for uses, *_ in derivation_scores(mhk(4, transitions=True), size, {})}
    assert found <= set(runs("mh4", size))
    assert {uses for uses, *_ in derivation_scores(mhk(3, transitions=True), size, {})} == set(runs("arc_hybrid", size))

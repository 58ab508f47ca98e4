"""`python -m benchmarks.limits`: counts of operations, bounds, and how an interrupted run continues."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from math import comb, isclose
from operator import attrgetter
from pathlib import Path

import jax.numpy as jnp
import pytest

import structdep as sd
from benchmarks import limits
from benchmarks.bounds import EXPONENTIALS, LOGARITHMS, MAXIMA, REALS, Counter, Work, computed, work
from benchmarks.peaks import KINDS, SIZES, add_power
from benchmarks.peers.rows import Row
from structdep.deduction import Atom, Item, Score

Cell = tuple[Item | Score, tuple[int, ...]]
WORDS, NAME = 5, attrgetter("name")


def test_work_of_eisner_is_that_by_hand() -> None:
    """Both complete items and the sum in both incomplete ones add a product for each split; incomplete ones, an arc."""
    nodes = WORDS + 1
    splits, spans = comb(nodes + 1, 3), comb(nodes, 2)  # a span of width w has w splits
    found = work(sd.charts.eisner(), WORDS)
    assert (found.exponentials, found.logarithms) == (3 * splits, 3 * spans)
    assert found.terms == found.multiplications == 3 * splits + 2 * spans
    assert found.additions == 3 * splits - 3 * spans
    assert found.scores == 4 * nodes**2 and found.chart <= 4 * 4 * (spans + nodes)


@pytest.mark.parametrize("system", [sd.charts.eisner(), sd.charts.arc_hybrid(), sd.charts.mhk(4)], ids=NAME)
def test_products_are_those_whose_premises_can_be_derived(system: sd.DeductionSystem) -> None:
    """By trying all nodes for each product, until no other item can be derived."""
    counter = Counter(system, WORDS)
    products = [[fold.conclusion, *term] for fold in counter.encoder.folds for term in fold.terms]
    axioms = {cells[0] for axiom in system.axioms for cells in placed([axiom], counter.nodes)}
    known, steps = set[Cell](), list[tuple[Cell, ...]]()
    while known != (now := axioms | {conclusion for conclusion, *_ in steps}):
        known = now
        steps = [
            cells
            for atoms in products
            for cells in placed(atoms, counter.nodes)
            if all(cell in known for cell, atom in zip(cells[1:], atoms[1:], strict=True) if atom.is_item)
        ]
    sums = {fold.conclusion.symbol for fold in counter.encoder.folds if not counter.encoder.is_assigned(fold)}
    conclusions = [conclusion for conclusion, *_ in steps if conclusion[0] in sums]
    found = work(system, WORDS)
    assert (found.exponentials, found.logarithms) == (len(conclusions), len(set(conclusions)))
    assert (found.terms, found.additions) == (len(steps), len(conclusions) - len(set(conclusions)))
    assert computed(system, WORDS) > found.terms


def placed(atoms: list[Atom], nodes: int) -> Iterator[tuple[Cell, ...]]:
    """The atoms at all nodes of their variables, where the positions of items are in order."""
    names = sorted({name for atom in atoms for name in atom.variables})
    items = [number for number, atom in enumerate(atoms) if atom.is_item]
    for chosen in product(range(nodes), repeat=len(names)):
        at = {"": 0, **dict(zip(names, chosen, strict=True))}
        cells = [(atom.symbol, tuple(at[p.name] + p.shift for p in atom.positions)) for atom in atoms]
        are_nodes = all(0 <= node < nodes for _, own in cells for node in own)
        if are_nodes and all(list(cells[item][1]) == sorted(cells[item][1]) for item in items):
            yield tuple(cells)


def test_bounds_are_work_at_peak_rates() -> None:
    found = Work(600, 400, terms=700, exponentials=500, logarithms=100, scores=1000, chart=2000)
    rates = {MAXIMA: 10.0, REALS: 20.0, EXPONENTIALS: 5.0, LOGARITHMS: 2.0}
    seconds = [found.arithmetic(rates, values) for values in ("scores", "reals", "logs")]
    assert seconds == [100, 50, 60 + 100 + 50]
    assert found.memory({1000: 50.0, 2000: 25.0, 4000: 1.0}) == found.bytes / 25 == 200
    assert found.memory({1000: 50.0}) == 100


def test_measured_operations_compute_what_their_names_say() -> None:
    x, a, b = jnp.array([0.3, -20.2, -400.0]), jnp.array([0.5, 0.5, 0.5]), jnp.array([0.25, 0.0, 0.5])
    assert jnp.allclose(add_power(x, a, b), b + 2 ** (x - a), rtol=2e-5)


def test_values_are_real_numbers_where_the_engine_sums_them() -> None:
    def values(system: str, query: str, engine: str, words: int = 20) -> str:
        return limits.values(Row("limits", system, query, engine, "", words))

    assert values("mh4_trees", limits.LOG_PARTITION, "cpu") == "reals"
    assert values("mh4_trees", limits.LOG_PARTITION, "cpu", words=40) == "logs"
    assert values("mh4_trees", limits.LOG_PARTITION, "xla") == values("eisner", limits.LOG_PARTITION, "cpu") == "logs"
    assert values("eisner", limits.BEST, "cpu") == "scores"
    assert limits.solved(Row("limits", "mh4_trees", limits.BEST, "cpu", "")).name == "mh4"
    assert isclose(limits.bits_left(jnp.zeros((33, 33)), 32), 32 * 2, rel_tol=1e-5)


def test_an_interrupted_run_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def peaks() -> list[Row]:
        return [Row("peaks", "", name, "machine", "operations/s", runs=[1e9]) for name in (*KINDS, *SIZES)]

    monkeypatch.setattr(limits, "peaks", peaks)
    out = tmp_path / "limits"
    given = ["--engines", "cpu", "--systems", "eisner", "--batch", "2", "--rounds", "3", "--out", str(out)]
    limits.main([*given, "--words", "4"])
    first = json.loads(out.with_suffix(".json").read_text())["rows"]
    limits.main([*given, "--words", "4", "5"])
    rows = json.loads(out.with_suffix(".json").read_text())["rows"]
    assert rows[: len(first)] == first and [row["words"] for row in rows[len(first) :]] == [5, 5]
    lines = out.with_suffix(".md").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("| cpu | best score | `eisner` | 4 |")]
    time, values, arithmetic, memory, ratio = line.split(" | ")[5:10]
    assert values == "scores" and isclose(
        float(ratio), float(time) / max(float(arithmetic), float(memory)), rel_tol=0.02
    )

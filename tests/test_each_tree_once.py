"""Each tree has one derivation: the command that counts tree by tree, and the stronger claim about items of MH_4."""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks import each_tree_once
from benchmarks.trees_to_check import every_tree, is_mh4, random_trees
from structdep.charts import mh4_trees, mhk
from structdep.deduction import DeductionSystem
from structdep.testing import DERIVATIONS, Cell, Derivation, derivations, forest
from structdep.trees import all_trees, is_tree

SOME = ["arc_hybrid_trees", "mh4_trees"]


def test_the_command_counts_all_trees_and_continues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "counts.json"
    command = ["--systems", *SOME, "--words", "4", "--out", str(out)]
    assert each_tree_once.main(command) == 0
    rows = json.loads(out.read_text())
    assert [(row["system"], row["trees"], row["members"], row["wrong"]) for row in rows] == [
        ("arc_hybrid_trees", 125, 55, 0),
        ("mh4_trees", 125, 118, 0),
    ]
    assert each_tree_once.main(command) == 0
    assert json.loads(out.read_text()) == rows
    assert "| mh4_trees | 4 words | 125 | 118 | 0 |" in capsys.readouterr().out


def test_an_ambiguous_system_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(each_tree_once.SYSTEMS, "mh4_trees", mhk(4))
    assert each_tree_once.main(["--systems", "mh4_trees", "--words", "3"]) == 1
    wrong = sum(count != 1 for count in derivations(mhk(4), 3).values())
    assert f"| mh4_trees | 3 words | 16 | 16 | {wrong} |" in capsys.readouterr().out


def test_every_tree_is_listed_once() -> None:
    for words in range(1, 6):
        total = (words + 1) ** (words - 1)
        parts = [every_tree(words, first, min(first + 100, total)) for first in range(0, total, 100)]
        assert sorted(np.concatenate(parts).tolist()) == all_trees(words).tolist()


def test_the_search_finds_the_trees_of_mh4() -> None:
    for words in range(1, 6):
        trees = all_trees(words)
        assert set(map(tuple, trees[is_mh4(trees)].tolist())) == derivations(mhk(4), words).keys()


@pytest.mark.slow
def test_random_trees_are_trees_of_several_lengths() -> None:
    batches = [random_trees(number, 24) for number in range(3)]
    assert [batch.shape[1] for batch in batches] == [10, 17, 24]
    assert all(is_tree(batch).all() for batch in batches)


@pytest.mark.parametrize("words", [4, pytest.param(6, marks=pytest.mark.slow)])
def test_mh4_trees_derives_the_forests_of_each_item_once(words: int) -> None:
    """Items of two heads: those of MH_4. Items of three heads: those with an arc over the head in the middle."""
    published, once = forests(mhk(4), words), forests(mh4_trees(), words)
    for (name, nodes), found in published.items():
        if name == "H2":
            assert once["I", nodes] == Counter(set(found))
        elif name == "H3":
            over = {arcs for arcs in found if any(min(at) < nodes[1] < max(at) for _, at in arcs)}
            assert once.get((THREE_HEADS, nodes), Counter()) == Counter(over)


THREE_HEADS = "N{*,01,rp ra rb rd re l lx}"
"""The sum of all states of an item of three heads."""


def forests(system: DeductionSystem, words: int) -> dict[Cell, Counter[Derivation]]:
    """The sets of arcs that each item derives, with the number of derivations of each."""
    steps = forest(system, words)

    @cache
    def inside(cell: Cell) -> Counter[Derivation]:
        total: Counter[Derivation] = Counter()
        for premises, uses in steps[cell]:
            product = Counter({uses: 1})
            for premise in premises:
                product = DERIVATIONS.times(product, inside(premise))
            total += product
        return total

    return {cell: inside(cell) for cell in steps}

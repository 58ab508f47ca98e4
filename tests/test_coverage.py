"""What classes of trees cover: searches against charts and enumeration, and the counts of whole treebanks."""

import csv
from pathlib import Path

import numpy as np
import pytest

import structdep as sd
from structdep.trees import all_trees, is_one_endpoint_crossing, is_projective
from structdep_parser.cli import coverage
from structdep_parser.cli.treebank_command import named
from structdep_parser.data.conllu import read
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.treebank import VARIABLE, find_treebank
from structdep_parser.evaluation import lost_heads
from structdep_parser.evaluation.coverage import count
from structdep_parser.evaluation.lost_heads import lost_in_mhk, lost_in_one_endpoint_crossing
from structdep_parser.evaluation.tree_cores import nonprojective_core
from structdep_parser.tables import Row


def random_trees(rng: np.random.Generator, words: int, number: int) -> list[list[int]]:
    """Each word's head is one that came before it in a random order, or the root."""
    found = []
    for _ in range(number):
        order = [0, *(1 + rng.permutation(words)).tolist()]
        heads = {word: order[rng.integers(place)] for place, word in enumerate(order) if place}
        found.append([heads[word] for word in range(1, words + 1)])
    return found


def test_searches_find_the_nearest_of_all_trees_of_five_words() -> None:
    trees = all_trees(5)
    members = {"projective": is_projective(trees), "1EC": is_one_endpoint_crossing(trees)}
    searches = {"projective": lambda tree: lost_in_mhk(tree, 3), "1EC": lost_in_one_endpoint_crossing}
    for name, inside in members.items():
        distances = (trees[:, None] != trees[inside]).sum(-1).min(-1)
        assert [searches[name](tree) for tree in trees.tolist()] == distances.tolist()
        assert [searches[name](nonprojective_core(tree)) for tree in trees.tolist()] == distances.tolist()


@pytest.mark.parametrize(("k", "words"), [(3, 9), (4, 9), pytest.param(5, 10, marks=pytest.mark.slow)])
def test_searches_agree_with_charts(k: int, words: int) -> None:
    trees = random_trees(np.random.default_rng(k), words, 32)
    near = np.asarray(sd.nearest_tree(sd.charts.mhk(k), np.array(trees)))
    lost = (near != np.array(trees)).sum(-1).tolist()
    assert (
        [lost_in_mhk(tree, k) for tree in trees] == [lost_in_mhk(nonprojective_core(tree), k) for tree in trees] == lost
    )
    assert [lost_in_mhk(tree, k, 2) for tree in trees] == [min(each, 2) for each in lost] and max(lost) > 1


@pytest.mark.slow
def test_the_search_for_1ec_trees_agrees_with_the_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost_heads, "SEARCHED", 10)
    trees = random_trees(np.random.default_rng(1), 10, 64)
    near = np.asarray(sd.nearest_tree(sd.charts.one_endpoint_crossing(), np.array(trees)))
    lost = (near != np.array(trees)).sum(-1).tolist()
    searched = [lost_in_one_endpoint_crossing(tree) for tree in trees]
    assert searched == [lost_in_one_endpoint_crossing(nonprojective_core(tree)) for tree in trees] == lost
    monkeypatch.setattr(lost_heads, "SEARCHED", 1)
    assert [lost_in_one_endpoint_crossing(tree) for tree in trees] == lost and max(lost) > 2


def test_of_projective_trees_nothing_is_left() -> None:
    for tree, projective in zip(all_trees(5).tolist(), is_projective(all_trees(5)).tolist(), strict=True):
        assert (nonprojective_core(tree) == []) == projective


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_coverage_of_any_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [write_demo_treebank(tmp_path).train, write_demo_treebank(tmp_path).dev]
    assert coverage.main(["--files", *map(str, files), "--out", str(tmp_path / "out")]) == 0
    found = rows(tmp_path / "out" / "coverage.csv")
    for path in files:
        trees = [sentence.heads for sentence in read(path)]
        counts = {row["class"]: row for row in found if row["treebank"] == path.stem}
        assert list(counts) == ["all trees", "projective", "MH_4", "MH_5", "MH_6", "1EC"]
        assert counts["all trees"]["arcs"] == str(sum(map(len, trees))) and float(counts["1EC"]["% of arcs"]) == 100
        assert counts["projective"]["sentences"] == str(sum(bool(is_projective(tree)) for tree in trees))
    printed = capsys.readouterr().out
    assert "projective" in printed and "| demo-ud-dev | MH_4 |" in (tmp_path / "out" / "coverage.md").read_text()
    assert (tmp_path / "out" / "coverage.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    files = [write_demo_treebank(tmp_path / folder).dev for folder in "ab"]
    assert coverage.main(["--files", *map(str, [*files, files[0]]), "--out", str(tmp_path / "out")]) == 0
    found = [row["treebank"] for row in rows(tmp_path / "out" / "coverage.csv")]
    assert found == ["a-demo-ud-dev"] * 6 + ["b-demo-ud-dev"] * 6


def test_as_many_folders_as_it_takes_are_in_names(tmp_path: Path) -> None:
    files = [tmp_path / "1" / "got" / "dev.conllu", tmp_path / "2" / "got" / "dev.conllu"]
    assert named([*files, files[0]]) == {"1-got-dev": files[0], "2-got-dev": files[1]}
    assert list(named([files[0], tmp_path / "train.conllu"])) == ["dev", "train"]
    with pytest.raises(ValueError, match="rename one of the files"):
        named([tmp_path / "dev.conllu", tmp_path / "dev.txt"])


def test_a_language_is_counted_once(tmp_path: Path) -> None:
    assert coverage.main(["--lang", "demo", "demo", "--split", "dev", "--out", str(tmp_path)]) == 0
    assert [row["treebank"] for row in rows(tmp_path / "coverage.csv")] == ["demo-dev"] * 6


def test_files_that_cannot_be_counted_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.conllu").write_text("")
    assert coverage.main(["--files", str(tmp_path / "empty.conllu"), "--out", str(tmp_path / "out")]) == 1
    assert "empty.conllu, line 1: no sentences" in capsys.readouterr().err and not (tmp_path / "out").exists()
    with pytest.raises(SystemExit):
        coverage.main(["--files", "a.conllu", "--lang", "demo"])


PUBLISHED = {
    "got": {"projective": (2656, 33987), "MH_4": (3294, 34928), "1EC": (3305, 34938)},
    "hu": {"projective": (719, 19866), "MH_4": (895, 20150), "1EC": (889, 20144)},
}
"""Training sets of UD 2.0 (Gómez-Rodríguez, Shi, Lee 2018)."""


@pytest.mark.slow
@pytest.mark.parametrize("lang", PUBLISHED)
def test_published_coverage(lang: str, tmp_path: Path) -> None:
    try:
        sentences = read(find_treebank(lang, version="2.0").train)
    except FileNotFoundError:
        pytest.skip(f"UD 2.0 {lang} is not below ${VARIABLE}")
    found: list[Row] = count(lang, sentences, tmp_path)["coverage"]
    counts = {row["class"]: (row["sentences"], row["arcs"]) for row in found}
    assert {name: counts[name] for name in PUBLISHED[lang]} == PUBLISHED[lang]

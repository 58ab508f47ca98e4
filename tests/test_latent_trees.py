"""Latent trees: expressions mean what their trees say, and a tiny run by each kind of estimator learns."""

import csv
from pathlib import Path

import numpy as np
import pytest

import latent_trees
import relaxed_arcs
from structdep.trees import is_projective, is_tree
from structdep_parser.latent.estimators import ESTIMATORS
from structdep_parser.latent.expressions import CLOSE, OPERATORS, generate

KINDS = ("sparsemap", "perturbed", "blackbox", "score-function")
"""One estimator of each kind: a relaxation, one by noise, one of a best tree, and one by samples."""
TINY = {
    "words": 9,
    "depth": 2,
    "train": 200,
    "test": 50,
    "features": 16,
    "batch": 16,
    "steps": 100,
    "learning-rate": 0.01,
}


def command(out: Path, *estimators: str, **changes: object) -> list[str]:
    options = {f"--{name}": str(value) for name, value in {**TINY, **changes}.items()}
    return ["--estimators", *estimators, *sum(options.items(), ()), "--out", str(out)]


def test_answers_are_those_of_the_trees() -> None:
    found = generate(50, words=12, depth=3, seed=1)
    for tokens, heads, length, answer in zip(*map(np.asarray, found), strict=True):
        tokens, heads = tokens[:length], heads[:length]
        assert is_tree(heads) and is_projective(heads) and (heads == 0).sum() == 1
        values: dict[int, int] = {}
        for node in range(length, 0, -1):
            arguments = [values[child] for child in np.flatnonzero(heads == node) + 1 if tokens[child - 1] != CLOSE]
            values[node] = OPERATORS[int(tokens[node - 1])](arguments) if arguments else int(tokens[node - 1])
        assert values[1] == answer
        assert 2 <= np.isin(tokens, [*OPERATORS]).sum() == (tokens == CLOSE).sum()


def test_a_tiny_run_learns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert latent_trees.main([*command(tmp_path, *KINDS), "--seeds", "1"]) == 0
    with (tmp_path / "results.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["estimator"] for row in rows] == [*KINDS]
    for row in rows:
        assert float(row["last_loss"]) < 0.95 * float(row["first_loss"])
        assert 0 < float(row["answers"]) <= 100 and 0 < float(row["arcs"]) <= 100
    assert (tmp_path / "results.md").read_text(encoding="utf-8") in capsys.readouterr().out
    assert (tmp_path / "results.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize(
    ("estimators", "changes", "message"),
    [
        (["REBAR"], {}, f"--estimators REBAR: expected names among {', '.join(ESTIMATORS)}"),
        (["marginals"], {"words": 6}, "at most 6 tokens: one operator inside another needs at least 7"),
        (["marginals"], {"depth": 1}, "depth 1: answers depend on trees where it is at least 2"),
        (["marginals"], {"steps": 0}, "steps is 0: expected a number above 0"),
        (["marginals"], {"features": 15}, "features is 15: expected an even number"),
    ],
)
def test_options_are_checked(
    estimators: list[str], changes: dict[str, int], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert latent_trees.main(command(tmp_path / "out", *estimators, **changes)) == 1
    assert message in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_drawn_arcs_become_the_best_tree(tmp_path: Path) -> None:
    best = np.zeros((6, 6))
    best[[0, 2, 2, 5, 2], [2, 1, 3, 4, 5]] = 1
    arcs = relaxed_arcs.relaxed()
    for name in relaxed_arcs.RELAXATIONS:
        errors = [np.abs(arcs[name, t] - best).max() for t in relaxed_arcs.TEMPERATURES]
        assert errors[-1] < 0.05 < errors[0]
    relaxed_arcs.draw(arcs, tmp_path / "arcs.svg")
    assert (tmp_path / "arcs.svg").read_text(encoding="utf-8").count(">binoculars<") == len(arcs)

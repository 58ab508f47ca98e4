"""Second-order parsers in experiments: their scores, and the ways of decoding a trained one."""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import training_cases
from flax import nnx
from rich.console import Console

import second_order
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.evaluation.report import Report
from structdep_parser.nn.scorers import TableScorer, Trilinear
from structdep_parser.parsers.charts import CHARTS
from structdep_parser.parsers.decoding import Decoding
from structdep_parser.parsers.registry import check
from structdep_parser.training.experiment import Experiment

TINY = replace(
    training_cases.TINY, parser="mst2-greedy", part_features=8, epochs=1, words_per_batch=500, learning_rate=2e-2
)


def test_every_triple_has_its_score() -> None:
    trilinear = Trilinear(3, 2)
    trilinear.weights[...] = jax.random.normal(jax.random.key(0), (2, 3))
    x, y, z = jax.random.normal(jax.random.key(1), (3, 1, 4, 3))
    found, weights = trilinear(x, y, z), trilinear.weights[...]
    for t, i, j, k in [(0, 1, 2, 3), (1, 3, 0, 0)]:
        np.testing.assert_allclose(found[t, 0, i, j, k], (weights[t] * x[0, i] * y[0, j] * z[0, k]).sum(), rtol=1e-4)


def test_scores_of_parts_have_no_sentinel() -> None:
    chart = CHARTS["mst2-greedy"]
    scorer = TableScorer(chart.pairs, chart.triples, {}, 6, 4, 3, 0.0, rngs=nnx.Rngs(0))
    tables = training_cases.scores_of(scorer, jnp.ones((2, 7, 6)), jnp.array([5, 3]))
    shapes = {name: table.shape for name, table in tables.items()}
    assert shapes == {"arc": (2, 6, 6), "grandparent": (2, 6, 6, 6), "sibling": (2, 6, 6, 6)}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """A run on the demonstration treebank, and its report."""
    runs = tmp_path_factory.mktemp("runs")
    treebank = write_demo_treebank(runs / "demo-treebank")
    made = Experiment(TINY, treebank, runs / "second", Console(quiet=True))
    made.train()
    return runs / "second", made.report()


def test_ways_of_decoding(trained: tuple[Path, Report], capsys: pytest.CaptureFixture[str]) -> None:
    """Beside its own trees, which the search finds again, improved, but where rounding decides between equal scores.

    The better of two trees has the higher score.
    """
    run, report = trained
    assert second_order.main(["--run", str(run), "--other", str(run)]) == 0
    printed = capsys.readouterr().out
    cells = {row[0]: [float(cell) for cell in row[1:]] for row in _rows(printed)}
    assert set(cells) == set(second_order.WAYS | second_order.WITH_OTHER)
    uas, las, score, _ = cells["BGI-PP +i"]
    dev = report.evaluations["dev"].all
    assert cells["the other"][:2] == [round(100 * dev.uas, 2), round(100 * dev.las, 2)]
    assert [uas, las] == pytest.approx(cells["the other"][:2], abs=0.3)
    assert score == pytest.approx(cells["the other"][2], abs=0.011)
    assert all(cells["better of +i and the other +i"][2] >= own[2] for own in (cells["the other"], cells["BGI-PP +i"]))
    assert score >= cells["BGI-PP"][2] and min(row[3] for row in cells.values()) > 0
    assert (run / "dev-second-order.md").read_text(encoding="utf-8") == printed


def _rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_other_runs_have_to_fit(
    trained: tuple[Path, Report], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, _ = trained
    for split in ("dev", "test"):
        (tmp_path / f"{split}.conllu").write_bytes((run / "test.conllu").read_bytes())
    assert second_order.main(["--run", str(run), "--other", str(tmp_path)]) == 1
    assert "does not have the sentences of demo's dev" in capsys.readouterr().err
    assert second_order.main(["--run", str(tmp_path)]) == 1
    assert "config.json" in capsys.readouterr().err


def test_no_probabilities() -> None:
    with pytest.raises(
        ValueError, match=r"--loss nll: second-order scores give no probabilities .* write --loss hinge"
    ):
        check(replace(TINY, loss="nll"), Decoding())
    for decoding, option in ((Decoding("mbr"), "--decode mbr"), (Decoding(confidence=True), "--confidence")):
        with pytest.raises(ValueError, match=f"{option}: .* no probabilities of trees, and one tree; leave it out"):
            check(TINY, decoding)

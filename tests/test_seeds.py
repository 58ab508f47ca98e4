"""A run of several parsers that differ in their seeds."""

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from training_cases import TINY, small_treebank

from structdep_parser.cli import parse
from structdep_parser.cli import train as train_command
from structdep_parser.config import Config
from structdep_parser.data.conllu import read
from structdep_parser.data.treebank import Treebank
from structdep_parser.parsers.decoding import Decoding
from structdep_parser.parsers.registry import check
from structdep_parser.training.ensemble_run import EnsembleRun, Tell
from structdep_parser.training.results import results_in

CONFIG = replace(TINY, lang="xyz", parser="mst", loss="nll", tags="on", members=2, seed=2, epochs=1)
SIZES = [
    f"{name}={getattr(CONFIG, name)}"
    for name in (
        *("word_vectors", "character_vectors", "character_states", "states", "layers", "scorer_features"),
        *("labeler_features", "words_per_batch", "max_shapes", "learning_rate", "graft", "tag_features", "tag_weight"),
    )
]


@pytest.fixture
def treebank(tmp_path: Path) -> Treebank:
    return small_treebank(tmp_path, tmp_path, "xyz")


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    chosen = ["--lang", "xyz", "--parser", "mst", "--loss", "nll", "--tags", "on", "--epochs", "1", "--members", "2"]
    return [*chosen, "--seed", "2", "--treebanks", str(tmp_path), "--runs", str(tmp_path / "runs"), "--set", *SIZES]


def test_members_are_trained_once_and_parse_together(treebank: Treebank, tmp_path: Path, command: list[str]) -> None:
    assert train_command.config(train_command.parser().parse_args(command)) == CONFIG
    asked: list[tuple[int, int, int]] = []
    told: list[str] = []

    def train(arguments: Sequence[str], at_once: int, tell: Tell) -> int:
        config = train_command.config(train_command.parser().parse_args(arguments))
        asked.append((config.seed, config.members, at_once))
        if asked == [(3, 1, 1), (4, 1, 1)]:
            tell("no room")
            return 1
        return train_command.main(arguments)

    folder = tmp_path / "runs" / CONFIG.name
    members = EnsembleRun(CONFIG, treebank, folder, [*command, "--at-once", "2"])
    with pytest.raises(ValueError, match="seed 4 failed: when this is mended, the same command goes on"):
        members.train(1, told.append, train)
    assert told == ["seed 4: no room"]
    members.train(2, told.append, train)
    assert asked == [(3, 1, 1), (4, 1, 1), (4, 1, 2)]
    report = members.report()
    alone = [json.loads((folder / f"seed-{seed}" / "report.json").read_text()) for seed in (3, 4)]
    together = json.loads((folder / "report.json").read_text())
    assert together["training"]["minutes"] == pytest.approx(sum(own["training"]["minutes"] for own in alone))
    dev, test = (100 * report.evaluations[split].all.uas for split in ("dev", "test"))
    assert together["results"]["dev"]["groups"]["all"]["uas"] == dev
    (row,) = results_in(folder.parent).values()
    assert (row["parser"], row["dev UAS"], row["test UAS"]) == ("mst", dev, test) and "members: 2" in row["changes"]
    first, second = (own["results"]["dev"]["groups"]["all"] for own in alone)
    text = (folder / "report.md").read_text(encoding="utf-8")
    assert f"| seed-3 | {first['uas']:.2f} | {first['las']:.2f} |" in text and "Members" in text
    assert f"| gain over the best | {dev - max(first['uas'], second['uas']):+.2f} |" in text
    assert len(read(folder / "dev.conllu")) == 15 and "seed 2" in (folder / "report.html").read_text(encoding="utf-8")
    members.train(2, told.append, train)
    assert len(asked) == 3
    parsed, given = io.BytesIO(), (folder / "dev.conllu").read_bytes()
    assert parse.main([str(folder)], io.BytesIO(given), parsed) == 0
    assert parsed.getvalue() == given
    assert parse.main([str(folder), "--k-best", "2"], io.BytesIO(given), parsed) == 1


def test_another_configuration_is_refused(treebank: Treebank, tmp_path: Path, command: list[str]) -> None:
    EnsembleRun(CONFIG, treebank, tmp_path / "run", command)
    with pytest.raises(ValueError, match="a run with members=2, but this command has members=3"):
        EnsembleRun(replace(CONFIG, members=3), treebank, tmp_path / "run", command)
    with pytest.raises(ValueError, match="--seed 0 with --members 2: write a seed of 1 or more"):
        EnsembleRun(replace(CONFIG, seed=0), treebank, tmp_path / "none", command)
    assert not (tmp_path / "none").exists()
    with pytest.raises(ValueError, match="--at-once 0: expected 1 or more"):
        EnsembleRun(CONFIG, treebank, tmp_path / "run", command).train(0, pytest.fail)


@pytest.mark.parametrize(
    ("config", "decoding", "told"),
    [
        (Config(members=2), Decoding("mbr"), "leave --decode"),
        (Config(members=2, parser="eisner", pseudo_projective="head"), Decoding(), "cannot be summed"),
    ],
)
def test_what_does_not_go_together(config: Config, decoding: Decoding, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        check(config, decoding)


@pytest.mark.slow
def test_members_have_processes_of_their_own(
    treebank: Treebank, tmp_path: Path, command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert train_command.main([*command, "--at-once", "2"]) == 0
    printed = capfd.readouterr().out
    assert "seed 3: epoch   1/1" in printed and "seed 4: epoch   1/1" in printed and "2 parsers by" in printed

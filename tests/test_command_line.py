"""The command `structdep` and the commands in experiments/: subcommands, and options that have another name now."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from structdep_parser.cli.command_line import COMMANDS, main

EXPERIMENTS = Path(__file__).parent.parent / "experiments"


def test_help_lists_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0 and main([]) == 2
    printed = capsys.readouterr().out
    assert all(f"\n  {name} " in printed for name in COMMANDS)


def test_a_wrong_command_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tarin", "--lang", "got"]) == 2
    assert "no command 'tarin': write one of train, parse," in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["train", "--parser", "eisnr"], "eisner"),
        (["train", "--lang", "got", "--epoch-s", "3"], "--epochs"),
        (["report", "run", "--treebank-s=a"], "--treebanks"),
        (["draw", "trees.conllu", "--golds", "a"], "--gold"),
    ],
)
def test_wrong_options_are_told_in_one_line(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and f"did you mean {meant}? (structdep {arguments[0]} --help lists" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--folds", "2", "--confidence", "--decode", "mbr"], "--folds with --decode --confidence: a cross-validation"),
        (["--at-once", "2"], "--at-once 2 is about members"),
        (["--epochs", "1", "--set", "epochs=2"], "--epochs with --set epochs=..: write one of them"),
        (["--ud-version", "2.0"], "these belong to --lang CODE, not to --train FILE"),
    ],
)
def test_options_that_would_be_ignored_are_refused(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.conllu").write_text("", encoding="utf-8")
    assert main(["train", "--train", str(tmp_path / "a.conllu"), *arguments]) == 1
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("command", "old", "new"),
    [
        ("train", "--start", "--init-from"),
        ("train", "--features", "--positions"),
        ("train", "--version", "--ud-version"),
        ("report", "--version", "--ud-version"),
        ("coverage", "--version", "--ud-version"),
    ],
)
def test_old_names_of_options_are_refused(command: str, old: str, new: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--lang", "got", old, "2"] if command != "report" else [command, "run", old, "2"])
    assert f"{old} is now called {new}: write {new}" in capsys.readouterr().err


@pytest.mark.parametrize("script", ["ud", "parse", "compare", "draw", "ensemble", "report", "coverage"])
def test_scripts_run_in_a_checkout(script: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(EXPERIMENTS.parent)}
    command = [sys.executable, str(EXPERIMENTS / f"{script}.py"), "--help"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.startswith("usage: structdep ")

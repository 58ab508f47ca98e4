"""Tables over parsers, languages and seeds: what is done is not done again, and all of it is counted."""

import csv
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import stdev

import pytest
from training_cases import small_treebank

import table4
from structdep_parser.cli import train as train_command
from structdep_parser.config import Config, usual_epochs
from structdep_parser.data.treebank import VARIABLE

EPOCHS = usual_epochs(0)
"""Of the smallest treebanks."""
UAS = {("mh3", 1): 83.0, ("mh3", 2): 84.0, ("mst", 1): 85.0}


def config_of(arguments: Sequence[str]) -> Config:
    return train_command.config(train_command.parser().parse_args(arguments))


def finish(arguments: Sequence[str], epochs: int | None = None) -> int:
    """What structdep train leaves, without the work, after all epochs or so many; the second seed of mst fails."""
    options = train_command.parser().parse_args(arguments)
    treebank = train_command.treebank(options)
    config = train_command.fitted(config_of(arguments), options, treebank)
    if (config.parser, config.seed) not in UAS:
        return 1
    uas = UAS[config.parser, config.seed]
    folder = options.runs / config.name
    replace(config, treebank=treebank.checksum).write(folder / "config.json")
    results = {
        split: {"groups": {"all": {"words": 9, "uas": uas - less, "las": uas - 6 - less}}}
        for split, less in (("dev", 0), ("test", 1))
    }
    log(folder, epochs or config.epochs)
    training = {"best_epoch": 3, "minutes": 0.5 * (epochs or config.epochs), "sentences_per_second": 9}
    (folder / "report.json").write_text(json.dumps({"results": results, "training": training}))
    return 0


def log(folder: Path, epochs: int) -> None:
    """Half a minute an epoch."""
    scores = {"loss": 1.0, "uas": 80.0, "las": 70.0}
    lines = [json.dumps({"epoch": epoch, "minutes": 0.5 * epoch, **scores}) + "\n" for epoch in range(1, epochs + 1)]
    folder.mkdir(exist_ok=True)
    (folder / "log.jsonl").write_text("".join(lines))


@pytest.fixture(autouse=True)
def treebanks(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Gothic and a Hungarian treebank, and where they are."""
    found = tmp_path_factory.mktemp("treebanks")
    for lang in ("got", "hu"):
        small_treebank(tmp_path_factory.mktemp("demo"), found, lang)
    monkeypatch.setenv(VARIABLE, str(found))
    return found


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    return ["--lang", "got", "--parsers", "mh3", "mst", "--seeds", "1", "2", "--runs", str(tmp_path)]


def asked_by(command: Sequence[str]) -> list[str]:
    """The names of runs that are not finished, which all fail now."""
    asked: list[str] = []
    table4.main(command, lambda arguments: asked.append(config_of(arguments).name) or 1)
    return asked


def test_runs_are_collected(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert table4.main(command, finish) == 1
    printed = capsys.readouterr().out
    assert "failed: got-mst-nll-2 (exit status 1)" in printed and "4 of 4: got-mst-nll-2" in printed
    text = (tmp_path / "table4.md").read_text(encoding="utf-8")
    deviation = stdev([83.0, 84.0])
    assert f"| mh3 | 83.50 ± {deviation:.2f} (2) | 83.72 ± 0.19 | 77.50 ± {deviation:.2f} (2) |" in text
    assert "| mst | 85.00 (1) | 84.74 ± 0.28 | 79.00 (1) |" in text and text.strip() in printed
    with (tmp_path / "table4.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["parser"], row["seed"], row["dev UAS"], row["test LAS"]) for row in rows] == [
        ("mh3", "1", "83.0", "76.0"),
        ("mh3", "2", "84.0", "77.0"),
        ("mst", "1", "85.0", "78.0"),
    ]


def test_what_is_done_is_not_done_again(command: list[str], tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def train(arguments: Sequence[str]) -> int:
        asked.append(list(arguments))
        return finish(arguments)

    assert table4.main(command, train) == 1 and len(asked) == 4
    asked.clear()
    assert table4.main(command, train) == 1
    assert [config_of(arguments).name for arguments in asked] == ["got-mst-nll-2"]
    asked.clear()
    assert table4.main([*command, "--collect"], train) == 0 and not asked
    assert table4.main([*command[:-2], "--runs", str(tmp_path), "--", "--epochs", "7"], train) == 1
    assert len(asked) == 4 and all(arguments[-2:] == ["--epochs", "7"] for arguments in asked)


def test_runs_of_any_name_and_configuration_are_collected(command: list[str], tmp_path: Path) -> None:
    """Those that differ in more than the seed have lines of their own."""
    for more in ([], ["--epochs", "7"]):
        assert table4.main([*command, "--", *more], finish) == 1
        for folder in list(tmp_path.glob("got-*")):
            folder.rename(tmp_path / f"other{''.join(more)}-{folder.name}")
    (tmp_path / "unfinished").mkdir()
    assert table4.main([*command, "--collect"]) == 0
    lines = (tmp_path / "table4.md").read_text(encoding="utf-8").splitlines()
    names = [line.split(" | ")[0] for line in lines if line.startswith("| m")]
    assert names == ["| mh3", "| mh3, epochs: 7", "| mst", "| mst, epochs: 7"]


def test_parsers_that_begin_with_another(command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of each seed comes first; of all seeds there is one line, whatever they began with."""
    monkeypatch.setitem(UAS, ("mst2-mean-field", 1), 85.0)
    asked: list[list[str]] = []

    def train(arguments: Sequence[str]) -> int:
        asked.append(list(arguments))
        return finish(arguments)

    assert table4.main([*command, "--warm-start", "--", "--set", "layers=2"], train) == 1
    configs = [config_of(arguments) for arguments in asked]
    first = [f"got-mst2-mean-field-nll-{seed}" for seed in (1, 2)]
    expected = [first[0], *["got-mh3-warm-hinge-1", "got-mst-warm-nll-1"]]
    assert [config.name for config in configs] == [*expected, *(name[:-1] + "2" for name in expected)]
    assert [config.init_from for config in configs] == [
        start and str(tmp_path / start) for start in ("", first[0], first[0], "", first[1], first[1])
    ]
    assert {config.layers for config in configs} == {2} and {config.graft for config in configs} == {0.35}
    lines = [line for line in (tmp_path / "table4.md").read_text(encoding="utf-8").splitlines() if "mh3" in line]
    assert len(lines) == 1 and "init_from: mst2-mean-field-nll" in lines[0] and "83.50" in lines[0]


def test_a_first_parser_that_is_in_the_table_is_trained_once(command: list[str]) -> None:
    assert asked_by([*command, "--seeds", "1", "--warm-start", "mst"]) == ["got-mst-nll-1", "got-mh3-warm-hinge-1"]


def test_runs_that_lack_epochs_go_on(command: list[str], tmp_path: Path) -> None:
    """Those of --minutes, and those that were killed behind their report, are in no table."""
    assert table4.main(command, lambda arguments: finish(arguments, 1)) == 1
    assert not (tmp_path / "table4.md").exists()
    assert table4.main([*command, "--collect"]) == 1
    assert table4.main(command, finish) == 1 and len(asked_by(command)) == 1
    path = tmp_path / "got-mh3-hinge-2" / "report.json"
    path.write_text(path.read_text().replace(f'"minutes": {EPOCHS / 2}', '"minutes": 19.5'))
    assert asked_by(command) == ["got-mh3-hinge-2", "got-mst-nll-2"]
    assert table4.main([*command, "--collect"]) == 0
    assert "| mh3 | 83.00 (1) |" in (tmp_path / "table4.md").read_text(encoding="utf-8")


def test_all_members_of_a_run_must_be_finished(command: list[str], tmp_path: Path) -> None:
    several = [*command, "--", "--members", "2"]
    assert table4.main(several, finish) == 1 and len(asked_by(several)) == 4
    folder = tmp_path / "got-mh3-members2-hinge-1"
    (folder / "log.jsonl").unlink()
    for seed, epochs in ((1, EPOCHS), (2, 20)):
        log(folder / f"seed-{seed}", epochs)
    report = json.loads((folder / "report.json").read_text())
    report["training"]["minutes"] = float(EPOCHS)
    (folder / "report.json").write_text(json.dumps(report))
    assert folder.name in asked_by(several)
    log(folder / "seed-2", EPOCHS)
    assert folder.name not in asked_by(several) and len(asked_by(several)) == 3


def test_versions_of_a_treebank_are_told_apart(command: list[str], tmp_path: Path, treebanks: Path) -> None:
    assert table4.main(command, finish) == 1
    before = train_command.treebank(train_command.parser().parse_args(["--lang", "got"])).checksum
    for folder in list(tmp_path.glob("got-*")):
        folder.rename(tmp_path / f"other-{folder.name}")
    train = treebanks / "got-ud-train.conllu"
    train.write_text(train.read_text(encoding="utf-8") * 2, encoding="utf-8")
    after = train_command.treebank(train_command.parser().parse_args(["--lang", "got"])).checksum
    assert len(asked_by(command)) == 4
    assert table4.main(command, finish) == 1 and len(asked_by(command)) == 1
    lines = (tmp_path / "table4.md").read_text(encoding="utf-8").splitlines()
    names = [line.split(" | ")[0] for line in lines if line.startswith("| m")]
    treebank = sorted((before, after))
    assert names == [f"| {parser}, treebank: {name}" for parser in ("mh3", "mst") for name in treebank]


UNREADABLE = f'{{"training": {{"minutes": {EPOCHS // 2}}}, "results": []}}'


@pytest.mark.parametrize("content", ['{"results": ', "{}", "[]", UNREADABLE])
def test_damaged_reports_are_named(
    content: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert table4.main(command, finish) == 1
    path = tmp_path / "got-mh3-hinge-1" / "report.json"
    path.write_text(content)
    assert table4.main([*command, "--collect"]) == 1
    expected = f"table4.py: {path} is damaged, or of another version: give the command of that run again"
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--", "--decode", "mbr"], "-- --decode mbr --beam 1: tables are made of report.json"),
        (["--", "--folds=2"], "-- --folds: not for all runs of a table: leave it out"),
        (["--", "--seed", "7"], "-- --seed: not for all runs of a table"),
        (["--warm-start", "--", "--set", "epochs=3"], "--epochs with --set epochs=..: write one of them"),
        (["--", "--beam", "8"], "this would write report-beam8.json: leave these options out"),
        (
            ["--warm-start", "--", "--members", "2"],
            "--warm-start -- --members 2: a parser begins with what one has learned",
        ),
    ],
)
def test_options_of_runs_that_no_table_can_have(
    options: list[str], message: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert not asked_by([*command, *options])
    assert message in capsys.readouterr().err


def test_a_treebank_that_is_not_there_is_told_before_all(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert not asked_by([*command, "--lang", "got", "none"])
    assert "looked for none-ud-train.conllu" in capsys.readouterr().err


def test_runs_without_dev_and_test_have_no_scores(command: list[str], tmp_path: Path) -> None:
    """Those without a test set are evaluated again when there is one."""
    table4.main(command, finish)
    path = next(tmp_path.glob("got-mh3-*1/report.json"))
    report = json.loads(path.read_text())
    path.write_text(json.dumps(report | {"results": {"dev": report["results"]["dev"]}}))
    assert asked_by(command) == ["got-mh3-hinge-1", "got-mst-nll-2"]
    path.write_text(json.dumps(report | {"results": {}}))
    assert table4.main([*command, "--collect"]) == 0
    assert "84.00 (1)" in (tmp_path / "table4.md").read_text()


def test_nothing_to_collect(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert table4.main([*command, "--runs", str(tmp_path / "none"), "--collect"]) == 1
    assert "table4.py: --collect: no run in" in capsys.readouterr().err


def test_a_stop_ends_all(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert table4.main(command, lambda arguments: 130) == 1
    printed = capsys.readouterr().out
    assert "1 of 4" in printed and "2 of 4" not in printed and "no run of these parsers" in printed


@pytest.mark.slow
def test_runs_in_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["--lang", "demo", "--parsers", "eisner", "--seeds", "1", "--", "--epochs", "1"]
    assert table4.main(command) == 0
    assert "| eisner, epochs: 1 |" in (tmp_path / "runs" / "table4.md").read_text(encoding="utf-8")
    assert (tmp_path / "runs" / "demo-eisner-hinge-1" / "report.html").is_file()


def test_many_runs_are_not_started_by_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal the command asks; elsewhere it says what to write."""
    command, asked = ["--lang", "got", "--runs", str(tmp_path / "runs")], list[str]()
    assert table4.main(command, pytest.fail) == 1
    assert "this would train 40 parsers, one after the other: " in (told := capsys.readouterr().err)
    assert "hours of a CPU core: write --yes, or fewer --parsers or --seeds" in " ".join(told.split())
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda text: asked.append(text) or "no")
    assert table4.main(command, pytest.fail) == 1
    assert "nothing was trained" in capsys.readouterr().out and "train 40 parsers" in asked[0]
    monkeypatch.setattr("builtins.input", lambda text: "y")
    started: list[Sequence[str]] = []
    assert table4.main(command, lambda arguments: started.append(arguments) or 1) == 1
    assert len(started) == 40


def test_the_time_of_runs_is_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    """In proportion to epochs, members and words, for the costs of epochs of Gothic."""
    monkeypatch.setattr(table4, "MEASURED", 100)
    chosen = (
        ["--parser", "mh4-hybrid", "--epochs", "10"],
        ["--parser", "mh4-hybrid", "--epochs", "20"],
        ["--parser", "mst", "--epochs", "10", "--members", "3"],
    )
    runs = table4.on_treebanks(["--lang", "got", *own] for own in chosen)
    once, twice, many = (run.minutes for run in runs)
    assert twice == 2 * once > 0 and many == pytest.approx(3 * once / 2.2)

"""Training without a dev set: sentences are held out, or none are, or each in one of several folds."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from training_cases import TINY, small_treebank

import structdep_parser as sp
from structdep_parser.cli import train as train_command
from structdep_parser.config import Config
from structdep_parser.data.treebank import Treebank
from structdep_parser.evaluation.report import write_pages
from structdep_parser.training.cross_validation import cross_validate
from structdep_parser.training.run_treebank import check_files, treebank_of_run, with_earlier_treebank


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Treebank:
    made = small_treebank(tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("part"), "xyz")
    return Treebank.of_files([made.train])


def test_every_sentence_is_in_one_fold_or_trained_on(treebank: Treebank) -> None:
    names = [sentence.sent_id for sentence in treebank.with_held_out("none").read()["train"]]
    folds = [treebank.with_held_out(f"{fold}/3").read() for fold in (1, 2, 3)]
    assert len(names) == 40 and sorted(s.sent_id for fold in folds for s in fold["dev"]) == sorted(names)
    for fold in folds:
        assert sorted(s.sent_id for split in ("train", "dev") for s in fold[split]) == sorted(names)
    assert len({treebank.with_held_out(text).checksum for text in ("none", "1/3", "2/3", "10/10")}) == 4
    assert treebank.with_held_out("10/10").checksum == treebank.checksum


def test_other_splits_of_the_same_files_are_other_treebanks(treebank: Treebank, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.conllu", "b.conllu", "c.conllu")]
    for file in files:
        file.write_bytes(treebank.train.read_bytes())
    a, b, c = files
    splits = [([a], [b, c]), ([a, b], [c]), ([a, b, c], [])]
    assert len({Treebank.of_files(train, dev).checksum for train, dev in splits}) == 3
    text = treebank.train.read_text(encoding="utf-8").split("\n\n")
    a.write_text("\n\n".join(text[:30]) + "\n\n", encoding="utf-8")
    b.write_text("\n\n".join(text[30:]), encoding="utf-8")
    before = Treebank.of_files([a], [b]).checksum
    a.write_text("\n\n".join(text[:20]) + "\n\n", encoding="utf-8")
    b.write_text("\n\n".join(text[20:]), encoding="utf-8")
    other = Treebank.of_files([a], [b])
    assert other.checksum != before and other.has(other.checksum) and not other.has(before)
    earlier = hashlib.sha256(a.read_bytes() + b.read_bytes()).hexdigest()[:16]
    assert other.has(f"a.conllu {earlier}")
    replace(TINY, treebank=f"a.conllu {earlier}").write(tmp_path / "run" / "config.json")
    check_files(other, tmp_path / "run")
    assert with_earlier_treebank(replace(TINY, treebank=other.checksum), tmp_path / "run").treebank.endswith(earlier)
    a.write_bytes(treebank.train.read_bytes())
    b.write_bytes(treebank.train.read_bytes())
    c.write_bytes(b"other")
    assert Treebank.of_files([a], [b], [c]).seen_in_training() == [b] and not Treebank.of_files([a]).seen_in_training()


def test_wrong_shares_are_told(treebank: Treebank, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("3/2", "0/2", "1/1", "tenth", "1/2/3"):
        with pytest.raises(ValueError, match=f"--held-out {text}: expected I/K for the I-th of every K"):
            treebank.with_held_out(text)
    with pytest.raises(ValueError, match=r"too few sentences with all heads, 40, to hold out 41/50"):
        treebank.with_held_out("41/50").read()
    with pytest.raises(ValueError, match="leave out that option, or --dev"):
        Treebank.of_files([treebank.train], [treebank.train]).with_held_out("none")
    with pytest.raises(ValueError, match="--folds 1: expected 2 or more"):
        cross_validate(TINY, treebank, tmp_path, 1)
    assert train_command.main(["--lang", "demo", "--folds", "2", "--runs", str(tmp_path)]) == 1
    assert "--held-out and --folds belong to files of your own" in capsys.readouterr().err


def test_without_dev_the_last_epoch_is_taken(
    treebank: Treebank, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = sp.train(treebank.train, folder=tmp_path, config=replace(TINY, epochs=2), held_out="none")
    assert "no dev set: all 40 sentences are trained on, and the last epoch is taken" in capsys.readouterr().out
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert [sorted({"uas", "loss"} & entry.keys()) for entry in log] == [["loss"], ["loss"]]
    assert report["training"]["best_epoch"] == 2 and report["results"] == {}
    assert len(parser.parse([["ta", "luzisa"]])[0].heads) == 2
    again = treebank_of_run(Config.read(tmp_path / "config.json"), tmp_path)
    assert list(again.read()) == ["train"]
    with pytest.raises(ValueError, match="has neither a dev nor a test set"):
        write_pages(tmp_path)
    with pytest.raises(ValueError, match=r"holds a run on --train .* --held-out none, but .* --held-out 10/10"):
        sp.train(treebank.train, folder=tmp_path, config=replace(TINY, epochs=2))


def test_folds_are_trained_once(treebank: Treebank, tmp_path: Path) -> None:
    config = replace(TINY, epochs=1)
    text = cross_validate(config, treebank, tmp_path, 2)
    reports = [tmp_path / f"fold-{fold}" / "report.json" for fold in (1, 2)]
    times = [path.stat().st_mtime_ns for path in reports]
    assert (
        cross_validate(config, treebank, tmp_path, 2) == text == (tmp_path / "cross-validation.md").read_text("utf-8")
    )
    assert [path.stat().st_mtime_ns for path in reports] == times
    scores = [json.loads(path.read_text("utf-8"))["results"]["dev"]["groups"]["all"] for path in reports]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]
    assert [row[:2] for row in rows[2:]] == [
        ["1", str(scores[0]["words"])],
        ["2", str(scores[1]["words"])],
        ["mean", ""],
    ]
    assert rows[-1][2].startswith(f"{(scores[0]['uas'] + scores[1]['uas']) / 2:.2f} ± ")
    with pytest.raises(ValueError, match="holds a run with treebank="):
        cross_validate(config, treebank, tmp_path, 3)

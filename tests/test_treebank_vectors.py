"""Several treebanks that are trained on together: each has a name, and a vector that is an input of its words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from training_cases import TINY, random_model, small_treebank

import structdep_parser as sp
from structdep_parser.cli import parse, train
from structdep_parser.config import Config
from structdep_parser.data.augmentation import Grafts
from structdep_parser.data.conllu import read
from structdep_parser.data.treebank import Treebank
from structdep_parser.training.run_treebank import treebank_of_run

WORDS = [["ta", "luzisa", "momisa"]]


@pytest.fixture(scope="module")
def treebanks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two treebanks, `aa` and `bb`."""
    folder = tmp_path_factory.mktemp("treebanks")
    for code in ("aa", "bb"):
        small_treebank(tmp_path_factory.mktemp("whole"), folder, code)
    return folder


def files(folder: Path, split: str) -> dict[str, list[Path]]:
    return {code: [folder / f"{code}-ud-{split}.conllu"] for code in ("bb", "aa")}


@pytest.fixture(scope="module")
def run(treebanks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    config = replace(TINY, epochs=1)
    sp.train(files(treebanks, "train"), files(treebanks, "dev"), folder=folder, config=config, treebank_vectors=4)
    return folder


def test_each_name_parses_with_its_own_vector(run: Path) -> None:
    parser = sp.load(run)

    def probability(**options: str) -> float | None:
        return parser.parse(WORDS, probabilities=True, **options)[0].probability

    assert probability() == probability(treebank="bb") != probability(treebank="aa")  # bb is the first of train
    assert parser.config.lang == "bb+aa" and parser.models[str(run)].vocabulary.treebanks == ("bb", "aa")
    with pytest.raises(ValueError, match=r"treebank cc: expected one of bb, aa"):
        parser.parse(WORDS, treebank="cc")


def test_reports_have_a_row_for_each_treebank_of_dev(run: Path, treebanks: Path) -> None:
    report = (run / "report.md").read_text(encoding="utf-8")
    assert report.index("| treebank bb |") < report.index("| treebank aa |") and "## test" not in report
    again = treebank_of_run(Config.read(run / "config.json"), run)
    assert again.files("dev") == files(treebanks, "dev") and {s.treebank for s in again.read()["train"]} == {"aa", "bb"}


def test_the_command_line_names_treebanks_by_files_or_by_codes(treebanks: Path) -> None:
    named = [f"{code}={path}" for code, (path,) in files(treebanks, "train").items()]
    for options in (["--train", *named], ["--lang", "bb", "aa", "--treebanks", str(treebanks)]):
        asked = train.parser().parse_args(options)
        found = train.treebank(asked)
        assert found.lang == train.config(asked).lang == "bb+aa" and found.files("train") == files(treebanks, "train")
    assert found.files("test") == files(treebanks, "test")


@pytest.mark.parametrize(
    ("train", "dev", "message"),
    [
        ({"aa": "aa-ud-train"}, ["aa-ud-dev"], "--dev .*: the files of --train have names: write NAME=FILE here, too"),
        (["aa-ud-train"], {"aa": "aa-ud-dev"}, "--train .*: the files of --dev have names"),
        ({"aa": "aa-ud-train"}, {"cc": "aa-ud-dev"}, r"--dev cc=\.\.: expected a name of --train: aa"),
        ({"aa": "aa-ud-train", "bb": "aa-ud-train"}, [], "has two names, aa and bb: write one"),
    ],
)
def test_names_that_do_not_fit_are_told(
    train: Mapping[str, str] | Sequence[str], dev: Mapping[str, str] | Sequence[str], message: str, treebanks: Path
) -> None:
    def paths(own: Mapping[str, str] | Sequence[str]) -> Mapping[str, list[Path]] | list[Path]:
        if isinstance(own, Mapping):
            return {name: [treebanks / f"{file}.conllu"] for name, file in own.items()}
        return [treebanks / f"{file}.conllu" for file in own]

    with pytest.raises(ValueError, match=message):
        Treebank.of_files(paths(train), paths(dev))


def test_models_without_names_refuse_one(tmp_path: Path, treebanks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random_model(TINY, read(treebanks / "aa-ud-dev.conllu")).save(tmp_path)
    assert parse.main([str(tmp_path), "--treebank", "aa", "--text"], [b"ta\n"]) == 1
    assert "treebank aa: this model was trained without names of treebanks" in capsys.readouterr().err


def test_grafts_are_of_the_same_treebank(treebanks: Path) -> None:
    """In names that differ, so that each form tells where it comes from."""
    found = Treebank.of_files(files(treebanks, "train")).read()["train"]
    marked = [replace(s, forms=tuple(f"{s.treebank} {form}" for form in s.forms)) for s in found]
    grafted, _ = Grafts(marked, [s.heads for s in marked], 1.0)(np.random.default_rng(1))
    assert any(new.forms != old.forms for new, old in zip(grafted, marked, strict=True))
    assert all(form.startswith(f"{s.treebank} ") for s in grafted for form in s.forms)

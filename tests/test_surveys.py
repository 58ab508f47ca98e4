"""What is counted in treebanks: transitions of sentences, and trees that come back from projective ones."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pseudo_projective
import transitions_per_word
from structdep.trees import is_projective
from structdep_parser.data.conllu import Sentence, read
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.pseudo_projective import decoded, encoded
from transitions_per_word import Fit


@pytest.fixture(scope="module")
def sentences(tmp_path_factory: pytest.TempPathFactory) -> list[Sentence]:
    return read(write_demo_treebank(tmp_path_factory.mktemp("treebank")).dev)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_transitions_per_word(sentences: list[Sentence], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--lang", "demo", "--split", "dev", "--out", str(tmp_path)]
    assert transitions_per_word.main(command) == 0
    each = rows(tmp_path / "sentences.csv")
    assert [int(row["words"]) for row in each] == list(map(len, sentences))
    for row, sentence in zip(each, sentences, strict=True):
        least, lazy, eager = 2 * len(sentence), int(row["lazy"]), int(row["eager"])
        assert least <= lazy <= eager and (eager > least) != is_projective(sentence.heads)
    (eager, lazy) = rows(tmp_path / "fits.csv")
    fit = Fit.of([float(row["words"]) for row in each], [float(row["eager"]) for row in each])
    assert eager["swaps"] == "eager" and float(eager["transitions per word"]) == pytest.approx(fit.slope)
    assert 2 < float(lazy["transitions per word"]) < fit.slope and float(lazy["R²"]) > fit.explained > 0.5
    figure = (tmp_path / "demo-dev.svg").read_bytes()
    assert figure.startswith(b"<?xml")
    assert f"{fit.slope:.2f}" in capsys.readouterr().out
    assert transitions_per_word.main(command) == 0
    assert (tmp_path / "demo-dev.svg").read_bytes() == figure


def test_files_of_one_name_have_figures_of_their_own(tmp_path: Path) -> None:
    files = [write_demo_treebank(tmp_path / folder).dev for folder in "ab"]
    assert transitions_per_word.main(["--files", *map(str, files), "--out", str(tmp_path / "out")]) == 0
    assert sorted(path.name for path in (tmp_path / "out").glob("*.svg")) == ["a-demo-ud-dev.svg", "b-demo-ud-dev.svg"]


def test_a_fit_is_the_best_multiple() -> None:
    words, steps = np.array([3.0, 5, 9]), np.array([6.0, 12, 19])
    fit = Fit.of(words, steps)
    errors = [((steps - slope * words) ** 2).sum() for slope in (fit.slope - 1e-3, fit.slope, fit.slope + 1e-3)]
    assert min(errors) == errors[1] and fit.explained == pytest.approx(1 - errors[1] / (steps.var() * 3))


def test_restoration_is_counted(sentences: list[Sentence], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pseudo_projective.main(["--lang", "demo", "--split", "dev", "--out", str(tmp_path)]) == 0
    crossing = sum(not is_projective(sentence.heads) for sentence in sentences)
    counts = rows(tmp_path / "counts.csv")
    assert [row["scheme"] for row in counts] == ["head", "path", "head+path"]
    assert {(row["sentences"], row["not projective"]) for row in counts} == {(str(len(sentences)), str(crossing))}
    for row, shares in zip(counts, rows(tmp_path / "restored.csv"), strict=True):
        assert float(shares["trees"]) == pytest.approx(100 * (1 - int(row["other trees"]) / len(sentences)))
        assert float(shares["of lifted heads"]) == pytest.approx(
            100 * (1 - int(row["other heads"]) / int(row["lifted"]))
        )
    assert "head+path" in capsys.readouterr().out


def test_what_does_not_come_back_is_counted(sentences: list[Sentence]) -> None:
    """1 belongs to 5, below 4; 2 is of the same relation as 5, and nearer to the root."""
    (sentence, *_) = (s for s in sentences if len(s) == 5)
    lost = Sentence(**{**vars(sentence), "heads": np.array([5, 3, 0, 3, 4]), "deprels": ("a", "b", "c", "d", "b")})
    found = pseudo_projective.restoration([lost], "head")
    assert (found["lifted"], found["other trees"], found["other heads"]) == (1, 1, 1)
    assert pseudo_projective.restoration([lost], "head+path")["other trees"] == 0
    with pytest.raises(ValueError, match=r"sentence 5 \(sent_id = demo-dev-5\): relations must not hold"):
        encoded([lost, replace(lost, deprels=("acl|x",) * len(lost))], "head")
    (there,) = encoded([lost], "head")
    assert there.forms == lost.forms and there.deprels[0] == "a|b"
    assert decoded([there.heads], [there.deprels], "head")[0][0].tolist() == [2, 3, 0, 3, 4]


@pytest.mark.parametrize("program", [transitions_per_word, pseudo_projective])
def test_treebanks_that_are_not_there_are_told(
    program: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main = program.main
    assert main(["--lang", "got", "--treebanks", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "looked for got-ud-train.conllu" in capsys.readouterr().err and not (tmp_path / "out").exists()

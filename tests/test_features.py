"""Inputs and layers of one's own: word vectors, features of any model, and modules in place of the BiLSTM."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from training_cases import TINY, experiment, random_model, small_treebank

import structdep_parser as sp
from structdep_parser.cli import parse, train
from structdep_parser.config import Config
from structdep_parser.data.augmentation import Grafts
from structdep_parser.data.batches import batches
from structdep_parser.data.conllu import Sentence, of_words, read
from structdep_parser.data.features import SentenceFeatures, WordVectors, open_features
from structdep_parser.data.hdf5 import SIGNATURE
from structdep_parser.data.treebank import Treebank
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.training.runs import write_config

TEXT = "3 2\nik 1 2\nim 3 4\nIn 5 6\n"


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Treebank:
    return small_treebank(tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("part"))


@pytest.fixture(scope="module")
def sentences(treebank: Treebank) -> list[Sentence]:
    return read(treebank.train)


def test_word_vectors_are_of_forms_or_of_their_lower_case(tmp_path: Path) -> None:
    (tmp_path / "a.vec").write_text(TEXT, encoding="utf-8")
    words, vectors = ["ik", "im", "In"], np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    np.savez(tmp_path / "a.npz", words=words, vectors=vectors)
    np.savez_compressed(tmp_path / "b.npz", words=words, vectors=np.asfortranarray(vectors))
    np.savez(tmp_path / "c.npz", words=words, vectors=np.asfortranarray(vectors))
    sentence = of_words(["Ik", "ik", "In", "in", "þata"])
    assert isinstance(WordVectors(tmp_path / "a.npz").table, np.memmap)
    decomposed = np.array(["i\u0301k"])
    (tmp_path / "d.vec").write_text("i\u0301k 7 8\n", encoding="utf-8")
    np.savez(tmp_path / "d.npz", words=decomposed, vectors=np.float32([[7, 8]]))
    for path in ("d.vec", "d.npz"):
        found = WordVectors(tmp_path / path)
        assert found.values(found.rows(of_words(["\u00edk"]))).tolist() == [[7, 8]]
        assert found.values(found.rows(of_words(["x", "y"]))).tolist() == [[0, 0], [0, 0]]
    for path in ("a.vec", "a.npz", "b.npz", "c.npz"):
        found = WordVectors(tmp_path / path)
        assert found.width == 2
        assert found.values(found.rows(sentence)).tolist() == [[1, 2], [1, 2], [5, 6], [0, 0], [0, 0]]


def test_wrong_word_vectors_are_told(tmp_path: Path) -> None:
    for text, message in (
        ("x\n", "no word vectors"),
        ("", "a.txt is empty"),
        ("a 1 2\nb 1 x\n", "line 2: expected a word and its numbers, separated by spaces, not b'b 1 x"),
        ("a 1 2\nb 1 2 3\n", "line 2: 3 numbers, expected 2"),
    ):
        (tmp_path / "a.txt").write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            WordVectors(tmp_path / "a.txt").rows(of_words(["a", "b"]))
    for arrays, message in (
        ({"words": ["a"]}, "expected an .npz file with an array 'vectors'"),
        ({"words": ["a"], "vectors": np.eye(2)}, r"shapes \[1\] and \[2, 2\], expected \[words\] and \[words, width\]"),
    ):
        np.savez(tmp_path / "a.npz", **arrays)
        with pytest.raises(ValueError, match=message):
            WordVectors(tmp_path / "a.npz")
    with pytest.raises(ValueError, match="--vectors with --features-file"):
        open_features("a", "b")


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_features_of_sentences_are_found_by_name_or_number(
    tmp_path: Path, dtype: type, sentences: list[Sentence]
) -> None:
    rng = np.random.default_rng(1)
    own = {s.sent_id: rng.normal(size=(len(s), 3)).astype(dtype) for s in sentences[:9]}
    own["10"] = rng.normal(size=(len(sentences[9]), 3)).astype(dtype)
    save_file(own, tmp_path / "f.safetensors")
    features = SentenceFeatures(tmp_path / "f.safetensors")
    for sentence, array in zip(sentences[:10], own.values(), strict=True):
        np.testing.assert_array_equal(features.values(features.rows(sentence)), array.astype(np.float32))
    with pytest.raises(ValueError, match=r"sentence 11 .* has no features of this sentence"):
        features.rows(sentences[10])
    with pytest.raises(ValueError, match=r"has 1 words, its features in .* are of"):
        features.rows(replace(sentences[0], forms=("a",)))
    save_file({"a": np.zeros((2, 3), np.float32), "b": np.zeros((2, 4), np.float32)}, tmp_path / "g.safetensors")
    with pytest.raises(ValueError, match="all F32 or all F16 and equally wide, but found"):
        SentenceFeatures(tmp_path / "g.safetensors")
    (tmp_path / "g.safetensors").write_text("words and numbers", encoding="utf-8")
    with pytest.raises(ValueError, match=r"g\.safetensors: expected a safetensors or an HDF5 file"):
        open_features("", tmp_path / "g.safetensors")


def test_features_are_read_from_hdf5(tmp_path: Path, sentences: list[Sentence]) -> None:
    h5py = pytest.importorskip("h5py")
    rng, path = np.random.default_rng(1), tmp_path / "f.h5"
    own = [rng.normal(size=(len(s), 3)).astype(np.float32) for s in sentences[:3]]
    with h5py.File(path, "w") as file:
        file.create_dataset(sentences[0].sent_id, data=own[0].astype(np.float64), compression="gzip")
        file[f"a/{sentences[1].sent_id}"], file["3"] = own[1], own[2]
        file["4"], file["5"], file["6"] = np.zeros((2, 4), np.float32), np.zeros((2, 3), int), np.zeros((1, 3))
    features = open_features("", path)
    assert features is not None and features.width == 3
    inside = replace(sentences[1], lines=(f"# sent_id = a/{sentences[1].sent_id}",))
    rows = [features.rows(sentence) for sentence in (sentences[2], sentences[0], inside, sentences[2])]
    for found, place in zip(rows, (2, 0, 1, 2), strict=True):
        np.testing.assert_array_equal(features.values(found), own[place])
    mixed = np.array([[rows[1][1], -1], [rows[0][0], rows[2][0]]])
    np.testing.assert_array_equal(features.values(mixed), [[own[0][1], np.zeros(3)], [own[2][0], own[1][0]]])
    for place, message in ((3, "expected real numbers"), (4, "found int64"), (5, "has .* words"), (6, "no features")):
        with pytest.raises(ValueError, match=message):
            features.rows(sentences[place])
    with h5py.File(tmp_path / "g.h5", "w") as file:
        file["1"] = np.zeros(3)
    with pytest.raises(ValueError, match=r"expected arrays \[words, width\] of real numbers, but found none"):
        open_features("", tmp_path / "g.h5")
    (tmp_path / "g.h5").write_bytes((tmp_path / "g.h5").read_bytes()[:200])
    with pytest.raises(ValueError, match=r"g\.h5 cannot be read: .*truncated"):
        open_features("", tmp_path / "g.h5")


def test_hdf5_without_h5py_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    (tmp_path / "f.h5").write_bytes(SIGNATURE)
    with pytest.raises(ValueError, match="is an HDF5 file, and h5py, which reads it, is not installed: pip install"):
        open_features("", tmp_path / "f.h5")


def test_grafts_take_features_along(tmp_path: Path, sentences: list[Sentence]) -> None:
    forms = sorted({form for s in sentences for form in s.forms})
    (tmp_path / "a.vec").write_text("".join(f"{form} {n} {n}\n" for n, form in enumerate(forms)), encoding="utf-8")
    vectors = WordVectors(tmp_path / "a.vec")
    withs = [replace(s, rows=vectors.rows(s)) for s in sentences]
    grafted, _ = Grafts(withs, [s.heads for s in withs], 1.0)(np.random.default_rng(1))
    assert any(new.forms != old.forms for new, old in zip(grafted, sentences, strict=True))
    for sentence in grafted:
        assert sentence.rows is not None and sentence.rows.tolist() == vectors.rows(sentence).tolist()
    for batch in batches(grafted, Vocabulary.of(grafted), features=vectors):
        features = batch.lines.features.reshape(-1, 2)
        for root, number in zip(batch.root.tolist(), batch.trees.index.tolist(), strict=True):
            if number >= 0:
                numbers = [forms.index(form) for form in grafted[number].forms]
                assert features[root + 1 : root + 1 + len(numbers), 0].tolist() == numbers


def test_a_parser_with_word_vectors_is_trained_and_parses(
    treebank: Treebank, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.vec").write_text("ta 1 2\nluzisa 3 4\n", encoding="utf-8")
    config = replace(TINY, epochs=1, vectors=str(tmp_path / "a.vec"))
    made = experiment(treebank, tmp_path / "run", config)
    made.train()
    made.report()
    parser = sp.load(tmp_path / "run")
    assert parser.config.feature_width == 2
    (tmp_path / "other.vec").write_text("ta -9 9\nluzisa 30 -40\n", encoding="utf-8")
    (tmp_path / "same.vec").write_text("luzisa 3 4\nta 1 2\n", encoding="utf-8")
    own, other, same = (
        each.parse([["ta", "luzisa"]], probabilities=True)[0].probability
        for each in (
            parser,
            *(sp.load(tmp_path / "run", vectors=tmp_path / f"{name}.vec") for name in ("other", "same")),
        )
    )
    assert own == same != other
    nothing = WordVectors(tmp_path / "a.vec")
    assert nothing.values(nothing.rows(of_words(["x"]))).tolist() == [[0, 0]]
    (tmp_path / "none.vec").write_text("ta\t1\t2 3\nx 1 2\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"none\.vec has no vector of any training word"):
        experiment(treebank, tmp_path / "none", replace(config, vectors=str(tmp_path / "none.vec")))
    values = json.loads((tmp_path / "run" / "config.json").read_text())
    (tmp_path / "earlier").mkdir()
    (tmp_path / "earlier" / "config.json").write_text(json.dumps(values | {"feature_checksum": ""}))
    write_config(tmp_path / "earlier", Config.of(values))
    (tmp_path / "a.vec").write_text("ta 1 3\nluzisa 3 4\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"holds a run with feature_checksum=\w+, but this command has"):
        experiment(treebank, tmp_path / "run", config)
    (tmp_path / "b.vec").write_text("ta 1 2 3\n", encoding="utf-8")
    (tmp_path / "in.txt").write_text("ta luzisa\n", encoding="utf-8")
    command = [str(tmp_path / "run"), "--text", "--input", str(tmp_path / "in.txt")]
    assert parse.main([*command, "--vectors", str(tmp_path / "b.vec")]) == 1
    assert "trained with features of width 2, but these have 3" in capsys.readouterr().err
    assert parse.main([*command, "--output", str(tmp_path / "out.conllu")]) == 0
    assert len(read(tmp_path / "out.conllu")[0]) == 2


def test_sentences_without_features_are_left_out(
    sentences: list[Sentence], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "f.safetensors"
    save_file({str(number): np.ones((2, 3), np.float32) for number in (1, 3)}, path)
    random_model(replace(TINY, features_file=str(path), feature_width=3), sentences).save(tmp_path / "run")
    (tmp_path / "in.txt").write_text("ta luzisa\n" * 3, encoding="utf-8")
    command = [str(tmp_path / "run"), "--text", "--input", str(tmp_path / "in.txt")]
    assert parse.main([*command, "--output", str(tmp_path / "out.conllu")]) == 1
    assert "sentence 2" in (told := capsys.readouterr().err) and "no features of this sentence" in told
    assert len(read(tmp_path / "out.conllu")) == 2


def test_a_layer_of_ones_own_takes_the_place_of_the_bilstm(treebank: Treebank, tmp_path: Path) -> None:
    config = replace(TINY, epochs=1, encoder_layer="transformer_layer:TransformerLayer", learning_rate=1e-3)
    made = experiment(treebank, tmp_path / "run", config)
    made.train()
    made.report()
    (long, short) = sp.load(tmp_path / "run").parse([["ta", "luzisa"] * 8, ["ta", "luzisa"]])
    assert len(long.heads) == 16 and len(short.heads) == 2
    with pytest.raises(ValueError, match="--encoder-layer nothing:There: expected MODULE:CLASS"):
        experiment(treebank, tmp_path / "other", replace(config, encoder_layer="nothing:There"))


def test_the_command_line_names_files_by_their_whole_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = train.config(train.parser().parse_args(["--lang", "got", "--vectors", "a.vec"]))
    assert config.vectors == str(tmp_path / "a.vec") and "vectors" in config.name

"""Parsing with a model that is a folder: streams in, trees out, and all else as it was."""

import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
from numpy.typing import NDArray
from training_cases import TINY, random_model, score_tables

from structdep.trees import is_projective, is_tree
from structdep_parser.cli import parse
from structdep_parser.data import streams as incoming
from structdep_parser.data.conllu import Sentence, read, stream
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.parsers.decoding import Decoding
from structdep_parser.parsers.prediction import Tree
from structdep_parser.parsers.trained_model import DESCRIPTION, FOLDER, WEIGHTS, TrainedModel, models_in
from structdep_parser.parsers.trained_parser import JointParser, TrainedParser

PARTIAL = """\
# sent_id = a
# tight
1-2\tta luzisa\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tta\tta\tDET\tD\tGender=Fem\t2\todd\t2:odd\tX=1
2\tluzisa\t_\t_\t_\t_\t_\t_\t_\t_
2.1\tnothing\t_\t_\t_\t_\t_\t_\t2:dep\t_
3\tbutelo\t_\t_\t_\t_\t1\t_\t_\t_
4\tgiporis\t_\t_\t_\t_\t_\t_\t_\t_

1\tmomisa\t_\t_\t_\t_\t_\tnonsense\t_\t_

"""


@pytest.fixture(scope="module")
def sentences(tmp_path_factory: pytest.TempPathFactory) -> list[Sentence]:
    return read(write_demo_treebank(tmp_path_factory.mktemp("treebank")).dev)[:20]


@pytest.fixture(scope="module")
def model(sentences: list[Sentence]) -> TrainedModel:
    return random_model(TINY, sentences)


@pytest.fixture(scope="module")
def folder(model: TrainedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("runs") / "run"
    model.save(run / FOLDER)
    return run


def parsed(folder: Path, text: str, *options: str) -> tuple[int, str]:
    sink = io.BytesIO()
    return parse.main([str(folder), *options], io.BytesIO(text.encode()), sink), sink.getvalue().decode()


def words(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines() if re.match(r"\d+\t", line)]


def best(model: TrainedModel, sentences: list[Sentence], memory: float = np.inf) -> tuple[list[Tree], list[str]]:
    """The best trees, and the warnings."""
    told: list[str] = []
    return [trees[0] for trees in TrainedParser(model, memory, told.append)(sentences)], told


def test_a_model_is_what_was_saved_wherever_it_lies(model: TrainedModel, folder: Path, tmp_path: Path) -> None:
    (folder / FOLDER / WEIGHTS).rename(tmp_path / WEIGHTS)
    (tmp_path / DESCRIPTION).write_bytes((folder / FOLDER / DESCRIPTION).read_bytes())
    moved = TrainedModel.load(tmp_path)
    (tmp_path / WEIGHTS).rename(folder / FOLDER / WEIGHTS)
    for found in (moved, TrainedModel.load(folder), TrainedModel.load(folder / FOLDER)):
        assert (found.config, found.vocabulary) == (model.config, model.vocabulary)
        assert jax.tree.structure(found.weights) == jax.tree.structure(model.weights)
        jax.tree.map(np.testing.assert_array_equal, found.weights, model.weights)


def test_folders_without_a_model_are_told(model: TrainedModel, tmp_path: Path) -> None:
    model.save(tmp_path / "runs" / "one" / FOLDER)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*two; .*runs has one"):
        TrainedModel.load(tmp_path / "runs" / "two")
    with pytest.raises(FileNotFoundError, match=r"runs holds runs: give one of them, such as .*one"):
        TrainedModel.load(tmp_path / "runs")
    with pytest.raises(FileNotFoundError, match=r"weights.safetensors is a file, expected the folder of a run"):
        TrainedModel.load(tmp_path / "runs" / "one" / FOLDER / WEIGHTS)


def test_files_of_the_other_format_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text in (PARTIAL, "1\tik\t_\t_\t_\t_\t_\t_\t_\t_\n"):
        assert parsed(folder, text, "--text") == (1, "")
        assert "line 1: this is CoNLL-U, not text: leave --text out" in (told := capsys.readouterr().err)
        assert told.count("leave --text out") == 1
    assert parsed(folder, "ik im\n")[0] == 1
    assert "structdep parse --text reads text with one sentence in each line" in capsys.readouterr().err
    assert parsed(folder, "1 ik _ _ _ _ 0 root _ _\n")[0] == 1
    assert "TAB separates columns, not spaces" in capsys.readouterr().err


def test_a_missing_folder_of_the_output_is_told(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert parsed(folder, PARTIAL, "--output", str(tmp_path / "none" / "out.conllu"))[0] == 1
    assert f"there is no folder {tmp_path / 'none'} for out.conllu" in capsys.readouterr().err


def test_the_file_that_is_read_is_not_written(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given, link = tmp_path / "given.conllu", tmp_path / "link.conllu"
    given.write_text(PARTIAL)
    link.hardlink_to(given)
    with given.open() as lines:
        monkeypatch.setattr("sys.stdin", lines)
        for options in (["--output", str(given)], ["--input", str(given), "--output", str(link)]):
            assert parse.main([str(folder), *options]) == 1
            assert "--output is the file that is read, " in capsys.readouterr().err
    assert given.read_text() == PARTIAL


def test_damaged_models_are_refused_by_name(model: TrainedModel, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no model in .* give the command that made the run again"):
        TrainedModel.load(tmp_path)
    model.save(tmp_path)
    weights, description = ((tmp_path / name).read_bytes() for name in (WEIGHTS, DESCRIPTION))
    for damage in (weights[:-1], weights[:900] + bytes([weights[900] ^ 1]) + weights[901:], b""):
        (tmp_path / WEIGHTS).write_bytes(damage)
        with pytest.raises(ValueError, match=r"weights\.safetensors is damaged"):
            TrainedModel.load(tmp_path)
    (tmp_path / WEIGHTS).write_bytes(weights)
    values = json.loads(description)
    del values["sha256"], values["config"]["single_root"]  # as in models of earlier versions
    del values["config"]["treebank_vectors"], values["vocabulary"]["treebanks"]
    (tmp_path / DESCRIPTION).write_text(json.dumps(values), encoding="utf-8")
    assert TrainedModel.load(tmp_path).config == model.config
    wider = values | {"config": values["config"] | {"states": 64}}
    (tmp_path / DESCRIPTION).write_text(json.dumps(wider), encoding="utf-8")
    with pytest.raises(ValueError, match=r"weights\.safetensors: .* expected .*: of another version"):
        TrainedModel.load(tmp_path)
    renamed = description.replace(b'"nsubj"', b'"nsubX"')
    for damage in (description[:-9], b"{}", b"[]", description.replace(b'"states"', b'"status"'), renamed):
        assert damage != description
        (tmp_path / DESCRIPTION).write_bytes(damage)
        with pytest.raises(ValueError, match=r"model\.json is damaged, or of another version"):
            TrainedModel.load(tmp_path)


def test_known_heads_stay_and_so_does_everything_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The arc to word 3 crosses the root's, so that a projective parser has no tree for it."""
    status, text = parsed(folder, "\ufeff" + PARTIAL.replace("\n", "\r\n"), "--constraints")
    assert status == 0
    before, after = PARTIAL.splitlines(), text.splitlines()
    assert len(before) == len(after)
    assert all(one == other for one, other in zip(before, after, strict=True) if not re.match(r"\d+\t", one))
    given, found = words(PARTIAL), words(text)
    assert all(one[:6] + one[8:] == other[:6] + other[8:] for one, other in zip(given, found, strict=True))
    heads = [int(word[6]) for word in found]
    assert (heads[0], found[0][7], heads[2]) == (2, "odd", 1) and is_tree(heads[:4]) and not is_projective(heads[:4])
    assert heads[4] == 0 and "nonsense" not in text and "_" not in {word[7] for word in found}
    assert "line 1, sentence 1 (sent_id = a): eisner has no tree with these heads" in capsys.readouterr().err


def test_what_comes_before_heads_that_no_tree_has_is_written(
    sentences: list[Sentence], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    random_model(replace(TINY, parser="mst"), sentences).save(tmp_path)
    two_roots = "".join(f"{word}\tik\t_\t_\t_\t_\t0\t_\t_\t_\n" for word in (1, 2))
    status, text = parsed(tmp_path, f"{PARTIAL}# sent_id = b\n{two_roots}\n", "--constraints", "--single-root")
    assert status == 1 and text == parsed(tmp_path, PARTIAL, "--constraints", "--single-root")[1]
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith(
        "structdep parse: standard input, line 12, sentence 3 (sent_id = b): no tree has the heads of the input"
    )
    assert told.endswith("HEAD is 0 in 2 words, but a tree with a single root has one such word: left out")
    assert parsed(tmp_path, two_roots, "--constraints", "--no-single-root")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("k_best", [1, 3])
def test_trees_that_have_the_known_heads_are_probable_given_these(model: TrainedModel, k_best: int) -> None:
    """The best trees with their probabilities, against all of them."""
    rows = PARTIAL.replace("\t1\t_\t_", "\t4\t_\t_").encode().splitlines(keepends=True)
    (sentence, _) = stream(rows, "rows", "partial")
    decoding = Decoding(confidence=True, k_best=k_best, known=True)
    (trees,) = TrainedParser(model, np.inf, pytest.fail)([sentence], decoding)
    ((_, tables),) = score_tables(model, [sentence])
    arcs = np.asarray(tables["arc"])
    candidates = [np.array([2, a, 4, b]) for a in range(5) for b in range(5)]
    own = [h for h in candidates if is_tree(h) and is_projective(h) and (h == 0).sum() == 1]
    scores = np.array([arcs[heads, np.arange(1, 5)].sum() for heads in own])
    order, p = np.argsort(-scores), np.exp(scores - np.logaddexp.reduce(scores))
    for tree, place in zip(trees, order[:k_best], strict=True):
        assert tree.heads.tolist() == own[place].tolist() and tree.confidence is not None
        np.testing.assert_allclose(tree.confidence.tree, p[place], rtol=1e-3)
        sums = ((np.array(own) == tree.heads) * p[:, None]).sum(0)
        np.testing.assert_allclose(tree.confidence.arcs, sums, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("options", [(), pytest.param(("--confidence",), marks=pytest.mark.slow)])
def test_the_k_best_trees_are_sentences_of_their_own(
    sentences: list[Sentence], tmp_path: Path, options: tuple[str, ...]
) -> None:
    """As many as there are: of one word, one."""
    random_model(replace(TINY, parser="mst"), sentences).save(tmp_path)
    status, text = parsed(tmp_path, PARTIAL, "--k-best", "3", "--single-root", *options)
    blocks = text.strip().split("\n\n")
    trees = [[word[6] for word in words(block)] for block in blocks]
    assert status == 0 and len(blocks) == 4 and all(heads.count("0") == 1 for heads in trees)
    assert len({tuple(heads) for heads in trees[:3]}) == 3 and trees[3] == ["0"]
    for block, rank, of in zip(blocks, (1, 2, 3, 1), (3, 3, 3, 1), strict=True):
        assert f"# tree = {rank} of {of}\n" in block + "\n"
    found = [float(p) for p in re.findall(r"TreeProb=(\S+)", text)]
    assert len(found) == 4 * len(options) and sorted(found[:3], reverse=True) == found[:3]


def test_text_is_parsed_too(folder: Path) -> None:
    status, text = parsed(folder, "ta luzisa\n\n momisa  \n", "--text")
    assert status == 0 and text.startswith("# text = ta luzisa\n1\tta\t_\t_\t_\t_\t") and text.count("# text") == 2
    assert parsed(folder, "", "--text") == parsed(folder, "") == (0, "")
    assert parsed(folder, "ta", "--text", "--constraints") == (1, "")
    for memory in ("-1", "nan"):
        assert parsed(folder, "ta", "--text", "--memory", memory) == (1, "")


@pytest.mark.parametrize(
    "parser", ["mst2-greedy", *(pytest.param(p, marks=pytest.mark.slow) for p in ("mh4", "mh4-hybrid"))]
)
def test_long_sentences_are_parsed_by_a_cheaper_system(parser: str, sentences: list[Sentence]) -> None:
    """It finds the best of other trees by the same scores."""
    model = random_model(replace(TINY, parser=parser), sentences)
    found, told = best(model, sentences[:4], memory=0)
    message = rf"sentence 1 \(\S+ = \S+\) has \d+ words, for which {parser} takes about 0\.\d GiB"
    assert len(told) == 4 and re.search(message, told[0])
    for place, tables in score_tables(model, sentences[:4]):
        heads = found[place].heads
        if parser == "mh4-hybrid":
            assert is_tree(heads) and is_projective(heads)
        else:
            assert_no_head_is_better(np.asarray(tables["arc"]), heads)


def test_sentences_too_long_for_all_models_are_parsed_by_the_first(sentences: list[Sentence]) -> None:
    models = {name: random_model(replace(TINY, parser=name), sentences) for name in ("mst", "mst2-greedy")}
    told: list[str] = []
    found = JointParser(models, 0, told.append)(sentences[:2])
    for (tree,), expected in zip(found, best(models["mst"], sentences[:2])[0], strict=True):
        np.testing.assert_array_equal(tree.heads, expected.heads)
    for number, line in enumerate(told, start=1):
        assert (
            f"sentence {number} (sent_id = demo-dev-{number}) has {len(sentences[number - 1])} words, too many" in line
        )


def test_models_that_parse_together_need_room_for_marginals(sentences: list[Sentence]) -> None:
    model, told = random_model(replace(TINY, parser="mh4", loss="nll"), sentences), list[str]()
    trained_parser = TrainedParser(model, np.inf, pytest.fail)
    best, sums = trained_parser.need(sentences[0]), trained_parser.need(sentences[0], Decoding("mbr"))
    hinge = TrainedParser(random_model(replace(TINY, parser="mh4"), sentences), np.inf, pytest.fail)
    assert best == hinge.need(sentences[0]) < sums / 4, "a best tree takes as much, whatever the loss"
    JointParser({"a": model, "b": model}, (best + sums) / 2, told.append)(sentences[:1])
    assert len(told) == 1 and "too many for all models at once: parsed by the first alone" in told[0]


def test_a_sentence_longer_than_any_shape_is_told_after_those_before_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, text = parsed(folder, "ta luzisa\n\n" + "a " * 17_000 + "\n", "--text")
    assert status == 1 and len(words(text)) == 2
    assert "sentence 2 (no sent_id) has 17000 words, and 16384 are the most" in capsys.readouterr().err


def test_a_model_that_is_given_twice_is_told(folder: Path) -> None:
    with pytest.raises(ValueError, match="run is given twice: models that parse together count once"):
        models_in([folder, folder])
    with pytest.raises(ValueError, match="is given twice"):
        models_in([folder, folder / ".." / folder.name])


def assert_no_head_is_better(arcs: NDArray[np.float32], heads: NDArray[np.int32]) -> None:
    places = np.arange(1, len(heads) + 1)
    moved = [np.where(places == word, head, heads) for word in places for head in range(len(heads) + 1)]
    scores = [arcs[tree, places].sum() for tree in moved if is_tree(tree, single_root=True)]
    assert is_tree(heads, single_root=True) and max(scores) <= arcs[heads, places].sum() + 1e-4


def test_parsers_without_charts_parse_and_say_what_they_cannot(sentences: list[Sentence], tmp_path: Path) -> None:
    random_model(replace(TINY, parser="greedy-mh3", positions=2), sentences).save(tmp_path)
    status, text = parsed(tmp_path, PARTIAL)
    assert status == 0 and is_projective([int(word[6]) for word in words(text)[:4]])
    for option in ("--constraints", "--confidence"):
        assert parsed(tmp_path, PARTIAL, option) == (1, "")


def test_lifted_arcs_are_lowered(sentences: list[Sentence], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marked = [replace(s, deprels=tuple(f"{d}|{d}" for d in s.deprels)) for s in sentences]
    random_model(replace(TINY, pseudo_projective="head"), marked).save(tmp_path)
    status, text = parsed(tmp_path, PARTIAL)
    assert status == 0 and len(words(text)) == 5 and "|" not in "".join(word[7] for word in words(text))
    assert parsed(tmp_path, PARTIAL, "--constraints") == (1, "")
    assert "--constraints with --pseudo-projective" in capsys.readouterr().err


def test_what_is_read_is_parsed_before_the_rest_comes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also when the rest is wrong, and nothing wrong is passed over."""
    monkeypatch.setattr(incoming, "WORDS_AT_ONCE", 5)
    sink, seen = io.BytesIO(), []

    def lines() -> Iterator[bytes]:
        for text in (PARTIAL, PARTIAL, "1\tmomisa\n"):
            seen.append(sink.getvalue().count(b"# sent_id"))
            yield from text.encode().splitlines(keepends=True)

    status = parse.main([str(folder), "--strict"], lines(), sink)  # type: ignore[arg-type]
    assert status == 1 and seen == [0, 1, 2] and sink.getvalue().count(b"# sent_id") == 2
    assert "standard input, line 23, sentence 5 (no sent_id): 2 tab-separated columns" in capsys.readouterr().err

"""The parser in Python: load, parse, stream, train, save."""

import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from training_cases import TINY, random_model, small_treebank

import structdep_parser as sp
from structdep.trees import is_tree
from structdep_parser.data.conllu import Sentence, read, stream
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.treebank import Treebank

WORDS = [["ta", "luzisa"], ["momisa"], ["ta", "butelo", "giporis"]]


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> list[Sentence]:
    return read(write_demo_treebank(tmp_path_factory.mktemp("treebank")).dev)[:20]


@pytest.fixture(scope="module")
def folder(dev: list[Sentence], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model")
    random_model(TINY, dev).save(place)
    return place


@pytest.fixture(scope="module")
def parser(folder: Path) -> sp.Parser:
    return sp.load(folder)


def test_words_are_parsed(parser: sp.Parser) -> None:
    found = parser.parse(WORDS, probabilities=True, tags=True)
    for words, parsed in zip(WORDS, found, strict=True):
        assert parsed.sentence.forms == tuple(words) and is_tree(parsed.heads, single_root=True)
        assert len(parsed.relations) == len(words) and (parsed.relations[0] == "root") == (parsed.heads[0] == 0)
        assert parsed.tags is not None and [len(column) for column in parsed.tags] == [len(words)] * 4
        assert parsed.arc_probabilities is not None and parsed.relation_probabilities is not None
        assert parsed.probability is not None and 0 < parsed.probability <= parsed.arc_probabilities.min() + 1e-4
        (again,) = stream(parsed.to_conllu().encode().splitlines(keepends=True), "written")
        assert np.array_equal(again.heads, parsed.heads) and again.deprels == parsed.relations
        assert (again.upos, again.xpos, again.feats, again.lemmas) == parsed.tags
        assert all("DeprelProb=" in misc for misc in again.misc)
    plain = parser.parse(WORDS)
    assert [parsed.heads.tolist() for parsed in plain] == [parsed.heads.tolist() for parsed in found]
    assert plain[0].probability is None and plain[0].tags is None


def test_bars_in_tags_stay_there(dev: list[Sentence]) -> None:
    several = [replace(sentence, xpos=tuple(f"{tag}|UTR" for tag in sentence.xpos)) for sentence in dev]
    known = {pair for sentence in several for pair in zip(sentence.xpos, sentence.feats, strict=True)}
    model = random_model(TINY, several)
    assert model.vocabulary.from_dict(model.vocabulary.to_dict()) == model.vocabulary
    for parsed in sp.Parser({"one": model}).parse(WORDS, tags=True):
        assert parsed.tags is not None and {*zip(parsed.tags.xpos, parsed.tags.feats, strict=True)} <= known


def test_streams_are_parsed_as_lists_are(parser: sp.Parser, dev: list[Sentence]) -> None:
    whole = parser.parse(dev)
    assert [p.heads.tolist() for p in parser.stream(iter(dev))] == [p.heads.tolist() for p in whole]
    alone = [parser.parse([sentence])[0].heads.tolist() for sentence in dev[:3]]
    assert alone == [p.heads.tolist() for p in whole[:3]]


def test_k_best_constraints_roots_and_least_risk(parser: sp.Parser) -> None:
    (parsed,) = parser.parse([WORDS[2]], k_best=3)
    assert len({tuple(tree.heads.tolist()) for tree in parsed.trees}) == 3
    assert parsed.trees[0].relations == parsed.trees[0].deprels == parsed.relations
    assert parsed.to_conllu().count("# tree = ") == 3
    (known,) = parser.parse([WORDS[2]], constraints=[[None, 3, 0]])
    assert known.heads.tolist()[1:] == [3, 0]
    (roots,) = parser.parse([WORDS[2]], constraints=[[0, 0, 0]], single_root=False)
    assert roots.heads.tolist() == [0, 0, 0]
    (none,) = parser.parse([WORDS[2]], constraints=[[0, 0, 0]])
    assert none.trees == ()
    with pytest.raises(ValueError, match="HEAD is 0 in 3 words, but a tree with a single root has one such word"):
        _ = none.heads
    assert is_tree(parser.parse([WORDS[2]], decode="mbr")[0].heads)


@pytest.mark.parametrize(
    ("sentences", "options", "message"),
    [
        (["ta luzisa"], {}, "sentence 1 is text, 'ta luzisa', expected a sequence of words: write .split()"),
        ([["ta\tx"]], {}, "a TAB in the word"),
        ([["ta\n"]], {}, "a line break in the word"),
        ([[]], {}, "a sentence without words"),
        ([["ta", "x"]], {"constraints": [[1]]}, "has 2 words, but 1 known heads"),
        ([["ta", "x"]], {"constraints": [[3, 0]]}, "the head of word 1"),
        ([["ta", "x"]], {"constraints": []}, "sentence 1 has no constraints: write one list for each sentence"),
        (
            [["ta", "x"]],
            {"constraints": [[2, 0], [0]]},
            "constraints for more than 1 sentences: write one",
        ),
        ([["ta", 7]], {}, "sentence 1: a word is a string, not 7"),
        ([["ta", "x"]], {"k_best": 0}, "at least 1 tree"),
        ([["ta", "x"]], {"beam": 4}, "leave --beam out"),
        ([["ta", "x"]], {"decode": "best"}, "--decode best: expected argmax or mbr"),
    ],
)
def test_what_is_wrong_is_told(
    sentences: list[list[str]], options: dict[str, object], message: str, parser: sp.Parser
) -> None:
    with pytest.raises(ValueError, match=message):
        parser.parse(sentences, **options)


def test_memory_is_no_less_than_nothing(parser: sp.Parser) -> None:
    with pytest.raises(ValueError, match=r"^memory -1: expected a number of GiB, 0 or more$"):
        sp.Parser(parser.models, memory=-1)


def test_models_are_saved_and_loaded_alone_and_together(parser: sp.Parser, tmp_path: Path) -> None:
    parser.save(tmp_path / "a")
    parser.save(tmp_path / "b")
    both = sp.load(tmp_path / "a", tmp_path / "b")
    expected = [parsed.relations for parsed in sp.load(tmp_path / "a").parse(WORDS)]
    assert [parsed.relations for parsed in parser.parse(WORDS)] == expected
    assert all(is_tree(parsed.heads, single_root=True) for parsed in both.parse(WORDS))
    both.save(tmp_path / "c")
    assert sp.load(*sorted((tmp_path / "c").iterdir())).config == parser.config
    with pytest.raises(ValueError, match="2 models at once give one tree"):
        both.parse(WORDS, k_best=2)
    (model,) = parser.models.values()
    sp.Parser({"a/model": model, "b/model": model}).save(tmp_path / "d")
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == ["1-model", "2-model"]
    with pytest.raises(ValueError, match="members=2: train one parser for each seed"):
        sp.train(tmp_path / "a" / "model.json", folder=tmp_path / "e", members=2)


def test_files_of_any_name_train_a_parser(tmp_path: Path) -> None:
    """Also without a dev set: every tenth sentence is kept for that."""
    named = small_treebank(tmp_path, tmp_path, "xyz")
    assert named.test is not None
    train = [named.train.rename(tmp_path / "mine.conllu"), named.test.rename(tmp_path / "more.conllu")]
    splits = Treebank.of_files(train).read()
    assert [len(splits[split]) for split in ("train", "dev")] == [50, 5]
    assert len(Treebank.of_files(train[:1], [named.dev] if named.dev else [], train[1:]).read()["test"]) == 15
    parser = sp.train(train, folder=tmp_path / "run", config=replace(TINY, epochs=1))
    assert parser.config.lang == "mine" and is_tree(parser.parse(WORDS)[0].heads)
    assert (tmp_path / "run" / "dev.conllu").read_bytes().count(b"# sent_id") == 5
    again = sp.train(train, folder=tmp_path / "run", config=replace(TINY, epochs=1))
    assert [p.relations for p in again.parse(WORDS)] == [p.relations for p in parser.parse(WORDS)]
    with pytest.raises(FileNotFoundError, match="is a folder, expected a file"):
        Treebank.of_files([tmp_path])
    with pytest.raises(FileNotFoundError, match="there is no file"):
        sp.train(tmp_path / "gone.conllu", folder=tmp_path / "other")


def test_what_takes_memory_is_a_warning(dev: list[Sentence]) -> None:
    model = random_model(replace(TINY, parser="mst2-greedy"), dev)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        sp.Parser({"m": model}, memory=0).parse(WORDS[:1])
    assert "parsed by" in str(told[0].message)


def test_help_imports_nothing_that_takes_time() -> None:
    code = """
import sys
from contextlib import suppress
from structdep_parser.cli.command_line import COMMANDS, main
for command in COMMANDS.keys() - {"doctor"}:
    with suppress(SystemExit):
        main([command, "--help"])
print("imported:", sorted({"jax", "numpy", "scipy", "matplotlib", "rich"} & sys.modules.keys()))
"""
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.endswith("imported: []\n")

"""Finding, reading and writing treebanks."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from structdep_parser.data.treebank import VARIABLE, find_treebank, read, write_predictions

ROWS = (
    "1-2\tnita\t_\t_\t_\t_\t_\t_\t_\t_",
    "1\tni\tni\tADP\tA\t_\t3\tcase\t_\t_",
    "2\tta\tta\tDET\tD\tGender=Fem\t3\tdet\t_\t_",
    "3\tluzisa\tluzisa\tNOUN\tN\tGender=Fem|Case=Obl\t4\tobl\t4:obl\tGloss=a=b",
    "4\tgiporis\tgiporis\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No",
    "4.1\tbutelo\tbutelo\tNOUN\t_\t_\t_\t_\t4:nsubj\t_",
)
COMMENTS = ("# sent_id = s1", "# a remark without a value", "#tight", "# note = twice", "# note = once more")
TEXT = "\n".join((*COMMENTS, *ROWS)) + "\n\n" + "1\tmomisa\t_\tNOUN\t_\t_\t0\troot\t_\t_\n\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.conllu"
    path.write_text(TEXT, encoding="utf-8")
    return path


def treebank_files(folder: Path, code: str, splits: tuple[str, ...] = ("train", "dev", "test")) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for split in splits:
        (folder / f"{code}-ud-{split}.conllu").write_text(TEXT, encoding="utf-8")


def test_words_are_syntactic_words(path: Path) -> None:
    first, second = read(path)
    assert first.forms == ("ni", "ta", "luzisa", "giporis") and second.forms == ("momisa",)
    assert len(first) == 4 and first.heads.tolist() == [3, 3, 4, 0] and first.heads.dtype == np.int32
    assert first.deprels == ("case", "det", "obl", "root")
    assert first.upos == ("ADP", "DET", "NOUN", "VERB") and first.xpos == ("A", "D", "N", "_")
    assert first.feats == ("_", "Gender=Fem", "Gender=Fem|Case=Obl", "_")
    assert first.comments == COMMENTS and len(first.lines) == 5 + 6


def test_writing_the_gold_tree_gives_the_same_text(path: Path, tmp_path: Path) -> None:
    sentences = read(path)
    copy = tmp_path / "new" / "copy.conllu"
    write_predictions(copy, sentences, [s.heads for s in sentences], [s.deprels for s in sentences])
    assert copy.read_text(encoding="utf-8") == TEXT


def test_writing_changes_heads_and_relations_only(path: Path, tmp_path: Path) -> None:
    sentences = read(path)
    copy = tmp_path / "copy.conllu"
    write_predictions(copy, sentences, [[2, 0, 2, 3], np.zeros(1, np.int32)], [["a", "b", "c", "d"], ["e"]])
    first, second = read(copy)
    assert first.heads.tolist() == [2, 0, 2, 3] and first.deprels == ("a", "b", "c", "d") and second.deprels == ("e",)
    assert (first.comments, first.feats) == (sentences[0].comments, sentences[0].feats)
    assert sentences[0].heads.tolist() == [3, 3, 4, 0]
    assert copy.read_text(encoding="utf-8").count("\t") == TEXT.count("\t")


def test_entries_of_misc_join_what_is_there(path: Path, tmp_path: Path) -> None:
    sentences = read(path)
    heads, deprels = [s.heads for s in sentences], [s.deprels for s in sentences]
    misc = [[{"ArcProb": "0.5", "TreeProb": "0.1"}, *[{"ArcProb": "0.25"}] * 3], [{}]]
    once, twice = tmp_path / "once.conllu", tmp_path / "twice.conllu"
    write_predictions(once, sentences, heads, deprels, misc)
    write_predictions(twice, read(once), heads, deprels, misc)
    assert twice.read_bytes() == once.read_bytes()
    pairs = list(zip(*(text.splitlines() for text in (TEXT, once.read_text(encoding="utf-8"))), strict=True))
    added = [(old.split("\t")[9], new.split("\t")[9]) for old, new in pairs if old != new]
    entries = ["ArcProb=0.5|TreeProb=0.1", *["ArcProb=0.25"] * 3]
    assert added == [(old, new if old == "_" else f"{old}|{new}") for (old, _), new in zip(added, entries, strict=True)]
    with pytest.raises(ValueError, match="1 entries of MISC"):
        write_predictions(once, sentences, heads, deprels, [[{}], [{}]])
    assert once.read_bytes() == twice.read_bytes()


@pytest.mark.parametrize(
    ("heads", "deprels", "message"),
    [
        ([[3, 3, 4, 0]], [["x"] * 4], "zip"),
        ([[3, 3, 4], [0]], [["x"] * 4, ["x"]], "4 words, but heads"),
        ([[3, 3, 4, 0], [0]], [["x"] * 3, ["x"]], "3 relations"),
        ([[3, 3, 5, 0], [0]], [["x"] * 4, ["x"]], r"not all in 0\.\.4"),
        ([[-1, -1, -1, -1], [0]], [["x"] * 4, ["x"]], r"not all in 0\.\.4"),
    ],
)
def test_what_does_not_fit_leaves_the_old_file(
    path: Path, heads: list[list[int]], deprels: list[list[str]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        write_predictions(path, read(path), heads, deprels)
    assert path.read_text(encoding="utf-8") == TEXT
    assert [entry.name for entry in path.parent.iterdir()] == ["a.conllu"]


@pytest.mark.parametrize(
    ("row", "bad", "line", "message"),
    [
        (1, "1\tni\tni\tADP\tA\t_\t3\tcase\t_", 7, "9 tab-separated columns, expected 10"),
        (1, "1\tni\t\tADP\tA\t_\t3\tcase\t_\t_", 7, "an empty column"),
        (1, "1\t \u3000\t_\tADP\tA\t_\t3\tcase\t_\t_", 7, r"the FORM is ' \\u3000', expected more than spaces"),
        (1, "1\tn\ri\t_\tADP\tA\t_\t3\tcase\t_\t_", 7, "a carriage return that is not at the end of the line"),
        (1, "\u0661\tni\t_\tADP\tA\t_\t3\tcase\t_\t_", 7, "the ID is '\u0661', expected a number"),
        (1, "1\tni\t_\tADP\tA\t_\t\u0663\tcase\t_\t_", 7, r"the head of word 1 \(ni\) is '\u0663'"),
        (1, "one\tni\t_\tADP\tA\t_\t3\tcase\t_\t_", 7, "the ID is 'one', expected a number"),
        (0, "2-1\tnita\t_\t_\t_\t_\t_\t_\t_\t_", 6, "the range 2-1 stands before word 1 of 4"),
        (0, "1-0\tnita\t_\t_\t_\t_\t_\t_\t_\t_", 6, "the ID is '1-0', expected a number, a range"),
        (0, "2-3\tnita\t_\t_\t_\t_\t_\t_\t_\t_", 6, "the range 2-3 stands before word 1 of 4, where it should begin"),
        (0, "1-5\tnita\t_\t_\t_\t_\t_\t_\t_\t_", 6, "the range 1-5 ends behind the last word, 4"),
        (0, f"{ROWS[0]}\n{ROWS[0]}", 7, "the range 1-2 begins within the one before, which ends with word 2"),
        (5, "4.2\tbutelo\t_\t_\t_\t_\t_\t_\t_\t_", 11, r"the empty node 4\.2, expected 4\.1"),
        (5, "2.1\tbutelo\t_\t_\t_\t_\t_\t_\t_\t_", 11, "the empty node 2.1 stands behind word 4"),
        (2, "3\tta\tta\tDET\tD\t_\t3\tdet\t_\t_", 8, "the ID is 3, expected 2"),
        (2, "2\tta\tta\tDET\tD\t_\t_\tdet\t_\t_", 8, r"the head of word 2 \(ta\) is '_', expected a number in 0\.\.4"),
        (2, "2\tta\tta\tDET\tD\t_\t-1\tdet\t_\t_", 8, "is '-1', expected"),
        (2, "2\tta\tta\tDET\tD\t_\t5\tdet\t_\t_", 8, r"is '5', expected a number in 0\.\.4"),
        (4, "4\tgiporis\t_\tVERB\t_\t_\t1\troot\t_\t_", 7, "no tree: .* 1 -> 3 -> 4 -> 1"),
        (3, "3\tluzisa\t_\tNOUN\tN\t_\t3\tobl\t_\t_", 9, "no tree: .* 3 -> 3"),
    ],
)
def test_bad_input_names_file_line_and_sentence(path: Path, row: int, bad: str, line: int, message: str) -> None:
    rows = [*ROWS[:row], bad, *ROWS[row + 1 :]]
    path.write_text("\n".join((*COMMENTS, *rows)) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=rf"a\.conllu, line {line}, sentence 1 \(sent_id = s1\): .*{message}"):
        read(path)


def test_comments_alone_are_no_sentence(path: Path) -> None:
    path.write_text(TEXT + "# text = nothing\n\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"line 15, sentence 3 \(no sent_id\): a sentence without words"):
        read(path)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("# sent_id", "\ufeff# sent_id"),
        ("\n", "\r\n"),
        ("_\n\n", "_\n\n\n \n"),
        ("ni\tni", "n\u0069\u0301\tni"),
    ],
)
def test_what_is_repaired(path: Path, before: str, after: str) -> None:
    """Byte order marks, ends of lines, blank lines, and forms not in the normal form C."""
    path.write_bytes(TEXT.replace(before, after, 1 if "sent_id" in before else -1).encode())
    first, second = read(path)
    assert first.forms == ("n\u00ed" if "ni" in before else "ni", "ta", "luzisa", "giporis") and len(second) == 1
    assert first.comments == COMMENTS


def test_what_is_no_text_and_what_is_empty(path: Path) -> None:
    path.write_bytes(TEXT.encode().replace(b"luzisa\tluzisa", b"luz\xedsa\tluzisa"))
    with pytest.raises(ValueError, match=r"a\.conllu, line 9, sentence 1 \(sent_id = s1\): not UTF-8: b'3\\tluz\\xed"):
        read(path)
    for content, remedy in ((gzip.compress(TEXT.encode()), "gunzip"), (TEXT.encode("utf-16"), "iconv -f UTF-16")):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=remedy):
            read(path)
    for nothing in ("", "\n\n"):
        path.write_text(nothing, encoding="utf-8")
        with pytest.raises(ValueError, match=r"a\.conllu, line 1: no sentences in this file"):
            read(path)


def test_several_roots_and_long_sentences_are_trees(path: Path) -> None:
    rows = [f"{word}\tw\t_\t_\t_\t_\t{max(0, word - 2)}\tx\t_\t_" for word in range(1, 501)]
    path.write_text("\n".join(rows), encoding="utf-8")
    (sentence,) = read(path)
    assert len(sentence) == 500 and (sentence.heads == 0).sum() == 2


def test_files_that_cannot_be_written_are_named(path: Path) -> None:
    with pytest.raises(NotADirectoryError, match=r"a\.conllu/b/c\.conllu"):
        write_predictions(path / "b" / "c.conllu", read(path), [[3, 3, 4, 0], [0]], [["x"] * 4, ["x"]])


@pytest.mark.parametrize("code", ["got", "got_proiel"])
def test_names_of_old_and_new_releases_are_found(tmp_path: Path, code: str) -> None:
    treebank_files(tmp_path / "deep" / "UD_Gothic", code)
    treebank_files(tmp_path / "UD_Other", "goth")
    found = find_treebank("got", tmp_path)
    assert found.train == tmp_path / "deep" / "UD_Gothic" / f"{code}-ud-train.conllu"
    assert found.dev.is_file() and found.test is not None and found.test.is_file() and found.lang == "got"
    assert find_treebank(code, tmp_path) == find_treebank(code, tmp_path / "deep")


def test_a_release_without_test_file(tmp_path: Path) -> None:
    treebank_files(tmp_path, "got", ("train", "dev"))
    assert find_treebank("got", tmp_path).test is None
    (tmp_path / "got-ud-dev.conllu").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks got-ud-dev\.conllu"):
        find_treebank("got", tmp_path)


def test_several_treebanks_are_told_apart_by_code_version_or_folder(tmp_path: Path) -> None:
    treebank_files(tmp_path / "r2.1" / "UD_Latin", "la")
    treebank_files(tmp_path / "r2.10" / "UD_Latin", "la_proiel")
    treebank_files(tmp_path / "r2.10" / "UD_Latin", "la_ittb")
    with pytest.raises(ValueError, match=r"(?s)several .*la in .*la_ittb in .*la_proiel in .*--ud-version"):
        find_treebank("la", tmp_path)
    assert find_treebank("la", tmp_path, "2.1").train.name == "la-ud-train.conllu"
    assert find_treebank("la_ittb", tmp_path).train.name == "la_ittb-ud-train.conllu"
    assert find_treebank("la", tmp_path / "r2.1").train.parent == tmp_path / "r2.1" / "UD_Latin"
    with pytest.raises(FileNotFoundError, match=r"(?s)'la' with version 2\.2 .*there is la in"):
        find_treebank("la", tmp_path, "2.2")


def test_option_before_variable_before_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(FileNotFoundError) as error:
        find_treebank("got")
    ways = ("data/ (no such folder)", "--treebanks DIR", f"{VARIABLE}=DIR", "--download")
    assert [way for way in ways if way not in str(error.value)] == []
    for place in ("data", "variable", "option"):
        treebank_files(tmp_path / place, "got")
    assert find_treebank("got").train == Path("data/got-ud-train.conllu")
    monkeypatch.setenv(VARIABLE, "variable")
    assert find_treebank("got").train == Path("variable/got-ud-train.conllu")
    assert find_treebank("got", "option").train == Path("option/got-ud-train.conllu")
    with pytest.raises(FileNotFoundError, match="no treebank 'hu' in option/"):
        find_treebank("hu", "option")


@pytest.mark.parametrize(("lang", "sentences", "words"), [("got", 3387, 35024), ("hu", 910, 20166)])
def test_real_treebanks_are_read_and_written_back(lang: str, sentences: int, words: int, tmp_path: Path) -> None:
    try:
        treebank = find_treebank(lang, version="2.0")
    except FileNotFoundError:
        pytest.skip(f"UD 2.0 {lang} is not below ${VARIABLE}")
    train = read(treebank.train)
    assert (len(train), sum(map(len, train))) == (sentences, words)
    write_predictions(tmp_path / "copy", train, [s.heads for s in train], [s.deprels for s in train])
    assert (tmp_path / "copy").read_bytes() == treebank.train.read_bytes()

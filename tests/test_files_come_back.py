"""What comes in goes out to the byte, but for heads and relations; what is wrong ends its sentence alone."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from training_cases import TINY, random_model
from ud_rules import check_accepted

from structdep_parser.cli import draw, parse
from structdep_parser.data.conllu import from_text, read, stream
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.streams import read as incoming
from structdep_parser.data.writing import with_tree
from structdep_parser.parsers.trained_model import TrainedModel

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model."""
    folder = tmp_path_factory.mktemp("model")
    model: TrainedModel = random_model(TINY, read(write_demo_treebank(folder / "treebank").dev)[:20])
    model.save(folder)
    return folder


def parsed(folder: Path, content: bytes, *options: str) -> tuple[int, bytes]:
    sink = io.BytesIO()
    return parse.main([str(folder), *options], io.BytesIO(content), sink), sink.getvalue()


def row(number: int, form: str, head: str = "_", deprel: str = "_", misc: str = "_") -> str:
    return "\t".join([str(number), form, "_", "_", "_", "_", head, deprel, "_", misc])


def free(content: bytes) -> bytes:
    """Without heads and relations of words."""
    return re.sub(rb"(?m)^([0-9]+\t(?:[^\t\n]*\t){5})[^\t\n]*\t[^\t\n]*", rb"\1_\t_", content)


SEPARATORS = "\u00a0\u2028\u2029\u0085\u3000\ufeff\x0b\x0c\x1c\x1d\x1e\x1f\x07\x00  "


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_tabs_and_line_feeds_separate(folder: Path, end: str) -> None:
    lines = ["# sent_id = prices\u00a0", row(1, "Le"), row(2, f"a{SEPARATORS}b", misc=f"SpacesAfter={SEPARATORS}"), ""]
    content = "".join(line + end for line in (*lines, row(1, "Bien\u2028"), "")).encode()
    status, found = parsed(folder, content)
    assert status == 0 and free(found) == content
    first, second = check_accepted(found)
    assert first[1][1] == f"a{SEPARATORS}b" and len(second) == 1


def test_only_spaces_separate_words_of_text(folder: Path) -> None:
    status, found = parsed(folder, f"Le prix : 10\u00a0000  euros {SEPARATORS[:-2]}x\r\n".encode(), "--text")
    (words,) = check_accepted(found)
    assert status == 0
    assert [word[1] for word in words] == ["Le", "prix", ":", "10\u00a0000", "euros", f"{SEPARATORS[:-2]}x"]


GOOD = f"# sent_id = good\n{row(1, 'ik')}\n\n".encode()
WRONG = {
    "9 columns": (row(1, "ik")[:-2].encode(), "9 tab-separated columns, expected 10"),
    "no UTF-8": (row(1, "ik").encode().replace(b"i", b"\xff"), "not UTF-8: b'1\\t\\xffk"),
    "an ID": (row(3, "ik").encode(), "the ID is 3, expected 1"),
    "a return": (row(1, "i\rk").encode(), "a carriage return that is not at the end of the line"),
    "spaces": (row(1, "\u00a0").encode(), "the FORM is '\\xa0', expected more than spaces"),
    "a head": (row(1, "ik", "7").encode(), "the head of word 1 (ik) is '7', expected a number in 0..1"),
    "a large head": (row(1, "ik", "9" * 5000).encode(), "the head of word 1 (ik) is '999"),
    "a cycle": (row(1, "ik", "1").encode(), "going from word to head leads round in 1 -> 1"),
    "no root": (
        row(1, "ik", "0", "nsubj").encode(),
        "HEAD 0 with DEPREL nsubj, but root is the relation where HEAD is 0",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_ends_its_sentence_alone(wrong: str, folder: Path, capsys: Captured) -> None:
    line, message = WRONG[wrong]
    content = GOOD + b"# sent_id = a:100:1\n" + line + b"\n\n" + GOOD
    status, found = parsed(folder, content, "--constraints")
    assert status == 1 and [words[0][1] for words in check_accepted(found)] == ["ik", "ik"]
    told = capsys.readouterr().err
    assert "standard input, line 5, sentence 2 (sent_id = a:100:1)" in told
    assert message in told and told.endswith(": left out\n")
    status, found = parsed(folder, content, "--constraints", "--strict")
    assert status == 1 and len(check_accepted(found)) == 1


def test_wrong_lines_of_text_are_left_out(folder: Path, capsys: Captured) -> None:
    status, found = parsed(folder, b"ik im\nik\tim garda\n\xff ik\n\xc2\xa0 ik\nik\n", "--text")
    assert status == 1 and [len(words) for words in check_accepted(found)] == [2, 1]
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(": ")[2].partition(", sentence")[0] for line in told] == [
        f"standard input, line {number}" for number in (2, 3, 4)
    ]
    assert "a TAB in the word 'ik\\tim'" in told[0] and "not UTF-8" in told[1] and "more than spaces" in told[2]


ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
COLUMN = ANY.map(lambda text: re.sub("[\t\n\r]", "", text) or "_")
LINE = st.one_of(
    st.tuples(st.integers(0, 3).map(str), *[COLUMN] * 5, st.sampled_from("_0123"), *[COLUMN] * 3).map("\t".join),
    ANY.map(lambda text: f"#{text}"),
    ANY,
    st.just(""),
)
FILES = st.lists(LINE, max_size=8).map(lambda lines: "".join(f"{line}\n" for line in lines).encode())
TREES = st.lists(st.tuples(COLUMN, COLUMN), min_size=1, max_size=5)


@given(st.one_of(FILES, st.binary(max_size=60)))
def test_any_file_is_read_or_refused_with_its_line(content: bytes) -> None:
    refused: list[str] = []
    sentences = list(stream(io.BytesIO(content), "a.conllu", "partial", lambda error: refused.append(str(error))))
    for sentence in sentences:
        again = with_tree(sentence, [0] * len(sentence), ["root"] * len(sentence)).encode()
        (back,) = stream(io.BytesIO(again), "again")
        assert (back.forms, back.misc) == (sentence.forms, sentence.misc)
        assert all(free(line) in free(content) for line in again.splitlines())
    place = r"a\.conllu, line [0-9]+, sentence [0-9]+ \((no sent_id|sent_id = .*)\)"
    assert all(re.match(place, error, re.DOTALL) for error in refused)


@given(st.one_of(ANY.map(str.encode), st.binary(max_size=40)))
def test_any_text_is_read_or_refused_with_its_line(content: bytes) -> None:
    refused: list[ValueError] = []
    for sentence in from_text(io.BytesIO(content), "text", refused.append):
        assert " ".join(sentence.forms) and all(word and " " not in word for word in sentence.forms)
        check_accepted(with_tree(sentence, range(len(sentence)), ["root", *["dep"] * (len(sentence) - 1)]).encode())
    assert all(str(error).startswith("text, line ") for error in refused)


@given(TREES)
def test_any_tree_comes_back_unchanged(words: list[tuple[str, str]]) -> None:
    rows = [row(n, f"x{form}", str(n - 1), "dep" if n > 1 else "root", misc) for n, (form, misc) in enumerate(words, 1)]
    content = "".join(f"{line}\n" for line in (*rows, "")).encode()
    (sentence,) = stream(io.BytesIO(content), "a tree")
    assert with_tree(sentence, sentence.heads, sentence.deprels).encode() == content


def test_names_are_as_they_were_given(tmp_path: Path, capsys: Captured) -> None:
    """No markup, no emoji."""
    name = "corpus.txt:100:17 [red] :smile:"
    content = f"# sent_id = {name}\n{row(1, '[bold]:100:', '2', 'det')}\n{row(2, 'two', '0', 'root')}\n\n"
    path = tmp_path / "a.conllu"
    path.write_text(content, encoding="utf-8")
    assert draw.main([str(path)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"1 {name}\n") and "1 [bold]:100: det " in printed
    path.write_text(content.replace("\t0\t", "\t9\t"), encoding="utf-8")
    assert draw.main([str(path)]) == 1
    assert f"{path}, line 3, sentence 1 (sent_id = {name}): " in capsys.readouterr().err


def test_known_heads_are_read_only_where_asked_for() -> None:
    content = [f"{line}\n".encode() for line in (row(1, "ik", "7", "nsubj"), "")]

    def refuse(error: ValueError) -> Any:
        pytest.fail(str(error))

    assert [sentence.heads.tolist() for sentence in incoming(content, False, False, refuse)] == [[-1]]

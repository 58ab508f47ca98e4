"""Sentences of CoNLL-U files, and of text: reading them, with their trees."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import get_args
from unicodedata import is_normalized, normalize

import numpy as np
from numpy.typing import NDArray

from structdep_parser.data.conllu_checks import Trees, known_head, problems, read_quickly, words_of

Heads = list[NDArray[np.int32]]
"""A tree for each sentence, `[n]`."""
Refuse = Callable[[ValueError], None]
"""Is told what is wrong with a sentence that is left out."""
BYTE_ORDER_MARK = "\ufeff".encode()


@dataclass(frozen=True, eq=False)
class Sentence:
    """A sentence of syntactic words and its tree.

    `lines` are what the file says, with multiword tokens, empty nodes and comments, so that it can be written again;
    `source`, `number` and `first_line` say where. The other fields have one entry a syntactic word, `heads` being
    int32[n] with values in 0..n and 0 the root, -1 where none was read. `forms` are in Unicode's normal form C, so that
    equal words are equal.
    """

    source: str
    number: int
    first_line: int
    lines: tuple[str, ...]
    forms: tuple[str, ...]
    lemmas: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    feats: tuple[str, ...]
    heads: NDArray[np.int32]
    deprels: tuple[str, ...]
    misc: tuple[str, ...]
    rows: NDArray[np.int64] | None = None
    """Of a table of features, one a word."""
    treebank: str = ""
    """The name of the treebank whose vector its words have, of those that a parser was trained on together."""

    def __len__(self) -> int:
        return len(self.forms)

    @property
    def columns(self) -> list[tuple[str, str]]:
        """What stands below the arcs of a drawing: each word's form and tag."""
        return list(zip(self.forms, self.upos, strict=True))

    @property
    def comments(self) -> tuple[str, ...]:
        """Its lines that begin with #."""
        return tuple(line.removesuffix("\r") for line in self.lines if line.startswith("#"))

    @property
    def sent_id(self) -> str:
        """What the comment of this name says, or nothing."""
        return sent_id(self.comments)

    @property
    def where(self) -> str:
        """Its file, line, number and sent_id, for errors."""
        return where(self.source, self.first_line, self.number, self.comments)

    def at(self, word: int) -> str:
        """The place of a word, counted from 0, for errors."""
        return where(self.source, self.line_of(word), self.number, self.comments) + f", word {word + 1}"

    def line_of(self, word: int) -> int:
        """The line of a word, counted from 0, in the file."""
        return self.first_line + words_of(self.lines)[word][0]


def sent_id(lines: Iterable[str]) -> str:
    """What the comment `# sent_id = ..` says, or nothing.

    Example:
        >>> sent_id(["# text = ik", "# sent_id = corpus.txt:100:17"])
        'corpus.txt:100:17'
    """
    found = (re.fullmatch(r"#[ \t]*sent_id[ \t]*=[ \t]*(.*?)[ \t]*", line, re.DOTALL) for line in lines)
    return next((match[1] for match in found if match), "")


def where(source: str, line: int, number: int, lines: Iterable[str]) -> str:
    """The place of a sentence, or of a line in it."""
    name = sent_id(lines)
    return f"{source}, line {line}, sentence {number} ({f'sent_id = {name}' if name else 'no sent_id'})"


def read(path: str | Path, trees: Trees = "whole") -> list[Sentence]:
    """The sentences of a CoNLL-U file, of which there is at least one.

    Lines that do not have ten columns or are not UTF-8, words out of order, heads that are missing, out of range or
    form a cycle raise ValueError with the file, the line and the sentence. A byte order mark is skipped; trees may have
    several roots.
    """
    with open(path, "rb") as file:
        sentences = list(stream(file, str(path), trees))
    if not sentences:
        raise ValueError(f"{path}, line 1: no sentences in this file")
    return sentences


def read_conllu(source: str | Path | Iterable[bytes], trees: Trees = "none") -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file, or of lines of one, one after the other.

    Args:
        source: a path, or an open binary file.
        trees: what is read of the column HEAD: nothing ("none"), the heads of some words ("partial", where _ is free),
            or trees ("whole").

    Raises:
        ValueError: a sentence is wrong; the error has its line.
    """
    if trees not in get_args(Trees):
        raise ValueError(f"trees is {trees!r}: expected one of {', '.join(get_args(Trees))}")
    if isinstance(source, str | Path):
        with open(source, "rb") as file:
            yield from stream(file, str(source), trees)
    else:
        yield from stream(source, "CoNLL-U", trees)


def read_text(source: str | Path | Iterable[bytes]) -> Iterator[Sentence]:
    """The sentences of a file with one a line, whose words are separated by spaces."""
    if isinstance(source, str | Path):
        with open(source, "rb") as file:
            yield from from_text(file, str(source))
    else:
        yield from from_text(source, "text")


def stream(
    lines: Iterable[bytes], source: str, trees: Trees = "whole", refuse: Refuse | None = None
) -> Iterator[Sentence]:
    """The sentences of CoNLL-U, one after the other, with what is to be read of their trees; errors as in `read`.

    Where `refuse` is given, it is told the error, and the sentence is left out.

    Example:
        >>> lines = [b"1\\tik\\t_\\t_\\t_\\t_\\t2\\tnsubj\\t_\\t_\\n", b"2\\tim\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n"]
        >>> [sentence.heads.tolist() for sentence in stream(lines, "two words", "partial")]
        [[2, -1]]
    """
    blocks = enumerate(_blocks(_without_mark(lines)), start=1)
    return _made((partial(_sentence, source, number, *block, trees) for number, block in blocks), refuse)


def from_text(lines: Iterable[bytes], source: str, refuse: Refuse | None = None) -> Iterator[Sentence]:
    """A sentence for each line that has words, which U+0020 separates; errors and `refuse` as in `stream`.

    A line of CoNLL-U raises ValueError also where `refuse` is given.

    Example:
        >>> [(sentence.forms, sentence.comments) for sentence in from_text([b"ik  im\\n", b"\\n"], "text")]
        [(('ik', 'im'), ('# text = ik im',))]
    """
    texts = enumerate(map(_decoded, _without_mark(lines)), start=1)
    split = ((line, _words_of_text(text.removesuffix("\r"), source, line)) for line, text in texts)
    filled = enumerate(((line, words) for line, words in split if words), start=1)
    return _made((partial(_of_words, source, number, line, words) for number, (line, words) in filled), refuse)


def _words_of_text(text: str, source: str, line: int) -> list[str]:
    if CONLLU.match(text):
        raise ValueError(f"{source}, line {line}: this is CoNLL-U, not text: leave --text out")
    return [word for word in text.split(" ") if word]


CONLLU = re.compile(r"# ?(sent_id|text) ?=|[0-9.-]+(\t[^\t]+){9}$")
"""The beginning of a line that text with one sentence in each line does not have."""


def _made(thunks: Iterable[Callable[[], Sentence]], refuse: Refuse | None) -> Iterator[Sentence]:
    for thunk in thunks:
        try:
            sentence = thunk()
        except ValueError as error:
            if refuse is None:
                raise
            refuse(error)
        else:
            yield sentence


def _without_mark(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines without a byte order mark before the first."""
    lines = iter(lines)
    for first in lines:
        yield first.removeprefix(BYTE_ORDER_MARK)
        yield from lines


def _decoded(lines: bytes) -> str:
    """The text, in which surrogates stand for bytes that are not UTF-8."""
    return lines.removesuffix(b"\n").decode("utf-8", "surrogateescape")


def _blocks(lines: Iterable[bytes]) -> Iterator[tuple[int, list[str]]]:
    """The number of the first line, and the lines, of every run of lines that are not blank."""
    block: list[bytes] = []
    first = 1
    for number, line in enumerate(chain(lines, [b"\n"]), start=1):
        if line[:1] > b" " or line.removesuffix(b"\n").removesuffix(b"\r").strip(b" "):
            block.append(line)
            continue
        if block:
            yield first, _decoded(b"".join(block)).split("\n")
            block = []
        first = number + 1


def of_words(words: Sequence[str], number: int = 1, heads: Sequence[int | None] | None = None) -> Sentence:
    """A sentence of words that no file has, with the heads that are known of it.

    Example:
        >>> of_words(["ik", "im"], heads=[2, None]).heads.tolist()
        [2, -1]
    """
    if bad := next((word for word in words if not isinstance(word, str)), None):
        raise ValueError(f"sentence {number}: a word is a string, not {bad!r}")
    if heads is not None and len(heads) != len(words):
        raise ValueError(f"sentence {number} has {len(words)} words, but {len(heads)} known heads: write one a word")
    return _of_words("sentences", number, number, words, heads)


def _of_words(
    source: str, number: int, line: int, words: Sequence[str], heads: Sequence[int | None] | None = None
) -> Sentence:
    if bad := next((word for word in words if not SEPARATORS.isdisjoint(word)), None):
        what = "a TAB" if "\t" in bad else "a line break"
        raise ValueError(
            f"{where(source, line, number, ())}: {what} in the word {bad!r}; spaces (U+0020) separate words"
        )
    columns = ["_" if head is None else str(head) for head in heads or [None] * len(words)]
    rows = [
        f"{place}\t{word}\t_\t_\t_\t_\t{head}\t_\t_\t_"
        for place, (word, head) in enumerate(zip(words, columns, strict=True), start=1)
    ]
    trees: Trees = "none" if heads is None else "partial"
    for _, problem in problems(rows, trees):
        raise ValueError(f"{where(source, line, number, ())}: {problem}")
    return _sentence(source, number, line, [f"# text = {' '.join(words)}", *rows], trees)


SEPARATORS = frozenset("\t\n\r")


def _sentence(source: str, number: int, first_line: int, lines: Sequence[str], trees: Trees) -> Sentence:
    bare = lines if "\r" not in lines[0] else [line.removesuffix("\r") for line in lines]
    found = read_quickly(bare, trees)
    if found is None:
        bare = [line.removesuffix("\r") for line in lines]
        for offset, problem in problems(bare, trees):
            raise ValueError(f"{where(source, first_line + offset, number, bare)}: {problem}")
        words = [columns for _, columns in words_of(bare)]
        found = words, [-1 if trees == "none" else known_head(columns[6]) for columns in words]
    words, heads = found
    _, forms, lemmas, upos, xpos, feats, _, deprels, _, misc = zip(*words, strict=True)
    if not is_normalized("NFC", "\n".join(forms)):
        forms = tuple(normalize("NFC", form) for form in forms)
    array = np.array(heads, np.int32)
    return Sentence(source, number, first_line, tuple(lines), forms, lemmas, upos, xpos, feats, array, deprels, misc)

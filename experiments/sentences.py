"""Sentences of CoNLL-U files: reading them with their trees, and writing predicted trees into them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, starmap
from pathlib import Path
from typing import Any, TextIO

import conllu
import numpy as np
from conllu.exceptions import ParseException
from conllu.parser import DEFAULT_FIELDS, parse_id_value
from numpy.typing import ArrayLike, NDArray

from experiments.files import write_whole
from structdep.trees import find_cycle

Heads = list[NDArray[np.int32]]
"""A tree for each sentence, `[n]`."""


@dataclass(frozen=True, eq=False)
class Sentence:
    """A sentence of syntactic words and its tree.

    `tokens` (with multiword tokens and empty nodes) and `comments` keep what the file says, so that it can be written
    again; the other fields have one entry a syntactic word, `heads` being int32[n] with values in 0..n and 0 the root.
    """

    tokens: conllu.TokenList
    comments: tuple[str, ...]
    forms: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    feats: tuple[str, ...]
    heads: NDArray[np.int32]
    deprels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.forms)

    @property
    def columns(self) -> list[tuple[str, str]]:
        """What stands below the arcs of a drawing: each word's form and tag."""
        return list(zip(self.forms, self.upos, strict=True))

    @property
    def sent_id(self) -> str:
        """What the comment of this name says, or nothing."""
        found = (re.fullmatch(r"#\s*sent_id\s*=\s*(.*?)\s*", comment) for comment in self.comments)
        return next((match[1] for match in found if match), "")


def read(path: str | Path) -> list[Sentence]:
    """The sentences of a CoNLL-U file.

    Lines that do not have ten columns, words out of order, heads that are missing, out of range or form a cycle raise
    ValueError with the file, the line and the sentence.
    """
    with open(path, encoding="utf-8") as file:
        return [_sentence(path, number, *block) for number, block in enumerate(_blocks(file), start=1)]


def write_predictions(
    path: str | Path,
    sentences: Sequence[Sentence],
    heads: Sequence[ArrayLike],
    deprels: Sequence[Sequence[str]],
    misc: Sequence[Sequence[Mapping[str, str]]] | None = None,
) -> None:
    """Write `sentences` with these heads and relations as CoNLL-U, and with entries `misc` in the last column.

    Comments, multiword tokens, empty nodes and all other columns stay. `heads[s]`, `deprels[s]` and `misc[s]` have one
    entry a word of `sentences[s]`. Raises ValueError where they do not fit; then, or when anything fails, nothing is
    written.
    """
    entries = [[{}] * len(sentence) for sentence in sentences] if misc is None else misc
    text = "".join(starmap(_with_tree, zip(sentences, heads, deprels, entries, strict=True)))
    write_whole(path, text)


def _blocks(file: TextIO) -> Iterator[tuple[int, list[str]]]:
    """The number of the first line, and the lines, of every run of lines that are not blank."""
    lines: list[str] = []
    number = 0
    for number, line in enumerate(chain(file, [""]), start=1):
        if line.strip():
            lines.append(line.rstrip("\n"))
        elif lines:
            yield number - len(lines), lines
            lines = []


def _sentence(path: str | Path, number: int, first_line: int, lines: list[str]) -> Sentence:
    for offset, problem in chain(_column_problems(lines), _word_problems(lines), _cycle_problems(lines)):
        name = next((line[1:].strip() for line in lines if re.match(r"#\s*sent_id\b", line)), "no sent_id")
        raise ValueError(f"{path}, line {first_line + offset}, sentence {number} ({name}): {problem}")
    tokens = conllu.parse("\n".join(lines), field_parsers=_VERBATIM)[0]
    words = [token for token in tokens if isinstance(token["id"], int)]
    columns = {field: tuple(word[field] for word in words) for field in DEFAULT_FIELDS}
    return Sentence(
        tokens,
        comments=tuple(line for line in lines if line.startswith("#")),
        forms=columns["form"],
        upos=columns["upos"],
        xpos=columns["xpos"],
        feats=columns["feats"],
        heads=np.array(columns["head"], np.int32),
        deprels=columns["deprel"],
    )


def _same(columns: list[str], index: int) -> str:
    return columns[index]


# Parsed features and dependencies do not always come out as they went in; the text itself does.
_VERBATIM: dict[str, Callable[[list[str], int], Any]] = {
    field: _same for field in DEFAULT_FIELDS if field not in ("id", "head")
}

Problems = Iterator[tuple[int, str]]


def _column_problems(lines: list[str]) -> Problems:
    """What is wrong with the lines one by one: the offset of the line, and what was found and expected."""
    for offset, line in enumerate(lines):
        columns = line.split("\t")
        if line.startswith("#"):
            continue
        if len(columns) != len(DEFAULT_FIELDS):
            yield offset, f"{len(columns)} tab-separated columns, expected {len(DEFAULT_FIELDS)} in {line!r}"
        elif any(not column or column != column.strip() or "  " in column for column in columns):
            yield offset, f"an empty column, or surplus spaces in one, in {line!r}; write _ where there is no value"
        elif not _is_id(columns[0]):
            yield offset, f"the ID is {columns[0]!r}, expected a number, a range like 3-4 or an empty node like 3.1"


def _is_id(text: str) -> bool:
    try:
        return parse_id_value(text) is not None
    except ParseException:
        return False


def _words(lines: list[str]) -> list[tuple[int, list[str]]]:
    """The lines of syntactic words: offset and columns."""
    return [(offset, line.split("\t")) for offset, line in enumerate(lines) if re.match(r"\d+\t", line)]


def _word_problems(lines: list[str]) -> Problems:
    words = _words(lines)
    if not words:
        yield 0, "a sentence without words"
    for position, (offset, columns) in enumerate(words, start=1):
        head = columns[6]
        if columns[0] != str(position):
            yield offset, f"the ID is {columns[0]}, expected {position}: words are numbered from 1"
        elif not re.fullmatch(r"0|[1-9]\d*", head):
            yield (
                offset,
                f"the head of word {position} ({columns[1]}) is {head!r}, expected a number in 0..{len(words)}",
            )
        elif int(head) > len(words):
            yield offset, f"the head of word {position} ({columns[1]}) is {head}, but there are {len(words)} words"


def _cycle_problems(lines: list[str]) -> Problems:
    words = _words(lines)
    heads = [int(columns[6]) for _, columns in words]
    if cycle := find_cycle(heads):
        chained = " -> ".join(map(str, [*cycle, cycle[0]]))
        yield words[cycle[0] - 1][0], f"the heads are no tree: going from word to head leads round in {chained}"


def _with_tree(sentence: Sentence, heads: ArrayLike, deprels: Iterable[str], misc: Sequence[Mapping[str, str]]) -> str:
    heads, deprels = np.asarray(heads), list(deprels)
    n = len(sentence)
    if heads.shape != (n,) or len(deprels) != n or len(misc) != n:
        came = f"heads {heads.shape}, {len(deprels)} relations and {len(misc)} entries of MISC"
        raise ValueError(f"{n} words, but {came}: {' '.join(sentence.forms)}")
    if heads.min() < 0 or heads.max() > n:
        raise ValueError(f"heads {heads.tolist()} are not all in 0..{n}: {' '.join(sentence.forms)}")
    predicted = zip(heads.tolist(), deprels, misc, strict=True)
    tokens = [
        _relinked(token, *next(predicted)) if isinstance(token["id"], int) else token for token in sentence.tokens
    ]
    return "".join(f"{comment}\n" for comment in sentence.comments) + conllu.TokenList(tokens).serialize()


def _relinked(token: conllu.Token, head: int, deprel: str, misc: Mapping[str, str]) -> conllu.Token:
    kept = [entry for entry in token["misc"].split("|") if entry != "_" and entry.split("=")[0] not in misc]
    entries = [*kept, *(f"{name}={value}" for name, value in misc.items())] if misc else [token["misc"]]
    return conllu.Token(token, head=head, deprel=deprel, misc="|".join(entries))

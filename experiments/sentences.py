"""Sentences of CoNLL-U files: reading them with their trees, and writing predicted trees into them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, starmap
from pathlib import Path
from typing import Any
from unicodedata import normalize

import conllu
import numpy as np
from conllu.parser import DEFAULT_FIELDS
from numpy.typing import ArrayLike, NDArray

from experiments.conllu_problems import Trees, known_head, problems
from experiments.files import write_whole

Heads = list[NDArray[np.int32]]
"""A tree for each sentence, `[n]`."""


@dataclass(frozen=True, eq=False)
class Sentence:
    """A sentence of syntactic words and its tree.

    `tokens` (with multiword tokens and empty nodes) and `comments` keep what the file says, so that it can be written
    again; the other fields have one entry a syntactic word, `heads` being int32[n] with values in 0..n and 0 the root,
    -1 where none was read. `forms` are in Unicode's normal form C, so that equal words are equal.
    """

    tokens: conllu.TokenList
    comments: tuple[str, ...]
    forms: tuple[str, ...]
    lemmas: tuple[str, ...]
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
    """The sentences of a CoNLL-U file, of which there is at least one.

    Lines that do not have ten columns or are not UTF-8, words out of order, heads that are missing, out of range or
    form a cycle raise ValueError with the file, the line and the sentence. A byte order mark and carriage returns at
    the ends of lines are skipped; trees may have several roots.
    """
    with open(path, "rb") as file:
        sentences = list(stream(file, str(path)))
    if not sentences:
        raise ValueError(f"{path}, line 1: no sentences in this file")
    return sentences


def stream(lines: Iterable[bytes], source: str, trees: Trees = "whole") -> Iterator[Sentence]:
    """The sentences of CoNLL-U, one after the other, with what is to be read of their trees; errors as in `read`.

    Example:
        >>> lines = [b"1\\tik\\t_\\t_\\t_\\t_\\t2\\tnsubj\\t_\\t_\\n", b"2\\tim\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n"]
        >>> [sentence.heads.tolist() for sentence in stream(lines, "two words", "partial")]
        [[2, -1]]
    """
    for number, block in enumerate(_blocks(text_lines(lines, source)), start=1):
        yield _sentence(source, number, *block, trees)


def from_words(words: Sequence[str]) -> Sentence:
    """A sentence of these words, of which nothing else is known.

    Example:
        >>> from_words(["ik", "im"]).comments
        ('# text = ik im',)
    """
    rows = ["\t".join([str(number), word, *"_" * 8]) for number, word in enumerate(words, start=1)]
    return _sentence("text", 1, 1, [f"# text = {' '.join(words)}", *rows], "none")


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
    entries = [None] * len(sentences) if misc is None else misc
    text = "".join(starmap(with_tree, zip(sentences, heads, deprels, entries, strict=True)))
    write_whole(path, text)


def text_lines(lines: Iterable[bytes], source: str) -> Iterator[str]:
    """The lines as text, without what ends them and without a byte order mark. Raises ValueError if not UTF-8."""
    for number, line in enumerate(lines, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise ValueError(f"{source}, line {number}: not UTF-8 ({error.reason}): {line!r}") from None


def _blocks(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """The number of the first line, and the lines, of every run of lines that are not blank."""
    block: list[str] = []
    number = 0
    for number, line in enumerate(chain(lines, [""]), start=1):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _sentence(source: str, number: int, first_line: int, lines: list[str], trees: Trees) -> Sentence:
    for offset, problem in problems(lines, trees):
        name = next((line[1:].strip() for line in lines if re.match(r"#\s*sent_id\b", line)), "no sent_id")
        raise ValueError(f"{source}, line {first_line + offset}, sentence {number} ({name}): {problem}")
    rows = "\n".join(line for line in lines if not line.startswith("#"))
    tokens = conllu.parse(rows, field_parsers=_VERBATIM)[0]
    words = [token for token in tokens if isinstance(token["id"], int)]
    columns = {field: tuple(word[field] for word in words) for field in DEFAULT_FIELDS}
    return Sentence(
        tokens,
        comments=tuple(line for line in lines if line.startswith("#")),
        forms=tuple(normalize("NFC", form) for form in columns["form"]),
        lemmas=columns["lemma"],
        upos=columns["upos"],
        xpos=columns["xpos"],
        feats=columns["feats"],
        heads=np.array([-1 if trees == "none" else known_head(head) for head in columns["head"]], np.int32),
        deprels=columns["deprel"],
    )


def _same(columns: list[str], index: int) -> str:
    return columns[index]


# Parsed features and dependencies do not always come out as they went in; the text itself does.
_VERBATIM: dict[str, Callable[[list[str], int], Any]] = {field: _same for field in DEFAULT_FIELDS if field != "id"}


def with_tree(
    sentence: Sentence,
    heads: ArrayLike,
    deprels: Iterable[str],
    misc: Sequence[Mapping[str, str]] | None = None,
    comments: Sequence[str] = (),
) -> str:
    """The sentence as CoNLL-U with this tree, with more comments behind its own; see `write_predictions`."""
    misc = [{}] * len(sentence) if misc is None else misc
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
    return "".join(f"{comment}\n" for comment in (*sentence.comments, *comments)) + conllu.TokenList(tokens).serialize()


def _relinked(token: conllu.Token, head: int, deprel: str, misc: Mapping[str, str]) -> conllu.Token:
    kept = [entry for entry in token["misc"].split("|") if entry != "_" and entry.split("=")[0] not in misc]
    entries = [*kept, *(f"{name}={value}" for name, value in misc.items())] if misc else [token["misc"]]
    return conllu.Token(token, head=head, deprel=deprel, misc="|".join(entries))

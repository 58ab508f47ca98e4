"""What can be wrong with a sentence of CoNLL-U."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal
from unicodedata import category

from structdep.trees import find_cycle

Trees = Literal["whole", "partial", "none"]
"""What is read of the column HEAD: a tree; the heads of some words, _ being free; or nothing."""
Problems = Iterator[tuple[int, str]]
Words = list[tuple[int, list[str]]]
"""The lines of syntactic words: offset and columns."""

COLUMNS = 10
NUMBER = "[1-9][0-9]{0,8}"
WORD, RANGE = re.compile(NUMBER), re.compile(f"({NUMBER})-({NUMBER})")
EMPTY, HEAD = re.compile(f"(0|{NUMBER})\\.({NUMBER})"), re.compile(f"0|{NUMBER}")


def problems(lines: Sequence[str], trees: Trees) -> Problems:
    """What is wrong: the offset of the line, and what was found and expected. The first is what to say.

    Example:
        >>> next(problems(["# text = ik", "1\\tik"], "none"))
        (1, "2 tab-separated columns, expected 10 in '1\\\\tik'")
    """
    of_heads = () if trees == "none" else (_head_problems(lines, trees), _cycle_problems(lines))
    return chain(_text_problems(lines), _column_problems(lines), _word_problems(lines), *of_heads)


def read_quickly(lines: Sequence[str], trees: Trees) -> tuple[list[list[str]], list[int]] | None:
    """The columns of syntactic words and their heads, -1 where they are not read; None where `problems` must look.

    Sentences without problems are read in a fraction of the time that it takes to say which problem there is.

    Example:
        >>> read_quickly(["1\\tik\\t_\\t_\\t_\\t_\\t0\\t_\\t_\\t_"], "whole")[1], read_quickly(["1\\tik"], "none")
        ([0], None)
    """
    words = rows = [line.split("\t") for line in lines if line[0] != "#"]
    text = "\n".join(lines)
    if len(rows) >= MOST or set(map(len, rows)) != {COLUMNS} or "\r" in text or any(["" in row for row in rows]):
        return None
    if not text.isascii() and SURROGATE.search(text):
        return None
    if [row[0] for row in rows] != IDS[: len(rows)]:
        words = [row for row in rows if row[0] in NUMBERS]
        if next(chain(_column_problems(lines), _range_problems(lines, len(words))), None):
            return None
    if not words or [row[0] for row in words] != IDS[: len(words)] or any([row[1].isspace() for row in rows]):
        return None
    if trees == "none":
        return words, [-1] * len(words)
    heads = [HEADS.get(row[6], MOST) for row in words]
    if max(heads) > len(words) or (trees == "whole" and min(heads) < 0) or _has_cycle(heads):
        return None
    return words, heads


def _has_cycle(heads: Sequence[int]) -> bool:
    """Whether going from word to head leads round anywhere; unknown heads lead nowhere."""
    seen = [0] * (len(heads) + 1)
    for start in range(1, len(heads) + 1):
        word = start
        while word > 0 and not seen[word]:
            seen[word] = start
            word = heads[word - 1]
        if word > 0 and seen[word] == start:
            return True
    return False


MOST = 1000
"""Words of a sentence that is read quickly, and one more."""
IDS = [str(number) for number in range(1, MOST)]
NUMBERS = frozenset(IDS)
HEADS = {"_": -1, "0": 0} | {name: int(name) for name in IDS}
SURROGATE = re.compile("[\ud800-\udfff]")


def columns_of(line: str) -> list[str]:
    """The columns of a line, of which only TAB separates two."""
    return line.split("\t")


def known_head(column: str) -> int:
    """The number in the column HEAD, -1 for _."""
    return -1 if column == "_" else int(column)


def _text_problems(lines: Sequence[str]) -> Problems:
    for offset, line in enumerate(lines):
        if re.search("[\ud800-\udfff]", line):
            content = line.encode("utf-8", "surrogateescape")
            yield offset, f"not UTF-8: {content!r}; {_remedy(content)}"
        elif "\r" in line:
            yield offset, f"a carriage return that is not at the end of the line, in {line!r}"


def _remedy(content: bytes) -> str:
    """What to do with a file of these bytes."""
    if content.startswith(b"\x1f\x8b"):
        return "the file is compressed: write gunzip FILE first"
    encoding = "UTF-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "ISO-8859-1"
    return f"convert the file, as by iconv -f {encoding} -t UTF-8"


def _column_problems(lines: Sequence[str]) -> Problems:
    """Those of lines one by one."""
    for offset, line in enumerate(lines):
        if line.startswith("#"):
            continue
        columns = columns_of(line)
        if len(columns) != COLUMNS:
            found = f"{len(columns)} tab-separated columns, expected {COLUMNS} in {line!r}"
            yield offset, found + (_one_column(line) if len(columns) == 1 else "")
        elif "" in columns:
            yield offset, f"an empty column in {line!r}; write _ where there is no value"
        elif not any(pattern.fullmatch(columns[0]) for pattern in (WORD, RANGE, EMPTY)):
            yield offset, f"the ID is {columns[0]!r}, expected a number, a range like 3-4 or an empty node like 3.1"
        elif all(category(character) == "Zs" for character in columns[1]):
            yield offset, f"the FORM is {columns[1]!r}, expected more than spaces"


def _one_column(line: str) -> str:
    """What a line without TAB may be instead."""
    if re.match(r"\d+ ", line):
        return "; TAB separates columns, not spaces"
    return "; structdep parse --text reads text with one sentence in each line"


def words_of(lines: Sequence[str]) -> Words:
    """The lines of syntactic words, of lines without other problems."""
    split = ((offset, columns_of(line)) for offset, line in enumerate(lines) if not line.startswith("#"))
    return [(offset, columns) for offset, columns in split if WORD.fullmatch(columns[0])]


def _word_problems(lines: Sequence[str]) -> Problems:
    words = words_of(lines)
    if not words:
        yield 0, "a sentence without words"
    for position, (offset, columns) in enumerate(words, start=1):
        if columns[0] != str(position):
            yield offset, f"the ID is {columns[0]}, expected {position}: words are numbered from 1"
    yield from _range_problems(lines, len(words))


def _range_problems(lines: Sequence[str], words: int) -> Problems:
    """Those of multiword tokens, which stand before their first word, and empty nodes, which stand behind a word."""
    last, empty, end = 0, 0, 0
    for offset, line in enumerate(lines):
        number = columns_of(line)[0]
        if line.startswith("#"):
            continue
        if match := RANGE.fullmatch(number):
            first, behind = int(match[1]), int(match[2])
            if first != last + 1:
                yield offset, f"the range {number} stands before word {last + 1} of {words}, where it should begin"
            elif first <= end:
                yield offset, f"the range {number} begins within the one before, which ends with word {end}"
            elif behind < first:
                yield offset, f"the range {number} ends before it begins"
            elif behind > words:
                yield offset, f"the range {number} ends behind the last word, {words}"
            end = behind
        elif match := EMPTY.fullmatch(number):
            empty += 1
            if int(match[1]) != last:
                yield offset, f"the empty node {number} stands behind word {last}"
            elif int(match[2]) != empty:
                expected = f"expected {last}.{empty}: they are numbered from 1 behind a word"
                yield offset, f"the empty node {number}, {expected}"
        else:
            last, empty = int(number), 0


def _head_problems(lines: Sequence[str], trees: Trees) -> Problems:
    words = words_of(lines)
    for offset, columns in words:
        head = columns[6]
        if head == "_" and trees == "partial":
            continue
        if not HEAD.fullmatch(head) or int(head) > len(words):
            word = f"word {columns[0]} ({columns[1]})"
            yield offset, f"the head of {word} is {head!r}, expected a number in 0..{len(words)}"


def _cycle_problems(lines: Sequence[str]) -> Problems:
    words = words_of(lines)
    heads = [max(0, known_head(columns[6])) for _, columns in words]
    if cycle := find_cycle(heads):
        chained = " -> ".join(map(str, [*cycle, cycle[0]]))
        yield words[cycle[0] - 1][0], f"the heads are no tree: going from word to head leads round in {chained}"

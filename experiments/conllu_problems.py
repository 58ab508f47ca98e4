"""What can be wrong with a sentence of CoNLL-U."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Literal

from conllu.exceptions import ParseException
from conllu.parser import DEFAULT_FIELDS, parse_id_value

from structdep.trees import find_cycle

Trees = Literal["whole", "partial", "none"]
"""What is read of the column HEAD: a tree; the heads of some words, _ being free; or nothing."""
Problems = Iterator[tuple[int, str]]


def problems(lines: list[str], trees: Trees) -> Problems:
    """What is wrong: the offset of the line, and what was found and expected. The first is what to say.

    Example:
        >>> next(problems(["# text = ik", "1\\tik"], "none"))
        (1, "2 tab-separated columns, expected 10 in '1\\\\tik'")
    """
    of_heads = () if trees == "none" else (_head_problems(lines, trees), _cycle_problems(lines))
    return chain(_column_problems(lines), _word_problems(lines), *of_heads)


def known_head(column: str) -> int:
    """The number in the column HEAD, -1 for _."""
    return -1 if column == "_" else int(column)


def _column_problems(lines: list[str]) -> Problems:
    """Those of lines one by one."""
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
        if columns[0] != str(position):
            yield offset, f"the ID is {columns[0]}, expected {position}: words are numbered from 1"
    yield from _range_problems(lines, len(words))


def _range_problems(lines: list[str], words: int) -> Problems:
    """Those of multiword tokens, which stand before their first word, and empty nodes, which stand behind a word."""
    last, empty, end = 0, 0, 0
    for offset, line in enumerate(lines):
        number = line.split("\t")[0]
        if match := re.fullmatch(r"(\d+)-(\d+)", number):
            if int(match[1]) != last + 1:
                yield offset, f"the range {number} stands before word {last + 1} of {words}, where it should begin"
            elif int(match[1]) <= end:
                yield offset, f"the range {number} begins within the one before, which ends with word {end}"
            elif int(match[2]) > words:
                yield offset, f"the range {number} ends behind the last word, {words}"
            end = int(match[2])
        elif match := re.fullmatch(r"(\d+)\.(\d+)", number):
            empty += 1
            if int(match[1]) != last:
                yield offset, f"the empty node {number} stands behind word {last}"
            elif int(match[2]) != empty:
                yield (
                    offset,
                    f"the empty node {number}, expected {last}.{empty}: they are numbered from 1 behind a word",
                )
        elif not line.startswith("#"):
            last, empty = int(number), 0


def _head_problems(lines: list[str], trees: Trees) -> Problems:
    words = _words(lines)
    for offset, columns in words:
        word, head = f"word {columns[0]} ({columns[1]})", columns[6]
        if head == "_" and trees == "partial":
            continue
        if not re.fullmatch(r"0|[1-9]\d*", head) or int(head) > len(words):
            yield offset, f"the head of {word} is {head!r}, expected a number in 0..{len(words)}"


def _cycle_problems(lines: list[str]) -> Problems:
    words = _words(lines)
    heads = [max(0, known_head(columns[6])) for _, columns in words]
    if cycle := find_cycle(heads):
        chained = " -> ".join(map(str, [*cycle, cycle[0]]))
        yield words[cycle[0] - 1][0], f"the heads are no tree: going from word to head leads round in {chained}"

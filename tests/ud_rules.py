"""What the evaluation script of the CoNLL 2018 shared task asks of a file, and UD of its relations."""

import re
from unicodedata import category

from structdep.trees import is_tree


def check_accepted(content: bytes) -> list[list[list[str]]]:
    """Assert that the file is accepted; the columns of the syntactic words of each sentence.

    Lines are read as that script reads them: a carriage return ends one, too.
    """
    text = re.sub("\r\n?", "\n", content.decode("utf-8"))
    assert not text or text.endswith("\n\n")
    blocks = text.split("\n\n")[:-1]
    return [_checked(block.split("\n")) for block in blocks]


def _checked(lines: list[str]) -> list[list[str]]:
    rows = [line.split("\t") for number, line in enumerate(lines) if not _is_comment(lines, number)]
    assert all(len(row) == 10 and all(row) for row in rows), rows
    assert all(any(category(letter) != "Zs" for letter in row[1]) for row in rows if "." not in row[0]), rows
    words = [row for row in rows if row[0].isdigit()]
    heads = [int(row[6]) for row in words]
    assert [int(row[0]) for row in words] == list(range(1, len(words) + 1)) and words
    assert all(0 <= head <= len(words) for head in heads) and is_tree(heads, single_root=True), heads
    assert [row[7].split(":")[0] == "root" for row in words] == [head == 0 for head in heads], words
    _check_ranges([row[0] for row in rows])
    return words


def _is_comment(lines: list[str], number: int) -> bool:
    """Comments stand before the first word alone."""
    return all(line.startswith("#") for line in lines[: number + 1])


def _check_ranges(ids: list[str]) -> None:
    """A multiword token is followed by its words, and by nothing else."""
    for place, name in enumerate(ids):
        if "-" in name:
            first, last = map(int, name.split("-"))
            assert first <= last and ids[place + 1 : place + 2 + last - first] == list(map(str, range(first, last + 1)))

"""Vectors of words that training does not change: word vectors of a file, or any model's features of each sentence."""

import hashlib
import json
import mmap
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from structdep_parser.data.conllu import Sentence
from structdep_parser.data.hdf5 import SIGNATURE, HDF5Features
from structdep_parser.data.npz import array_of
from structdep_parser.data.sentence_rows import name_of, rows_of

LONGEST_HEADER = 100_000_000
"""Bytes of a safetensors file, by its definition."""
TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}


class Features(Protocol):
    """A table of vectors, one a word: `rows` finds those of a sentence, `values` reads them."""

    width: int

    def rows(self, sentence: Sentence) -> NDArray[np.int64]:
        """The row of each word, -1 where there is none."""

    def values(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Vectors `[.., width]` of rows `[..]`; zeros for -1."""


class WordVectors:
    """A file of word vectors, memory-mapped: only the vectors of words that occur are read.

    Args:
        path: .npz with the arrays `words` and `vectors` (compressed ones are read whole), or text as fastText and GloVe
            write it: a line has a word and its numbers, separated by spaces; a first line of two numbers is skipped.

    Raises:
        ValueError: a line is wrong, or the file has no vectors.
    """

    def __init__(self, path: str | Path) -> None:
        self.path, self.found = Path(path), dict[str, int]()
        self.vectors: list[NDArray[np.float32]] = []
        self.table: NDArray[Any] = np.zeros((0, 0), np.float32)
        if self.path.suffix == ".npz":
            self.places: dict[bytes, int] = {}
            words, self.table = array_of(self.path, "words"), array_of(self.path, "vectors")
            if self.table.ndim != 2 or words.shape != self.table.shape[:1]:
                came = f"{list(words.shape)} and {list(self.table.shape)}"
                raise ValueError(f"{path}: words and vectors have shapes {came}, expected [words] and [words, width]")
            if words.dtype.kind != "U":
                raise ValueError(f"{path}: words are {words.dtype}, expected text: write np.array(words, str)")
            for row, word in enumerate(words.tolist()):
                self.found.setdefault(normalize("NFC", word), row)
            self.width = self.table.shape[1]
            return
        if not self.path.stat().st_size:
            raise ValueError(f"{self.path} is empty: expected lines of a word and its numbers")
        with open(self.path, "rb") as file:
            self.text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.places, place = {}, 0
        for line in iter(self.text.readline, b""):
            if place or line.count(b" ") > 1:
                self.places.setdefault(_composed(line[: line.find(b" ")]), place)
            place += len(line)
        if not self.places:
            raise ValueError(f"{self.path} has no word vectors: expected lines of a word and its numbers")
        self.width = len(self._numbers(next(iter(self.places.values()))))
        self.table = np.zeros((0, self.width), np.float32)

    def rows(self, sentence: Sentence) -> NDArray[np.int64]:
        return np.array([self._row(form) for form in sentence.forms], np.int64)

    def values(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        if len(self.table) < len(self.vectors):
            self.table = np.stack(self.vectors)
        return _taken(self.table, rows, self.width)

    def _row(self, form: str) -> int:
        """Of the form, else of its lower case."""
        if form not in self.found:
            lower = form.lower()
            place = self.places.get(form.encode(), self.places.get(lower.encode(), -1))
            self.found[form] = self.found.get(lower, -1) if place < 0 else self._read(place)
        return self.found[form]

    def _read(self, place: int) -> int:
        vector = self._numbers(place)
        if len(vector) != self.width:
            raise ValueError(f"{self._at(place)}: {len(vector)} numbers, expected {self.width}, as before")
        self.vectors.append(vector)
        return len(self.vectors) - 1

    def _at(self, place: int) -> str:
        before: int = self.text[:place].count(b"\n")
        return f"{self.path}, line {before + 1}"

    def _numbers(self, place: int) -> NDArray[np.float32]:
        self.text.seek(place)
        line = self.text.readline()
        try:
            return np.array(line.split()[1:], np.float32)
        except ValueError:
            raise ValueError(
                f"{self._at(place)}: expected a word and its numbers, separated by spaces, not {line[:40]!r}"
            ) from None


class SentenceFeatures:
    """One array `[words, width]` a sentence in a safetensors file, memory-mapped, float32 or float16.

    The name of an array is the sentence's `sent_id`, or its number in its file, from 1.

    Raises:
        ValueError: the file is of another kind, or the arrays differ in type or width.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with open(self.path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = _header(self.path, file.read(min(size, LONGEST_HEADER)))
        header.pop("__metadata__", None)
        kinds = {(entry["dtype"], *entry["shape"][1:]) for entry in header.values()}
        if len(kinds) != 1 or len(kind := next(iter(kinds))) != 2 or kind[0] not in TYPES:
            came = ", ".join(map(str, sorted(kinds, key=str)[:3])) or "none"
            raise ValueError(
                f"{path}: expected arrays [words, width], all F32 or all F16 and equally wide, but found {came}"
            )
        name, self.width = kind
        row = self.width * TYPES[name].itemsize
        self.places = {key: (entry["data_offsets"][0] // row, entry["shape"][0]) for key, entry in header.items()}
        rows = sum(words for _, words in self.places.values())
        self.table = np.memmap(self.path, TYPES[name], "r", 8 + size, (rows, self.width))

    def rows(self, sentence: Sentence) -> NDArray[np.int64]:
        return rows_of(sentence, *self.places[name_of(sentence, self.places, self.path)], self.path)

    def values(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        return _taken(self.table, rows, self.width)


def open_features(vectors: str | Path, features_file: str | Path) -> Features | None:
    """The features of one of these files, if one is named; ValueError for both."""
    if vectors and features_file:
        raise ValueError("--vectors with --features-file: write one of them")
    if vectors:
        return WordVectors(vectors)
    return _of_sentences(Path(features_file)) if features_file else None


def checksum(features: Features, rows: Iterable[NDArray[np.int64]]) -> str:
    """The beginning of the SHA-256 of the vectors in these rows."""
    digest = hashlib.sha256()
    for own in rows:
        digest.update(features.values(own).tobytes())
    return digest.hexdigest()[:16]


def _composed(word: bytes) -> bytes:
    """In the normal form NFC, as forms of sentences are."""
    return word if word.isascii() else normalize("NFC", word.decode("utf-8", "replace")).encode()


def _header(path: Path, text: bytes) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except (TypeError, ValueError):
        raise ValueError(f"{path}: expected a safetensors or an HDF5 file, but its header is neither's") from None


def _of_sentences(path: Path) -> Features:
    with open(path, "rb") as file:
        is_hdf5 = file.read(len(SIGNATURE)) == SIGNATURE
    return HDF5Features(path) if is_hdf5 else SentenceFeatures(path)


def _taken(table: NDArray[Any], rows: NDArray[np.int64], width: int) -> NDArray[np.float32]:
    values = np.zeros((*rows.shape, width), np.float32)
    values[rows >= 0] = table[rows[rows >= 0]]
    return values

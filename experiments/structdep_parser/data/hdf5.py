"""Features of sentences in an HDF5 file, which h5py reads."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structdep_parser.data.conllu import Sentence
from structdep_parser.data.sentence_rows import name_of, rows_of

SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""What an HDF5 file begins with."""


class HDF5Features:
    """One array `[words, width]` of real numbers a sentence; an array is read when a batch needs some of its rows.

    The name of an array is the sentence's `sent_id`, or its number in its file, from 1.

    Raises:
        ValueError: h5py is not installed, or the file is damaged, or has no such array.
    """

    def __init__(self, path: str | Path) -> None:
        self.path, self.file = Path(path), _opened(path)
        self.names: list[str] = []
        self.starts = [0]  # the first row of each array that is known so far, and the row behind the last
        self.places: dict[str, int] = {}
        first = self.file.visititems(lambda name, found: found if _is_table(found) else None)
        if first is None:
            raise ValueError(f"{path}: expected arrays [words, width] of real numbers, but found none")
        self.width: int = first.shape[1]

    def rows(self, sentence: Sentence) -> NDArray[np.int64]:
        name = name_of(sentence, self.file, self.path)
        if name not in self.places:
            table = self.file[name]
            if not _is_table(table) or table.shape[1] != self.width:
                came = f"{table.dtype} {list(table.shape)}" if hasattr(table, "shape") else "a group"
                raise ValueError(f"{self.path}, {name}: expected real numbers [words, {self.width}], but found {came}")
            self.places[name] = len(self.names)
            self.names.append(name)
            self.starts.append(self.starts[-1] + len(table))
        first, end = self.starts[self.places[name]], self.starts[self.places[name] + 1]
        return rows_of(sentence, first, end - first, self.path)

    def values(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        found = np.zeros((*rows.shape, self.width), np.float32)
        tables = np.searchsorted(self.starts, rows, side="right") - 1
        for place in np.unique(tables[rows >= 0]).tolist():
            own = tables == place
            found[own] = self.file[self.names[place]][()][rows[own] - self.starts[place]]
        return found


def _is_table(found: Any) -> bool:
    return len(getattr(found, "shape", ())) == 2 and found.dtype.kind == "f"


def _opened(path: str | Path) -> Any:
    try:
        import h5py
    except ImportError:
        raise ValueError(
            f"{path} is an HDF5 file, and h5py, which reads it, is not installed: pip install h5py, or use safetensors"
        ) from None
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error}") from None

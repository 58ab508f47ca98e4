"""Arrays of .npz files, memory-mapped where they are not compressed."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

LOCAL_HEADER = 30
"""Bytes of a zip file in front of a member's name."""


def array_of(path: Path, name: str) -> NDArray[Any]:
    """An array of the file: of np.savez as a memory map, of np.savez_compressed in memory.

    Raises:
        ValueError: the file is damaged, or has no such array.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     np.savez(f"{folder}/a.npz", words=["ik", "im"], vectors=np.eye(2))
        ...     found = array_of(Path(folder, "a.npz"), "vectors")
        >>> type(found).__name__, found.tolist()
        ('memmap', [[1.0, 0.0], [0.0, 1.0]])
    """
    try:
        with zipfile.ZipFile(path) as archive:
            member = archive.getinfo(f"{name}.npy")
        if member.compress_type == zipfile.ZIP_STORED:
            return _mapped(path, member.header_offset)
        with np.load(path) as arrays:
            found: NDArray[Any] = arrays[name]
            return found
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: expected an .npz file with an array {name!r}: {error}") from None


def _mapped(path: Path, start: int) -> NDArray[Any]:
    """The array of the member at this byte."""
    with open(path, "rb") as file:
        file.seek(start)
        header = file.read(LOCAL_HEADER)
        file.seek(sum(int.from_bytes(header[place : place + 2], "little") for place in (26, 28)), 1)
        read_header = npy.read_array_header_1_0 if npy.read_magic(file) == (1, 0) else npy.read_array_header_2_0
        shape, is_fortran, dtype = read_header(file)
        return np.memmap(file, dtype, "r", file.tell(), shape, "F" if is_fortran else "C")

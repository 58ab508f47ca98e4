"""Trees of arrays as safetensors files, each with its checksum, written whole or not at all."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from structdep_parser.files import write_whole

CHECKSUM = "sha256"
LENGTH = 8
"""Bytes of a file that say how long its header is."""


def named(tree: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a tree by their places in it."""
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def write_arrays(path: Path, tree: Any) -> None:
    """Write a tree's arrays, and the checksum of their names, types, shapes and values."""
    arrays = named(tree)
    write_whole(path, save(arrays, {CHECKSUM: _checksum(arrays)}))


def read_arrays(path: Path, like: Any) -> Any:
    """The tree that was written, which has the names, shapes and types of `like`.

    Raises:
        ValueError: the file is damaged, or of another tree.
    """
    content = path.read_bytes()
    try:
        arrays = load(content)
        header = json.loads(content[LENGTH : LENGTH + int.from_bytes(content[:LENGTH], "little")])
        noted = header["__metadata__"][CHECKSUM]
    except (SafetensorError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    if noted != _checksum(arrays):
        raise ValueError(f"{path} is damaged: its checksum is another")
    return filled(like, arrays, path)


def filled(like: Any, arrays: Mapping[str, Any], path: Path | str) -> Any:
    """A tree with these arrays, which have to be those of `like`; else ValueError."""

    def array(name: Any, leaf: Any) -> jax.Array:
        found = arrays.get(key := jax.tree_util.keystr(name))
        if found is None or (found.shape, found.dtype) != (leaf.shape, leaf.dtype):
            came = "is not there" if found is None else f"is {found.dtype}{list(found.shape)}"
            raise ValueError(f"{path}: {key} {came}, expected {leaf.dtype}{list(leaf.shape)}: of another version")
        return jax.numpy.asarray(found)

    return jax.tree_util.tree_map_with_path(array, like)


def _checksum(arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}\n".encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()

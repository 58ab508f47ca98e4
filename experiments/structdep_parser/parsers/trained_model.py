"""A trained parser as one folder, for any machine and device: model.json and weights.safetensors."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from flax import nnx
from numpy.typing import NDArray
from safetensors.numpy import load, save

from structdep_parser.config import Config
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.files import write_whole
from structdep_parser.nn.model import Model
from structdep_parser.parsers.registry import Parser, parser_of

DESCRIPTION, WEIGHTS = "model.json", "weights.safetensors"
FOLDER = "model"
"""Where a run has its model."""


@dataclass(frozen=True)
class TrainedModel:
    """What it takes to parse: configuration, vocabulary and weights (the state of a `Model`)."""

    config: Config
    vocabulary: Vocabulary
    weights: Any

    @property
    def parser(self) -> Parser:
        return parser_of(self.config)

    @property
    def graph(self) -> nnx.GraphDef[Model]:
        return _abstract(self.config, self.vocabulary)[0]

    def save(self, folder: Path) -> None:
        """Write both files; the description holds the checksum of the weights."""
        weights = save(named(self.weights))
        write_whole(folder / WEIGHTS, weights)
        values: dict[str, Any] = {
            "weights": {"sha256": hashlib.sha256(weights).hexdigest()},
            "config": asdict(self.config),
            "vocabulary": self.vocabulary.to_dict(),
        }
        values["sha256"] = _checksum(values)
        write_whole(folder / DESCRIPTION, json.dumps(values, ensure_ascii=False, indent=1) + "\n")

    @classmethod
    def load(cls, folder: Path) -> "TrainedModel":
        """The model in a folder, or that of the run whose folder it is.

        Raises:
            FileNotFoundError: it has none.
            ValueError: a file is damaged, or of another version of structdep.
        """
        folder = _settled(folder)
        try:
            values = dict(json.loads((folder / DESCRIPTION).read_text(encoding="utf-8")))
            if values.get("sha256", own := _checksum(values)) != own:
                raise ValueError("its checksum is another")
            config, vocabulary = Config.of(values["config"]), Vocabulary.from_dict(values["vocabulary"])
            checksum = values["weights"]["sha256"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{folder / DESCRIPTION} is damaged, or of another version: {error}") from None
        content = (folder / WEIGHTS).read_bytes()
        if hashlib.sha256(content).hexdigest() != checksum:
            raise ValueError(f"{folder / WEIGHTS} is damaged: its checksum is not the one in {DESCRIPTION}")
        return cls(config, vocabulary, _filled(_abstract(config, vocabulary)[1], load(content), folder / WEIGHTS))


def _checksum(description: Mapping[str, Any]) -> str:
    """Of all that a description has besides; those of earlier versions have none."""
    others = {name: value for name, value in description.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()


def _settled(folder: Path) -> Path:
    for place in (folder, folder / FOLDER):
        if (place / DESCRIPTION).is_file():
            return place
    if members := sorted(str(place) for place in folder.glob(f"seed-*/{FOLDER}")):
        raise FileNotFoundError(
            f"{folder} has several parsers: give that of one of them, such as {Path(members[0]).parent}"
        )
    raise FileNotFoundError(
        f"no model in {folder}: there is no {DESCRIPTION}, nor {FOLDER}/{DESCRIPTION}; a run has one when it is "
        "finished: give the command that made the run again"
    )


def _abstract(config: Config, vocabulary: Vocabulary) -> Any:
    """The model's graph, and its state with shapes in the place of arrays."""
    return nnx.split(nnx.eval_shape(lambda: Model(config, vocabulary, parser_of(config))))


def named(state: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a model's state by their places in it."""
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(state)}


def _filled(state: Any, arrays: Mapping[str, NDArray[Any]], path: Path) -> Any:
    """The state with these arrays, which have to be its own."""

    def array(name: Any, leaf: Any) -> jax.Array:
        found = arrays.get(key := jax.tree_util.keystr(name))
        if found is None or (found.shape, found.dtype) != (leaf.shape, leaf.dtype):
            came = "is not there" if found is None else f"is {found.dtype}{list(found.shape)}"
            raise ValueError(f"{path}: {key} {came}, expected {leaf.dtype}{list(leaf.shape)}: of another version")
        return jax.numpy.asarray(found)

    return jax.tree_util.tree_map_with_path(array, state)

"""A trained parser as one folder, for any machine and device: model.json and weights.safetensors."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np
from flax import nnx
from safetensors.numpy import load, save

from structdep_parser.arrays import filled
from structdep_parser.config import Config, member_folders
from structdep_parser.data.features import Features, open_features
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.files import write_whole
from structdep_parser.nn.model import Model
from structdep_parser.nn.stored_programs import part
from structdep_parser.parsers.reading import Reader
from structdep_parser.parsers.registry import Algorithm, algorithm_of

DESCRIPTION, WEIGHTS = "model.json", "weights.safetensors"
FOLDER = "model"
"""Where a run has its model."""


@dataclass(frozen=True)
class TrainedModel:
    """What it takes to parse: configuration, vocabulary, and the arrays of a `Model`'s state by their places in it."""

    config: Config
    vocabulary: Vocabulary
    arrays: Mapping[str, Any]

    @property
    def parser(self) -> Algorithm:
        return algorithm_of(self.config)

    @cached_property
    def features(self) -> Features | None:
        """What it was trained with, from where its configuration says.

        Raises:
            ValueError: it is of another width.
        """
        found = open_features(self.config.vectors, self.config.features_file)
        if (width := found.width if found else 0) != self.config.feature_width:
            raise ValueError(
                f"this model was trained with features of width {self.config.feature_width}, but these have {width}: "
                "write --vectors or --features-file with such as it was trained with"
            )
        return found

    @cached_property
    def weights(self) -> Any:
        """The state of a `Model`."""
        return self._state(self.arrays)

    def merged(self, arrays: Mapping[str, Any]) -> Model:
        """The model with these arrays in the place of its own."""
        return nnx.merge(self._abstract[0], self._state(arrays))

    @cached_property
    def reader(self) -> Reader:
        """What reads sentences with it."""
        return Reader(self.merged, self.vocabulary, self.features, self.config.alone, part(self.identity, "reader"))

    @cached_property
    def identity(self) -> str:
        return identity(self.config, self.vocabulary)

    def _state(self, arrays: Mapping[str, Any]) -> Any:
        return filled(self._abstract[1], arrays, "a model")

    @cached_property
    def _abstract(self) -> Any:
        """The model's graph, and its state with shapes in the place of arrays; they take a second to make."""
        return nnx.split(nnx.eval_shape(lambda: Model(self.config, self.vocabulary, self.parser)))

    def save(self, folder: Path) -> None:
        """Write both files; the description holds the checksum of the weights."""
        weights = save({name: np.asarray(array) for name, array in self.arrays.items()})
        write_whole(folder / WEIGHTS, weights)
        values = {"weights": {"sha256": hashlib.sha256(weights).hexdigest()}} | _description(
            self.config, self.vocabulary
        )
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
        model = cls(config, vocabulary, jax.device_put(load(content)))
        if "sha256" not in values:  # only then may the description be that of other weights
            filled(model._abstract[1], model.arrays, folder / WEIGHTS)
        return model


def models_in(folders: Sequence[Path]) -> dict[str, TrainedModel]:
    """The models in these folders, or of these runs; of a run of several members, theirs.

    Raises:
        ValueError: one is given twice.
    """
    places = [place for folder in folders for place in member_folders(folder) or [folder]]
    same = [_settled(place).resolve() for place in places]
    if twice := next((place for number, place in enumerate(places) if same[number] in same[:number]), None):
        raise ValueError(f"{twice} is given twice: models that parse together count once each")
    return {str(place): TrainedModel.load(place) for place in places}


IRRELEVANT = """
    seed epochs sized learning_rate warm_up graft words_per_batch max_shapes members lang treebank init_from
    feature_checksum
"""
"""Fields of a configuration that compiled programs do not depend on, or by the shapes of arguments alone."""


def identity(config: Config, vocabulary: Vocabulary) -> str:
    """What compiled programs of a model depend on: the same for other seeds, epochs and rates on the same treebank.

    Empty where they depend on code of others, which may change.
    """
    usual = {name: getattr(Config(), name) for name in IRRELEVANT.split()}
    return "" if config.encoder_layer else _checksum(_description(replace(config, **usual), vocabulary))


def _description(config: Config, vocabulary: Vocabulary) -> dict[str, Any]:
    return {"config": asdict(config), "vocabulary": vocabulary.to_dict()}


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
    if folds := sorted(folder.glob(f"fold-*/{FOLDER}")):
        raise FileNotFoundError(
            f"{folder} is a cross-validation: give the parser of a fold, such as {folds[0].parent}, or train one on "
            "all sentences by --held-out none"
        )
    if not folder.is_dir():
        raise FileNotFoundError(_no_folder(folder))
    if runs := sorted(folder.glob(f"*/{FOLDER}")):
        raise FileNotFoundError(f"{folder} holds runs: give one of them, such as {runs[0].parent}")
    raise FileNotFoundError(
        f"no model in {folder}: there is no {DESCRIPTION}, nor {FOLDER}/{DESCRIPTION}; a run has one when it is "
        "finished: give the command that made the run again"
    )


def _no_folder(folder: Path) -> str:
    """That a run is not there, and which runs are."""
    if folder.exists():
        return f"{folder} is a file, expected the folder of a run"
    runs = ", ".join(sorted(path.parent.name for path in folder.parent.glob(f"*/{FOLDER}")))
    return f"there is no folder {folder}" + (f"; {folder.parent} has {runs}" if runs else "")

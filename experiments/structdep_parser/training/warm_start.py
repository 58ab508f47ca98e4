"""Warm starts: a model takes over the weights of another one. All parsers have the same encoder."""

from typing import Any

import jax
import jax.numpy as jnp

from structdep_parser.config import Config
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.parsers.trained_model import TrainedModel

SIZES = ("word_vectors", "character_vectors", "character_states", "states")
"""What the encoder's arrays have their shapes from."""


def warm_started(parameters: Any, vocabulary: Vocabulary, config: Config, model: TrainedModel) -> Any:
    """The parameters with those of `model` that have the same names and shapes; the others as they are.

    Raises:
        ValueError: the model is of another treebank, so that its numbers stand for other words, or of other sizes.
    """
    if model.vocabulary != vocabulary:
        raise ValueError(
            f"--init-from {config.init_from}: that run has other words, tags or relations: give one of the same "
            f"treebank, with min_count={model.config.min_count}"
        )
    if other := [name for name in SIZES if getattr(config, name) != getattr(model.config, name)]:
        sizes = " ".join(f"{name}={getattr(model.config, name)}" for name in other)
        raise ValueError(f"--init-from {config.init_from}: its encoder has other sizes: write --set {sizes}")

    missing: list[str] = []

    def array(path: Any, own: jax.Array) -> jax.Array:
        name = jax.tree_util.keystr(path)
        found = model.arrays.get(name)
        if found is None or found.shape != own.shape:
            missing.append(name)
            return own
        return jnp.asarray(found)

    made = jax.tree_util.tree_map_with_path(array, parameters)
    if encoder := [name for name in missing if name.startswith("['encoder']")]:
        raise ValueError(
            f"--init-from {config.init_from}: that run's encoder has no {encoder[0]} of this shape: give both runs the "
            "same --tags, layers, tag_features and --vectors or --features-file"
        )
    return made

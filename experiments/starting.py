"""A model that begins with what another has learned: the same encoder serves all parsers."""

from typing import Any

import jax
import jax.numpy as jnp

from experiments.config import Config
from experiments.trained_model import TrainedModel, named
from experiments.vocabulary import Vocabulary

SIZES = ("word_vectors", "character_vectors", "character_states", "states")
"""What the encoder's arrays have their shapes from."""


def begun(parameters: Any, vocabulary: Vocabulary, config: Config, model: TrainedModel) -> Any:
    """The parameters with those of `model` that have the same names and shapes; the others as they are.

    Raises:
        ValueError: the model is of another treebank, so that its numbers stand for other words, or of other sizes.
    """
    if model.vocabulary != vocabulary:
        raise ValueError(
            f"--start {config.start}: that run has other words, tags or relations: give one of the same treebank, "
            f"with min_count={model.config.min_count}"
        )
    if other := [name for name in SIZES if getattr(config, name) != getattr(model.config, name)]:
        sizes = " ".join(f"{name}={getattr(model.config, name)}" for name in other)
        raise ValueError(f"--start {config.start}: the encoder of that run has other sizes: write --set {sizes}")
    arrays = named(model.weights)

    def array(name: Any, own: jax.Array) -> jax.Array:
        found = arrays.get(jax.tree_util.keystr(name))
        return own if found is None or found.shape != own.shape else jnp.asarray(found)

    return jax.tree_util.tree_map_with_path(array, parameters)

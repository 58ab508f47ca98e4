"""A model that begins with what another has learned: the same encoder serves all parsers."""

from typing import Any

import jax
import jax.numpy as jnp

from experiments.trained_model import TrainedModel, named
from experiments.vocabulary import Vocabulary


def begun(parameters: Any, vocabulary: Vocabulary, model: TrainedModel) -> Any:
    """The parameters with those of `model` that have the same names and shapes; the others as they are.

    Raises:
        ValueError: the model is of another treebank, so that its numbers stand for other words.
    """
    if model.vocabulary != vocabulary:
        raise ValueError("--start: that run has other words and relations: give one of the same treebank")
    arrays = named(model.weights)

    def array(name: Any, own: jax.Array) -> jax.Array:
        found = arrays.get(jax.tree_util.keystr(name))
        return own if found is None or found.shape != own.shape else jnp.asarray(found)

    return jax.tree_util.tree_map_with_path(array, parameters)

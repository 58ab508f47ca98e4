"""How well tags are predicted, which the encoder learns beside the trees."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from numpy.typing import NDArray

from structdep_parser.data.batches import Batch, batches
from structdep_parser.data.corpus import rows
from structdep_parser.data.sentences import Sentence
from structdep_parser.data.shapes import Shape
from structdep_parser.data.vocabulary import Vocabulary, full_tags
from structdep_parser.nn.compiled import Compiled
from structdep_parser.nn.model import Model

Tags = list[tuple[str, ...]]
"""A tag a word of each sentence."""


class Tagger:
    """Predicts tags of batches of a few planned shapes."""

    def __init__(self, graph: nnx.GraphDef[Model], vocabulary: Vocabulary, shapes: Sequence[Shape]) -> None:
        self.vocabulary, self.shapes = vocabulary, shapes

        def tag(parameters: Any, batch: Batch) -> list[jax.Array]:
            model = nnx.merge(graph, parameters)
            return [jnp.argmax(logits, axis=-1) for logits in model.tags(model.encoder.both(batch)[1])]

        self.tag = Compiled(tag)

    def __call__(self, parameters: Any, sentences: Sequence[Sentence]) -> tuple[Tags, Tags]:
        """Universal tags; and language-specific ones joined with features, as `xpos|feats`."""
        found: tuple[Tags, Tags] = ([()] * len(sentences), [()] * len(sentences))
        names = self.vocabulary.upos, self.vocabulary.xpos
        for batch in batches(sentences, self.vocabulary, shapes=self.shapes):
            for tags, entries, table in zip(found, names, self.tag(parameters, batch), strict=True):
                for place, numbers in rows(batch, np.asarray(table)):
                    tags[place] = tuple(entries[number] for number in numbers)
        return found


def accuracies(sentences: Sequence[Sentence], predicted: tuple[Tags, Tags]) -> dict[str, float]:
    """Shares of words, in per cent, whose universal tag is right, and whose language-specific one and features are.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from structdep_parser.data.demo_treebank import write_demo_treebank
        >>> from structdep_parser.data.sentences import read
        >>> with TemporaryDirectory() as folder:
        ...     dev = read(write_demo_treebank(folder).dev)
        >>> accuracies(dev, ([sentence.upos for sentence in dev], [sentence.xpos for sentence in dev]))["UPOS"]
        100.0
    """
    gold = [sentence.upos for sentence in sentences], [full_tags(sentence) for sentence in sentences]
    upos, xpos = (100 * float(np.mean(_all(p) == _all(g))) for p, g in zip(predicted, gold, strict=True))
    return {"UPOS": upos, "XPOS and features": xpos}


def _all(tags: Sequence[tuple[str, ...]]) -> NDArray[np.str_]:
    return np.array([tag for sentence in tags for tag in sentence])

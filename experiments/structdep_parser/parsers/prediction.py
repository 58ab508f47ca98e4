"""Parsing sentences with a trained model."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from structdep_parser.data.batches import Batch, batches, free_batches
from structdep_parser.data.corpus import rows
from structdep_parser.data.features import Features
from structdep_parser.data.sentences import Heads, Sentence
from structdep_parser.data.shapes import Shape
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.nn.compiled import Compiled
from structdep_parser.nn.model import Model
from structdep_parser.nn.stored_programs import part
from structdep_parser.parsers.decoding import Decoded, Decoder, Decoding


@dataclass(frozen=True)
class Confidence:
    """The probabilities of a tree, of each of its arcs, and of each relation given its arc."""

    arcs: NDArray[np.float32]
    tree: float
    relations: NDArray[np.float32]

    def misc(self) -> list[dict[str, str]]:
        """Entries for the column MISC of each word; the tree's is in the first."""
        pairs = zip(self.arcs.tolist(), self.relations.tolist(), strict=True)
        entries = [{"ArcProb": f"{arc:.4f}", "DeprelProb": f"{relation:.4f}"} for arc, relation in pairs]
        entries[0]["TreeProb"] = f"{self.tree:.4g}"
        return entries


class Tags(NamedTuple):
    """A sentence's predicted tags, features and lemmas, one a word."""

    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    feats: tuple[str, ...]
    lemmas: tuple[str, ...]


class Tree(NamedTuple):
    """A sentence's heads and relations, its confidence and the words' tags where these were asked for."""

    heads: NDArray[np.int32]
    relations: tuple[str, ...]
    confidence: Confidence | None = None
    tags: Tags | None = None

    @property
    def deprels(self) -> tuple[str, ...]:
        """An earlier name of `relations`."""
        return self.relations


@dataclass(frozen=True)
class Predictions:
    """A tree for each sentence: heads and relations, one entry a word; confidences and tags where asked for."""

    heads: Heads
    deprels: list[tuple[str, ...]]
    confidences: list[Confidence] = field(default_factory=list)
    tags: list[Tags] = field(default_factory=list)


class Predictor:
    """Scores, decodes and labels batches, and counts the seconds of each.

    Args:
        merge: makes the model of its weights.
        decoder: finds trees by the scores.
        vocabulary: of the model.
        shapes: those of batches, if they were planned.
        select: takes from the scorer's scores what the decoder needs.
        features: of words, where the model has such inputs.
        identity: what model, decoder and `select` depend on, if compiled programs are to be kept for other processes.
    """

    def __init__(
        self,
        merge: Callable[[Any], Model],
        decoder: Decoder,
        vocabulary: Vocabulary,
        shapes: Sequence[Shape] | None = None,
        select: Callable[[Any], Any] = lambda scores: scores,
        features: Features | None = None,
        identity: str = "",
    ) -> None:
        self.decoder, self.vocabulary, self.shapes, self.features = decoder, vocabulary, shapes, features

        def score(parameters: Any, batch: Batch) -> tuple[jax.Array, jax.Array, Any]:
            model = merge(parameters)
            states, tag_states = model.encoder.both(batch)
            return states, tag_states, select(model.scorer(states, batch.lengths))

        def label(parameters: Any, states: jax.Array, heads: jax.Array) -> tuple[jax.Array, jax.Array]:
            probabilities = jax.nn.softmax(merge(parameters).labeler(states, heads))
            return jnp.argmax(probabilities, axis=-1), jnp.max(probabilities, axis=-1)

        def tag(parameters: Any, tag_states: jax.Array) -> list[jax.Array]:
            scores = merge(parameters).tag_scorer(tag_states)
            return [jnp.argmax(logits, axis=-1) for logits in scores[:3]]

        self.score, self.label, self.tag = Compiled(score), Compiled(label), Compiled(tag)
        for number, program in enumerate([self.score, self.label, self.tag, *decoder.programs]):
            program.identity = part(identity, str(number))

    def __call__(self, parameters: Any, sentences: Sequence[Sentence], decoding: Decoding | None = None) -> Predictions:
        """The best tree of each sentence."""
        best = [trees[0] for trees in self.trees(parameters, sentences, decoding or Decoding())]
        confidences = [tree.confidence for tree in best if tree.confidence is not None]
        tags = [tree.tags for tree in best if tree.tags is not None]
        return Predictions([tree.heads for tree in best], [tree.relations for tree in best], confidences, tags)

    def trees(self, parameters: Any, sentences: Sequence[Sentence], decoding: Decoding) -> list[list[Tree]]:
        """As many trees of each sentence as `decoding` asks for, best first; heads are -1 where there are fewer."""
        found: list[list[Tree]] = [[] for _ in sentences]
        for batch in self.batches(sentences):
            states, tag_states, scores = self.score(parameters, batch)
            known = batch.heads if decoding.known else None
            tags = self._tags(batch, self.tag(parameters, tag_states)) if decoding.tags else {}
            for decoded in self.decoder(scores, batch.lengths, decoding, known):
                for place, tree in self._trees(batch, decoded, *self.label(parameters, states, decoded.heads)):
                    found[place].append(tree._replace(tags=tags.get(place)))
        return found

    def batches(self, sentences: Sequence[Sentence]) -> Iterator[Batch]:
        """Every sentence in one batch, in planned shapes or in free ones."""
        if self.shapes is None:
            return free_batches(sentences, self.vocabulary, self.features)
        return iter(batches(sentences, self.vocabulary, shapes=self.shapes, features=self.features))

    def _trees(
        self, batch: Batch, decoded: Decoded, labels: jax.Array, probabilities: jax.Array
    ) -> Iterator[tuple[int, Tree]]:
        """The batch's sentences, by their places, with their trees."""
        confidences = _confidences(batch, decoded, probabilities)
        trees = rows(batch, np.asarray(decoded.heads))
        for (place, heads), (_, relations) in zip(trees, rows(batch, np.asarray(labels)), strict=True):
            yield place, Tree(heads, self.vocabulary.relations(heads, relations), confidences.get(place))

    def _tags(self, batch: Batch, numbers: Sequence[jax.Array]) -> dict[int, Tags]:
        names = self.vocabulary.upos, self.vocabulary.xpos, self.vocabulary.lemmas
        tables = [dict(rows(batch, np.asarray(table))) for table in numbers]
        found = {}
        for place in tables[0]:
            upos, full, lemmas = (
                tuple(entries[number] for number in table[place]) for entries, table in zip(names, tables, strict=True)
            )
            xpos, feats = zip(*(tag.split("|", 1) for tag in full), strict=True)
            found[place] = Tags(upos, xpos, feats, lemmas)
        return found

    @property
    def compiling(self) -> float:
        """Seconds spent so far in compiling."""
        return sum(program.seconds for program in (self.score, self.label, self.tag, *self.decoder.programs))

    @property
    def scoring(self) -> float:
        """Seconds spent so far in scoring and labelling."""
        return self.score.spent + self.label.spent

    @property
    def decoding(self) -> float:
        """Seconds spent so far in finding trees and their probabilities."""
        return sum(program.spent for program in self.decoder.programs)


def _confidences(batch: Batch, decoded: Decoded, probabilities: jax.Array) -> dict[int, Confidence]:
    """Those of a batch, by the sentence's place; none where they were not asked for."""
    if decoded.arcs is None or decoded.trees is None:
        return {}
    tables = decoded.arcs, decoded.trees[:, None], probabilities
    arcs, trees, relations = (dict(rows(batch, np.asarray(table))) for table in tables)
    return {place: Confidence(arcs[place], float(trees[place][0]), relations[place]) for place in arcs}

"""The vectors in context of many sentences: each distinct form is spelled once, and lines are filled with sentences."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from structdep_parser.data.batch import Forms, Lines, TreeBatch
from structdep_parser.data.conllu import Sentence
from structdep_parser.data.encoding import Encoded, in_lines, spelled
from structdep_parser.data.features import Features
from structdep_parser.data.lines import Room
from structdep_parser.data.shapes import FORM_WIDTH, few, rung
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.nn.compiled import Compiled
from structdep_parser.nn.model import Model
from structdep_parser.nn.stored_programs import part

WIDTH, WIDER = 64, 4
"""Places in a line, and how many times as many lines have for sentences that are too long."""
PLACES = 2560
"""In the lines that are read at once."""
FORM_LINES, FORMS_A_LINE = 64, 8
"""Lines of characters that are read at once, and how many forms they have at most, in the mean."""


class Reading:
    """Vectors in context of sentences: in `chunks` of lines, states, and what tags are predicted from if that is other.

    `where` `[sentences, 2]` has the chunk of each sentence, and the place of its root there.
    """

    def __init__(self, chunks: Sequence[list[jax.Array]], where: NDArray[np.int64]) -> None:
        self.chunks, self.where = chunks, where

    def states(self, batch: TreeBatch) -> NDArray[np.float32]:
        """Of a batch of these sentences, `[B, n+2, features]`, zeros behind the sentinel."""
        return self._of([tables[0] for tables in self.chunks], batch)

    def tag_states(self, batch: TreeBatch) -> NDArray[np.float32]:
        """What its tags are predicted from, as `states`."""
        return self._of([tables[-1] for tables in self.chunks], batch)

    def _of(self, chunks: Sequence[jax.Array], batch: TreeBatch) -> NDArray[np.float32]:
        tables = [np.asarray(chunk) for chunk in chunks]
        rows, words = batch.heads.shape
        found = np.zeros((rows, words + 2, tables[0].shape[1]), np.float32)
        for row, index, length in zip(found, np.asarray(batch.index), np.asarray(batch.lengths), strict=True):
            if index >= 0:
                chunk, root = self.where[index]
                row[: length + 2] = tables[chunk][root : root + length + 2]
        return found


class Reader:
    """Reads sentences with a model's encoder.

    Args:
        merge: makes the model of its weights.
        vocabulary: of the model.
        features: of words, where the model has such inputs.
        alone: each sentence has a line of its own, as the encoder's layers want it.
        identity: what the model depends on, if compiled programs are to be kept for other processes.
    """

    def __init__(
        self,
        merge: Callable[[Any], Model],
        vocabulary: Vocabulary,
        features: Features | None = None,
        alone: bool = False,
        identity: str = "",
    ) -> None:
        self.vocabulary, self.features, self.alone = vocabulary, features, alone

        def spell(parameters: Any, forms: Forms) -> jax.Array:
            return merge(parameters).encoder.characters(forms, None)

        def encode(parameters: Any, lines: Lines, spelled: jax.Array) -> list[jax.Array]:
            states, tag_states = merge(parameters).encoder(lines, spelled)
            tables = [states] if tag_states is states else [states, tag_states]
            return [table.reshape(-1, table.shape[-1]) for table in tables]

        self.spell, self.encode = Compiled(spell), Compiled(encode)
        self.spell.identity, self.encode.identity = part(identity, "spell"), part(identity, "encode")

    def __call__(self, parameters: Any, sentences: Sequence[Sentence]) -> Reading:
        where, chunks = np.zeros((len(sentences), 2), np.int64), list[list[jax.Array]]()
        if not sentences:
            return Reading(chunks, where)
        encoded = Encoded.of(sentences, self.vocabulary, self.features)
        vectors = self._spelled(parameters, encoded)
        for places, lines, width in _in_turn([len(sentence) for sentence in sentences], self.alone):
            made, _ = in_lines(encoded, places, lines, width)
            where[list(places)] = [(len(chunks), place) for place in places.values()]
            chunks.append(self.encode(parameters, made, vectors[np.asarray(made.form)]))
        return Reading(chunks, where)

    def _spelled(self, parameters: Any, encoded: Encoded) -> NDArray[np.float32]:
        """A vector for each form; that of number 0 is of none."""
        found: list[NDArray[np.float32]] = []
        for places in _forms_in_turn([len(form) for form in encoded.characters]):
            last = max(places.values()) // FORM_WIDTH
            lines = few(max(last + 1, -(-len(places) // FORMS_A_LINE)), FORM_LINES)
            forms = spelled(encoded, places, lines, FORMS_A_LINE * lines + 1)
            found.append(np.asarray(self.spell(parameters, forms))[1 : len(places) + 1])
        return np.concatenate([np.zeros_like(found[0][:1]), *found])

    @property
    def programs(self) -> tuple[Compiled, ...]:
        return self.spell, self.encode


def _forms_in_turn(lengths: Sequence[int]) -> Iterator[dict[int, int]]:
    """Places of the forms from number 1 on, for as many as are read at once."""
    places, room = dict[int, int](), Room(FORM_WIDTH, FORM_LINES)
    for form, length in enumerate(lengths[1:], start=1):
        place = room.put(length)
        if place is None or len(places) == FORM_LINES * FORMS_A_LINE:
            yield places
            places, room = {}, Room(FORM_WIDTH, FORM_LINES)
            place = _put(room, length)
        places[form] = place
    yield places


def _in_turn(lengths: Sequence[int], alone: bool) -> Iterator[tuple[Mapping[int, int], int, int]]:
    """Places of sentences' roots, for those that are read at once, and the number and width of their lines."""
    rest = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    while rest:
        width, most, members = _size(lengths, rest, alone)
        room = Room(width, None, alone)
        places = {number: _put(room, lengths[number] + 2) for number in members}
        rest = rest[len(members) :]
        for first in range(0, room.lines, most):
            lines = few(room.lines - first, most)
            own = range(first * width, (first + lines) * width)
            yield {n: place - own.start for n, place in places.items() if place in own}, lines, width


def _size(lengths: Sequence[int], rest: Sequence[int], alone: bool) -> tuple[int, int, Sequence[int]]:
    """The width of lines for the first, the most of them that are read at once, and the sentences that go with it."""
    if alone:
        shape = rung(lengths[rest[0]])
        return shape.words + 2, shape.sentences, rest[: shape.sentences]
    width = WIDTH
    while width < lengths[rest[0]] + 2:
        width *= WIDER
    narrower = 0 if width == WIDTH else width // WIDER
    return width, max(1, PLACES // width), [number for number in rest if lengths[number] + 2 > narrower]


def _put(room: Room, length: int) -> int:
    place = room.put(length)
    assert place is not None, (length, room.width)
    return place

"""What a model reads of many sentences: each distinct form is spelled once, and lines are filled with sentences."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from structdep_parser.data.batch import Forms, Lines, TreeBatch
from structdep_parser.data.conllu import Heads, Sentence
from structdep_parser.data.encoding import Encoded, in_lines, spelled
from structdep_parser.data.features import Features
from structdep_parser.data.lines import Room
from structdep_parser.data.shapes import FORM_WIDTH, few, rung
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.nn.compiled import Compiled
from structdep_parser.nn.model import Model, Read
from structdep_parser.nn.stored_programs import part

WIDTH, WIDER = 64, 4
"""Places in a line, and how many times as many lines have for sentences that are too long."""
PLACES = 2560
"""In the lines that are read at once."""
FORM_LINES, FORMS_A_LINE = 64, 8
"""Lines of characters that are read at once, and how many forms they have at most, in the mean."""


@dataclass(frozen=True)
class Chunk:
    """Lines that are read at once: what is read of them, and the places of the roots of sentences, by their numbers."""

    read: Read
    start: jax.Array
    roots: Mapping[int, int]

    def places(self, heads: Heads) -> NDArray[np.int32]:
        """The places of heads, `[lines, width]`, given those of all sentences: the root's where a head is not known, 0
        where no word is.
        """
        found = np.zeros(self.start.shape, np.int32)
        for number, root in self.roots.items():
            found.reshape(-1)[root + 1 : root + 1 + len(heads[number])] = root + np.maximum(heads[number], 0)
        return found

    def rows(self, table: jax.Array, lengths: Sequence[int]) -> Iterator[tuple[int, NDArray[Any]]]:
        """The numbers of sentences, and the part of a table `[lines, width, ..]` that is of their words."""
        flat = np.asarray(table).reshape(self.start.size, *table.shape[2:])
        for number, root in self.roots.items():
            yield number, flat[root + 1 : root + 1 + lengths[number]]


class Reading:
    """What is read of sentences of these lengths, in chunks."""

    def __init__(self, lengths: Sequence[int], chunks: Sequence[Chunk]) -> None:
        self.lengths, self.chunks = lengths, chunks
        self.where = {number: (chunk, root) for chunk in chunks for number, root in chunk.roots.items()}

    def of_trees(self, batch: TreeBatch) -> Any:
        """Vectors of a batch of these sentences for the scorer, `[B, n+2, ..]` each, zeros behind the sentinel."""
        rows, longest = batch.heads.shape
        members = [(row, number) for row, number in enumerate(np.asarray(batch.index).tolist()) if number >= 0]

        def gathered(*tables: NDArray[np.float32]) -> NDArray[np.float32]:
            found = np.zeros((rows, longest + 2, tables[0].shape[-1]), np.float32)
            for (row, number), table in zip(members, tables, strict=True):
                places, root = self.lengths[number] + 2, self.where[number][1]
                found[row, :places] = table[root : root + places]
            return found

        return jax.tree.map(gathered, *(self.where[number][0].read.words for _, number in members))

    def by_sentence(self, program: Callable[[Chunk], jax.Array]) -> list[NDArray[Any]]:
        """What a program finds for each chunk, `[lines, width, ..]`, by sentences: `[n, ..]` each."""
        found: dict[int, NDArray[Any]] = {}
        for chunk in self.chunks:
            found |= dict(chunk.rows(program(chunk), self.lengths))
        return [found[number] for number in range(len(self.lengths))]


class Reader:
    """Reads sentences with a model.

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

        def encode(parameters: Any, lines: Lines, spelled: jax.Array) -> Read:
            return merge(parameters).read(lines, spelled)

        self.spell, self.encode = Compiled(spell), Compiled(encode)
        self.spell.identity, self.encode.identity = part(identity, "spell"), part(identity, "encode")

    def __call__(self, parameters: Any, sentences: Sequence[Sentence]) -> Reading:
        lengths, chunks = [len(sentence) for sentence in sentences], list[Chunk]()
        if not sentences:
            return Reading(lengths, chunks)
        encoded = Encoded.of(sentences, self.vocabulary, self.features)
        vectors = self._spelled(parameters, encoded)
        for roots, lines, width in _in_turn(lengths, self.alone):
            made, _ = in_lines(encoded, roots, lines, width)
            read = self.encode(parameters, made, vectors[np.asarray(made.form)])
            # Trees take their rows from several chunks: on the host, where each is brought once.
            read = read._replace(words=jax.tree.map(np.asarray, read.words))
            chunks.append(Chunk(read, made.start, roots))
        return Reading(lengths, chunks)

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

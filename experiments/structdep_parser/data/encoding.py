"""Sentences as numbers, and their places in the arrays of a batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structdep_parser.data.batch import Forms, Gold, Lines, typed
from structdep_parser.data.conllu import Sentence
from structdep_parser.data.features import Features
from structdep_parser.data.lines import empty
from structdep_parser.data.shapes import FORM_WIDTH, LONGEST_FORM
from structdep_parser.data.vocabulary import Vocabulary, full_tags


@dataclass(frozen=True)
class Encoded:
    """Sentences as numbers: for each, words, forms (rows of `characters`, from 1), treebank, deprels, upos, xpos,
    lemmas and heads, as [8, n]."""

    rows: list[NDArray[np.int32]]
    characters: list[list[int]]
    features: Features | None
    feature_rows: list[NDArray[np.int64]]

    @classmethod
    def of(cls, sentences: Sequence[Sentence], vocabulary: Vocabulary, features: Features | None) -> "Encoded":
        forms = {form: number for number, form in enumerate(sorted({f for s in sentences for f in s.forms}), start=1)}
        characters = [vocabulary.form(shortened(form, LONGEST_FORM)) for form in forms]
        found = [features.rows(s) if s.rows is None else s.rows for s in sentences] if features else []
        return cls([_row(s, vocabulary, forms) for s in sentences], [[], *characters], features, found)


def _row(sentence: Sentence, vocabulary: Vocabulary, forms: dict[str, int]) -> NDArray[np.int32]:
    return np.array(
        [
            [vocabulary.word(form) for form in sentence.forms],
            [forms[form] for form in sentence.forms],
            [vocabulary.treebank(sentence.treebank) if vocabulary.treebanks else 0] * len(sentence),
            [vocabulary.deprel(deprel) for deprel in sentence.deprels],
            [vocabulary.upos_tag(tag) for tag in sentence.upos],
            [vocabulary.xpos_tag(tag) for tag in full_tags(sentence)],
            [vocabulary.lemma(lemma) for lemma in sentence.lemmas],
            sentence.heads,
        ],
        np.int32,
    )


def shortened(form: str, characters: int) -> str:
    """At most this many characters of a form, from both its ends.

    Example:
        >>> shortened("gasaiƕaina", 10), shortened("gasaiƕaina", 7)
        ('gasaiƕaina', 'gasaina')
    """
    tail = characters // 2
    return form if len(form) <= characters else form[: characters - tail] + form[len(form) - tail :]


def in_lines(encoded: Encoded, roots: Mapping[int, int], lines: int, width: int) -> tuple[Lines, Gold]:
    """Sentences whose roots have these places, with the numbers of their forms among all."""
    tables = np.full((8, lines * width), -1, np.int32)
    tables[:3] = 0
    start, table_rows = empty(lines, width), np.full(lines * width, -1, np.int64)
    for member, place in roots.items():
        row = encoded.rows[member]
        words = slice(place + 1, place + 1 + row.shape[1])
        tables[:, words], start.reshape(-1)[place : words.stop + 1] = row, place
        tables[-1, words] += np.where(row[-1] < 0, 0, place)
        if encoded.features is not None:
            table_rows[words] = encoded.feature_rows[member]
    features = (
        np.zeros((lines * width, 0), np.float32) if encoded.features is None else encoded.features.values(table_rows)
    )
    numbers, form, treebank, *gold = tables.reshape(8, lines, width)
    deprels, upos, xpos, lemmas, heads = gold
    made = Lines(*typed(numbers, form, treebank, start, features.reshape(lines, width, -1)))
    return made, Gold(*typed(heads, deprels, upos, xpos, lemmas))


def spelled(encoded: Encoded, places: Mapping[int, int], lines: int, types: int) -> Forms:
    """Forms whose first characters have these places, in rows from the second on."""
    characters, start = np.zeros((lines, FORM_WIDTH), np.int32), empty(lines, FORM_WIDTH)
    first, last = (np.zeros(types, np.int32) for _ in range(2))
    for number, (form, place) in enumerate(places.items(), start=1):
        own = encoded.characters[form]
        end = place + len(own)
        characters.reshape(-1)[place:end], start.reshape(-1)[place:end] = own, place
        first[number], last[number] = place, end - 1
    return Forms(*typed(characters, start, first, last))

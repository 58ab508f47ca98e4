"""The demonstration treebank: `--lang demo`, made on the spot from an invented language.

Why MH_4 wins here: a participle at the end of the clause belongs to the noun whose gender vowel it repeats, and an
object in front of everything may belong to the verb of the embedded clause. Both arcs pass over the main verb, whose
own arc comes from the root at the left, and cross it: no projective tree has them, however good the scores; MH_4 has.
"""

from collections.abc import Iterator
from pathlib import Path

import conllu
import numpy as np
from conllu.parser import DEFAULT_FIELDS

from experiments.demo_grammar import Grammar, Lexicon, Phrase, Word
from experiments.files import write_whole
from experiments.treebank import SPLITS, Treebank, in_folder

SIZES = {"train": 600, "dev": 100, "test": 100}
LENGTHS = range(4, 17)


def write_demo_treebank(folder: str | Path, seed: int = 1) -> Treebank:
    """Write demo-ud-{train,dev,test}.conllu to `folder`; the same seed gives the same files.

    Example:
        >>> import tempfile
        >>> from experiments.sentences import read
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     len(read(write_demo_treebank(folder).train))
        600
    """
    lexicon_rng, *split_rngs = np.random.default_rng(seed).spawn(1 + len(SPLITS))
    lexicon = Lexicon.invented(lexicon_rng)
    for split, rng in zip(SPLITS, split_rngs, strict=True):
        sentences = _sentences(Grammar(lexicon, rng), SIZES[split])
        text = "".join(_conllu(words, split, number) for number, words in enumerate(sentences, start=1))
        write_whole(Path(folder) / f"demo-ud-{split}.conllu", f"# an invented language, seed {seed}\n{text}")
    return in_folder("demo", Path(folder), "demo")


def _sentences(grammar: Grammar, count: int) -> Iterator[Phrase]:
    while count:
        words = grammar.sentence()
        if sum(not word.elided for word in words) in LENGTHS:
            yield words
            count -= 1


def _conllu(words: Phrase, split: str, number: int) -> str:
    ids = _ids(words)
    tokens = []
    for position, word in enumerate(words):
        if word.joined:
            tokens.append(_range(word, words[position + 1], ids[word]))
        tokens.append(_token(word, ids, last=position == len(words) - 1))
    comments = f"# sent_id = demo-{split}-{number}\n# text = {_text(words)}\n"
    return comments + conllu.TokenList(tokens).serialize()


WordId = int | tuple[int, str, int]


def _ids(words: Phrase) -> dict[Word, WordId]:
    """Numbers from 1; an elided word gets the number before it and .1."""
    ids: dict[Word, WordId] = {}
    last = 0
    for word in words:
        last += not word.elided
        ids[word] = (last, ".", 1) if word.elided else last
    return ids


def _token(word: Word, ids: dict[Word, WordId], last: bool) -> conllu.Token:
    head = ids[word.head] if word.head else 0
    values = dict.fromkeys(DEFAULT_FIELDS, "_") | {
        "id": ids[word],
        "form": word.form,
        "lemma": word.lemma,
        "upos": word.upos,
        "feats": word.feats,
        "misc": "SpaceAfter=No" if last else "_",
    }
    return conllu.Token(
        values | ({"deps": f"{head}:{word.deprel}"} if word.elided else {"head": head, "deprel": word.deprel})
    )


def _range(word: Word, following: Word, first: WordId) -> conllu.Token:
    assert isinstance(first, int)
    values = {"id": (first, "-", first + 1), "form": word.form + following.form}
    return conllu.Token(dict.fromkeys(DEFAULT_FIELDS, "_") | values)


def _text(words: Phrase) -> str:
    spoken = [word.form + ("" if word.joined else " ") for word in words[:-1] if not word.elided]
    return "".join(spoken).rstrip() + words[-1].form

"""The demonstration treebank: `--lang demo`, made on the spot from an invented language.

Why MH_4 wins here: a participle at the end of the clause belongs to the noun whose gender vowel it repeats, and an
object in front of everything may belong to the verb of the embedded clause. Both arcs pass over the main verb, whose
own arc comes from the root at the left, and cross it: no projective tree has them, however good the scores; MH_4 has.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from structdep_parser.choices import SPLITS
from structdep_parser.data.conllu_checks import COLUMNS
from structdep_parser.data.demo_grammar import Grammar, Lexicon, Phrase, Word
from structdep_parser.data.treebank import Treebank, in_folder
from structdep_parser.files import write_whole

SIZES = {"train": 600, "dev": 100, "test": 100}
LENGTHS = range(4, 17)


def write_demo_treebank(folder: str | Path, seed: int = 1) -> Treebank:
    """Write demo-ud-{train,dev,test}.conllu to `folder`; the same seed gives the same files.

    Example:
        >>> import tempfile
        >>> from structdep_parser.data.conllu import read
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
    lines = [f"# sent_id = demo-{split}-{number}", f"# text = {_text(words)}"]
    for position, word in enumerate(words):
        if word.joined:
            first, form = int(ids[word]), word.form + words[position + 1].form
            lines.append(_line(f"{first}-{first + 1}", form))
        lines.append(_word(word, ids, last=position == len(words) - 1))
    return "".join(f"{line}\n" for line in (*lines, ""))


def _ids(words: Phrase) -> dict[Word, str]:
    """Numbers from 1; an elided word gets the number before it and .1."""
    ids: dict[Word, str] = {}
    last = 0
    for word in words:
        last += not word.elided
        ids[word] = f"{last}.1" if word.elided else f"{last}"
    return ids


def _word(word: Word, ids: dict[Word, str], last: bool) -> str:
    head = ids[word.head] if word.head else "0"
    arc = ("_", "_", f"{head}:{word.deprel}") if word.elided else (head, word.deprel, "_")
    return _line(ids[word], word.form, word.lemma, word.upos, "_", word.feats, *arc, "SpaceAfter=No" if last else "_")


def _line(*columns: str) -> str:
    return "\t".join([*columns, *"_" * (COLUMNS - len(columns))])


def _text(words: Phrase) -> str:
    spoken = [word.form + ("" if word.joined else " ") for word in words[:-1] if not word.elided]
    return "".join(spoken).rstrip() + words[-1].form

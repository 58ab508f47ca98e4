"""The words, characters and tags of a training set, as numbers."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structdep_parser.data.conllu import Sentence
from structdep_parser.data.relations import OTHER, ROOT, fitted, is_root

PADDING, UNKNOWN = 0, 1
UNSEEN = -1
RESERVED = ("<padding>", "<unknown>")
UNNAMED = "this model was trained without names of treebanks (structdep train --train NAME=FILE ..)"


@dataclass(frozen=True)
class Vocabulary:
    """What a training set is made of; the position in each tuple is the number.

    `words` (those frequent enough) and `characters` begin with padding (0) and unknown (1). `deprels`, `upos`, `xpos`
    (language-specific tag and features, joined) and `lemmas` are classes to predict: only what training has; a value
    that it lacks is numbered -1, which equals no prediction. A relation _ is not known. `treebanks` are the names of
    those that were trained on together, in their order; there are none where the files have no names.

    Example:
        >>> words, characters, tags = (*RESERVED, "ik"), (*RESERVED, "i", "k"), ("Pp\\tCase=Acc", "Pp\\tCase=Nom")
        >>> vocabulary = Vocabulary(words, characters, ("nsubj", "root"), ("PRON",), tags, ("ik",))
        >>> vocabulary.word("ik"), vocabulary.word("akrs"), vocabulary.form("iki"), vocabulary.deprel("obj")
        (2, 1, [2, 3, 2], -1)
        >>> vocabulary.features, vocabulary.features_of_xpos
        (('Case=Acc', 'Case=Nom', 'Pp'), ((1, 0, 1), (0, 1, 1)))
    """

    words: tuple[str, ...]
    characters: tuple[str, ...]
    deprels: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    lemmas: tuple[str, ...]
    treebanks: tuple[str, ...] = ()

    @classmethod
    def of(cls, sentences: Sequence[Sentence], min_count: int = 5) -> "Vocabulary":
        """The vocabulary of a training set; words seen less than `min_count` times are unknown."""
        counts = Counter(form for sentence in sentences for form in sentence.forms)
        return cls(
            words=RESERVED + _sorted(form for form, count in counts.items() if count >= min_count),
            characters=RESERVED + _sorted(character for form in counts for character in form),
            deprels=_relations(sentences),
            upos=_sorted(tag for sentence in sentences for tag in sentence.upos),
            xpos=tuple(sorted({tag for sentence in sentences for tag in full_tags(sentence)}, key=_with_bar)),
            lemmas=_sorted(lemma for sentence in sentences for lemma in sentence.lemmas),
            treebanks=tuple(dict.fromkeys(sentence.treebank for sentence in sentences if sentence.treebank)),
        )

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Vocabulary":
        """The vocabulary that `to_dict` made `values` of, also after a way through JSON."""
        found = {name: tuple(entries) for name, entries in values.items()}
        if not any("\t" in tag for tag in found["xpos"]):  # an earlier model, of tags and features joined by a bar
            found["xpos"] = tuple(tag.replace("|", "\t", 1) for tag in found["xpos"])
        return cls(**found)

    def to_dict(self) -> dict[str, Any]:
        """The lists, fit for JSON."""
        return {name: list(entries) for name, entries in asdict(self).items()}

    def word(self, form: str) -> int:
        return self._numbers["words"].get(form, UNKNOWN)

    def form(self, form: str) -> list[int]:
        """The numbers of the form's characters."""
        return [self._numbers["characters"].get(character, UNKNOWN) for character in form]

    def deprel(self, deprel: str) -> int:
        return self._numbers["deprels"].get(deprel, UNSEEN)

    def relations(self, heads: Iterable[int], probabilities: NDArray[np.float32]) -> tuple[str, ...]:
        """The names of words' most probable relations, which fit their heads, from `[n, relations]`."""
        return fitted(heads, [self.deprels[number] for number in probabilities.argmax(-1)])

    def upos_tag(self, tag: str) -> int:
        return self._numbers["upos"].get(tag, UNSEEN)

    def xpos_tag(self, tag: str) -> int:
        return self._numbers["xpos"].get(tag, UNSEEN)

    def lemma(self, lemma: str) -> int:
        return self._numbers["lemmas"].get(lemma, UNSEEN)

    def treebank(self, name: str) -> int:
        """The number of a treebank: 0, that of the first, for no name.

        Raises:
            ValueError: there is none of this name.
        """
        if name and name not in self.treebanks:
            known = f"expected one of {', '.join(self.treebanks)}" if self.treebanks else UNNAMED
            raise ValueError(f"treebank {name}: {known}")
        return self._numbers["treebanks"].get(name, 0)

    @property
    def features(self) -> tuple[str, ...]:
        """The parts that the entries of `xpos` are made of: language-specific tags, and single features."""
        return _sorted(part for tag in self.xpos for part in _with_bar(tag).split("|"))

    @property
    def features_of_xpos(self) -> tuple[tuple[int, ...], ...]:
        """For each entry of `xpos`, 1 for every one of `features` that it has, 0 for the others."""
        names, parts = self.features, [_with_bar(tag).split("|") for tag in self.xpos]
        return tuple(tuple(int(name in own) for name in names) for own in parts)

    @cached_property
    def _numbers(self) -> dict[str, dict[str, int]]:
        return {name: {entry: number for number, entry in enumerate(entries)} for name, entries in asdict(self).items()}


def full_tags(sentence: Sentence) -> tuple[str, ...]:
    """The language-specific tag and the features of each word, joined by a TAB, which neither can hold.

    These are the finer of the two tagsets that the encoder learns to predict.
    """
    return tuple(map("\t".join, zip(sentence.xpos, sentence.feats, strict=True)))


def _with_bar(full_tag: str) -> str:
    """Tag and features joined as features are."""
    return full_tag.replace("\t", "|")


def _relations(sentences: Sequence[Sentence]) -> tuple[str, ...]:
    """Those that are known, and what stands for `root`, or for the others, where there is none."""
    known = {deprel for sentence in sentences for deprel in sentence.deprels if deprel != "_"}
    missing = {name for name in (ROOT, OTHER) if is_root(name) not in map(is_root, known)}
    return _sorted(known | missing)


def _sorted(entries: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(entries)))

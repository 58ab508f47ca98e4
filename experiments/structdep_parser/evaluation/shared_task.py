"""All metrics of the CoNLL 2018 shared task, also for files with other tokens, words and sentences than the gold file.

Zeman, D. et al. 2018. CoNLL 2018 Shared Task: Multilingual Parsing from Raw Text to Universal Dependencies.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from structdep_parser.data.conllu import Sentence
from structdep_parser.evaluation.alignment import Span, align, of_same_text
from structdep_parser.evaluation.conll18 import CONTENT

FUNCTIONAL = frozenset(("aux", "case", "cc", "clf", "cop", "det", "mark"))
# fmt: off
FEATURES = frozenset((
    "PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr", "Gender", "Animacy", "Number", "Case", "Definite",
    "Degree", "VerbForm", "Mood", "Tense", "Aspect", "Voice", "Evident", "Polarity", "Person", "Polite",
))
# fmt: on
"""The universal features, which alone count in UFeats and MLAS."""


@dataclass(frozen=True)
class Score:
    """The words that are right, and those of both files and of the alignment that count."""

    right: int
    gold: int
    system: int
    aligned: int | None = None

    @property
    def precision(self) -> float:
        return 100 * self.right / self.system if self.system else 0.0

    @property
    def recall(self) -> float:
        return 100 * self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        return 200 * self.right / (self.gold + self.system) if self.gold + self.system else 0.0

    @property
    def aligned_accuracy(self) -> float | None:
        """The share of aligned words that are right; None for tokens and sentences."""
        return None if self.aligned is None else 100 * self.right / self.aligned if self.aligned else 0.0


@dataclass(frozen=True)
class Columns:
    """The words of a file: their columns as the metrics see them, the place of each head in the file, and children."""

    upos: list[str]
    xpos: list[str]
    feats: list[str]
    lemmas: list[str]
    deprels: list[str]
    heads: list[int | None]
    functional: list[list[int]]
    """The places of a word's dependents with functional relations."""

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> "Columns":
        heads: list[int | None] = []
        for sentence in sentences:
            first = len(heads) - 1
            heads += [first + head if head else None for head in sentence.heads.tolist()]
        deprels = [deprel.split(":")[0] for s in sentences for deprel in s.deprels]
        functional: list[list[int]] = [[] for _ in heads]
        for place, (head, deprel) in enumerate(zip(heads, deprels, strict=True)):
            if head is not None and deprel in FUNCTIONAL:
                functional[head].append(place)
        upos, xpos, lemmas = (
            [tag for s in sentences for tag in getattr(s, name)] for name in ("upos", "xpos", "lemmas")
        )
        feats = [_universal(entry) for s in sentences for entry in s.feats]
        return cls(upos, xpos, feats, lemmas, deprels, heads, functional)


def _universal(feats: str) -> str:
    return "|".join(sorted(entry for entry in feats.split("|") if entry.split("=", 1)[0] in FEATURES))


Key = Callable[[Columns, int, Callable[[int | None], Any]], Any]
"""What has to be the same of two aligned words; the function gives the gold word that a word is aligned with."""
KEYS: Mapping[str, tuple[Key, bool]] = {
    "Words": (lambda own, word, gold: None, False),
    "UPOS": (lambda own, word, gold: own.upos[word], False),
    "XPOS": (lambda own, word, gold: own.xpos[word], False),
    "UFeats": (lambda own, word, gold: own.feats[word], False),
    "AllTags": (lambda own, word, gold: (own.upos[word], own.xpos[word], own.feats[word]), False),
    "Lemmas": (lambda own, word, gold: own.lemmas[word], False),
    "UAS": (lambda own, word, gold: gold(own.heads[word]), False),
    "LAS": (lambda own, word, gold: (gold(own.heads[word]), own.deprels[word]), False),
    "CLAS": (lambda own, word, gold: (gold(own.heads[word]), own.deprels[word]), True),
    "MLAS": (
        lambda own, word, gold: (
            *(gold(own.heads[word]), own.deprels[word], own.upos[word], own.feats[word]),
            [(gold(child), own.deprels[child], own.upos[child], own.feats[child]) for child in own.functional[word]],
        ),
        True,
    ),
    "BLEX": (lambda own, word, gold: (gold(own.heads[word]), own.deprels[word], own.lemmas[word]), True),
}
"""For each metric, the key, and whether content words alone count."""
NOT_ALIGNED = object()


def shared_task_scores(gold: Sequence[Sentence], system: Sequence[Sentence]) -> dict[str, Score]:
    """Tokens, sentences, words, and the metrics of `KEYS`; a gold lemma _ is right whatever was predicted.

    Raises:
        ValueError: the files are not of the same text.
    """
    there, here = of_same_text(gold, system)
    pairs = align(there.words, here.words)
    gold_columns, columns = Columns.of(gold), Columns.of(system)
    for one, other in pairs:
        if gold_columns.lemmas[one] == "_":
            columns.lemmas[other] = "_"
    scores = {"Tokens": _spans(there.tokens, here.tokens), "Sentences": _spans(there.sentences, here.sentences)}
    gold_of = {other: one for one, other in pairs}

    def own(word: int | None) -> Any:
        return word

    def aligned(word: int | None) -> Any:
        return None if word is None else gold_of.get(word, NOT_ALIGNED)

    for name, (key, content_alone) in KEYS.items():
        counted = [[deprel in CONTENT or not content_alone for deprel in c.deprels] for c in (gold_columns, columns)]
        found = [(one, other) for one, other in pairs if counted[0][one]]
        right = sum(key(gold_columns, one, own) == key(columns, other, aligned) for one, other in found)
        scores[name] = Score(right, sum(counted[0]), sum(counted[1]), len(found))
    return scores


def _spans(gold: Iterable[Span], system: Iterable[Span]) -> Score:
    there, here = list(gold), list(system)
    return Score(len(set(there) & set(here)), len(there), len(here))

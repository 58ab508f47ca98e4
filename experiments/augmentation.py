"""Training sentences made anew in each epoch: words are exchanged for others of the same kind."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from experiments.sentences import Sentence
from experiments.vocabulary import full_tags

OPEN = frozenset({"NOUN", "PROPN", "ADJ", "VERB"})
"""The universal tags of words that others can stand for; closed classes have constructions of their own."""

Kind = tuple[str, str, str]


class Exchange:
    """Exchanges some words of open classes for others with their tags, features and relation ("nonce" sentences).

    Trees stay; what is to be learned is that they do: from endings and places rather than from words known by heart.
    All forms of a kind are drawn as often, the rare ones, too.

    Args:
        sentences: where words are taken from.
        rate: the share of words of open classes that are drawn anew.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from experiments.demo_treebank import write_demo_treebank
        >>> from experiments.sentences import read
        >>> with TemporaryDirectory() as folder:
        ...     train = read(write_demo_treebank(folder).train)
        >>> made = Exchange(train, 0.5)(train[0], np.random.default_rng(1))
        >>> made.forms == train[0].forms, made.feats == train[0].feats, made.heads is train[0].heads
        (False, True, True)
    """

    def __init__(self, sentences: Sequence[Sentence], rate: float) -> None:
        words: dict[Kind, set[tuple[str, str]]] = defaultdict(set)
        for sentence in sentences:
            for kind, word in zip(_kinds(sentence), zip(sentence.forms, sentence.lemmas, strict=True), strict=True):
                words[kind].add(word)
        self.words = {kind: sorted(found) for kind, found in words.items() if kind[0] in OPEN}
        self.rate = rate

    def __call__(self, sentence: Sentence, rng: np.random.Generator) -> Sentence:
        """The sentence with other forms and lemmas; all else is as it was."""
        drawn = rng.random((2, len(sentence)))
        words = list(zip(sentence.forms, sentence.lemmas, strict=True))
        for place, kind in enumerate(_kinds(sentence)):
            if kind in self.words and drawn[0, place] < self.rate:
                words[place] = self.words[kind][int(drawn[1, place] * len(self.words[kind]))]
        forms, lemmas = zip(*words, strict=True)
        return replace(sentence, forms=forms, lemmas=lemmas)


def _kinds(sentence: Sentence) -> list[Kind]:
    return list(zip(sentence.upos, full_tags(sentence), sentence.deprels, strict=True))

"""Training sentences made anew in each epoch: subtrees give way to others of their kind."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structdep_parser.data.conllu import Heads, Sentence

SHOWN = ("Case", "Number", "Person", "VerbForm", "Mood")
"""Features by which a subtree shows what it is to others: what agrees with them, or is governed by them."""
MOST_WORDS = 12
"""Of a subtree that is put into other sentences: longer ones are clauses that would say too much."""
SINGLE = 0.3
"""How often single words give way, where larger subtrees do so once: else most exchanges would be of single words."""
SHRINK, GROW, SLACK = 0.7, 1.25, 4
"""A sentence keeps this share of its words at least, and gets so many times as many at most, and some more."""

Kind = tuple[str | None, ...]


@dataclass(frozen=True, eq=False)
class Subtree:
    """A word of a sentence with all that depends on it, the words from `start` up to `end`; places count from 0."""

    sentence: Sentence
    root: int
    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def kind(self) -> Kind:
        """What another has to share to stand here: treebank, and the root's relation, universal tag, shown features."""
        own = self.sentence
        feats = dict(part.split("=", 1) for part in own.feats[self.root].split("|") if "=" in part)
        return own.treebank, own.deprels[self.root], own.upos[self.root], *map(feats.get, SHOWN)


class Grafts:
    """Puts subtrees in the place of others with their relation, tag and features, in all sentences at once.

    So a parser learns from more sentences than there are, whose trees are known. (Subtree swapping: Dehouck,
    Gómez-Rodríguez 2020.) Only subtrees without gaps move, and those that come in are projective, so that a tree of a
    class, projective or mildly non-projective, stays one.

    Args:
        sentences: what is to be parsed.
        trees: what is to be learned, a tree for each sentence: its own, or the nearest of some class.
        rate: the share of subtrees that give way (of single words, fewer).

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from structdep_parser.data.demo_treebank import write_demo_treebank
        >>> from structdep_parser.data.conllu import read
        >>> with TemporaryDirectory() as folder:
        ...     train = read(write_demo_treebank(folder).train)
        >>> made, trees = Grafts(train, [sentence.heads for sentence in train], 0.5)(np.random.default_rng(1))
        >>> sum(new.forms != old.forms for new, old in zip(made, train)) > 300
        True
        >>> all(np.array_equal(sentence.heads, tree) for sentence, tree in zip(made, trees))
        True
    """

    def __init__(self, sentences: Sequence[Sentence], trees: Heads, rate: float) -> None:
        self.sentences, self.trees, self.rate = sentences, trees, rate
        self.longest = max(map(len, sentences))
        self.places: list[list[Subtree]] = []
        self.pool: dict[Kind, list[Subtree]] = defaultdict(list)
        for sentence, tree in zip(sentences, trees, strict=True):
            is_known = bool((sentence.heads >= 0).all())  # what is not has no subtrees to be moved
            whole = list(_whole(sentence)) if is_known else []
            self.places.append(_replaceable(sentence, tree, whole))
            for subtree in _projective(sentence, whole):
                if len(subtree) <= MOST_WORDS:
                    self.pool[subtree.kind].append(subtree)

    def __call__(self, rng: np.random.Generator) -> tuple[list[Sentence], Heads]:
        """All sentences and trees, changed at random."""
        pairs = zip(self.sentences, self.trees, self.places, strict=True)
        made = [_joined(sentence, tree, self._chosen(sentence, places, rng)) for sentence, tree, places in pairs]
        return [sentence for sentence, _ in made], [tree for _, tree in made]

    def _chosen(
        self, sentence: Sentence, places: Sequence[Subtree], rng: np.random.Generator
    ) -> list[tuple[Subtree, Subtree]]:
        """What gives way to what: no two that overlap, the largest first."""
        chosen: list[tuple[Subtree, Subtree]] = []
        words, least = len(sentence), SHRINK * len(sentence)
        most = min(self.longest, GROW * len(sentence) + SLACK)
        for old, drawn, which in zip(places, *rng.random((2, len(places))).tolist(), strict=True):
            if drawn >= self.rate * (1 if len(old) > 1 else SINGLE) or not (pool := self.pool.get(old.kind)):
                continue
            new = pool[int(which * len(pool))]
            size = words - len(old) + len(new)
            if least <= size <= most and all(old.end <= o.start or o.end <= old.start for o, _ in chosen):
                chosen.append((old, new))
                words = size
        return chosen


def _replaceable(sentence: Sentence, tree: NDArray[np.int32], whole: Sequence[Subtree]) -> list[Subtree]:
    """Of the subtrees without gaps those below a word that are in both trees the same, the largest first."""
    changed = np.flatnonzero(tree != sentence.heads).tolist()
    heads = tree.tolist()

    def is_the_same(subtree: Subtree) -> bool:
        inside = range(subtree.start, subtree.end)
        return all((word not in inside or word == subtree.root) and heads[word] - 1 not in inside for word in changed)

    found = [
        subtree
        for subtree in whole
        if sentence.heads[subtree.root] and sentence.upos[subtree.root] != "PUNCT" and is_the_same(subtree)
    ]
    return sorted(found, key=len, reverse=True)


def _projective(sentence: Sentence, whole: Sequence[Subtree]) -> Iterator[Subtree]:
    """Of the subtrees without gaps those of which all parts are so, too."""
    gaps = set(range(len(sentence))) - {subtree.root for subtree in whole}
    above = {ancestor for word in gaps for ancestor in _ancestors(sentence.heads, word)}
    yield from (subtree for subtree in whole if subtree.root not in above)


def _whole(sentence: Sentence) -> Iterator[Subtree]:
    """The subtrees without gaps."""
    words = range(len(sentence))
    start, end, size = list(words), [word + 1 for word in words], [0 for _ in words]
    for word in words:
        for root in _ancestors(sentence.heads, word):
            start[root], end[root], size[root] = min(start[root], word), max(end[root], word + 1), size[root] + 1
    for root in words:
        if end[root] - start[root] == size[root]:
            yield Subtree(sentence, root, start[root], end[root])


def _ancestors(heads: NDArray[np.int32], word: int) -> Iterator[int]:
    """The word, its head, the head of that, .."""
    while word >= 0:
        yield word
        word = int(heads[word]) - 1


def _joined(
    sentence: Sentence, tree: NDArray[np.int32], chosen: Sequence[tuple[Subtree, Subtree]]
) -> tuple[Sentence, NDArray[np.int32]]:
    """The sentence and its tree with each of these subtrees in the place of another."""
    if not chosen:
        return sentence, tree
    starts = {old.start: (old, new) for old, new in chosen}
    words: list[tuple[Sentence, int]] = []
    moved = np.zeros(len(sentence) + 1, np.int32)  # where each node is now, or the root of what took its place
    inner: list[tuple[int, int]] = []  # words that came in with their heads
    word = 0
    while word < len(sentence):
        stays = Subtree(sentence, word, word, word + 1)
        old, new = starts.get(word, (stays, stays))
        shift = len(words) - new.start
        moved[old.root + 1] = new.root + shift + 1
        own = range(new.start, new.end)
        inner += [(w + shift, int(new.sentence.heads[w]) + shift) for w in own if w != new.root]
        words += [(new.sentence, w) for w in own]
        word = old.end

    def heads(before: NDArray[np.int32]) -> NDArray[np.int32]:
        made = np.zeros(len(words), np.int32)
        stayed = moved[1:] > 0
        made[moved[1:][stayed] - 1] = moved[before[stayed]]
        for word, head in inner:
            made[word] = head
        return made

    columns = ("forms", "lemmas", "upos", "xpos", "feats", "deprels")
    values: dict[str, Any] = {name: tuple(getattr(source, name)[word] for source, word in words) for name in columns}
    if sentence.rows is not None:
        values["rows"] = np.array([source.rows[word] for source, word in words if source.rows is not None])
    return replace(sentence, heads=heads(sentence.heads), **values), heads(tree)

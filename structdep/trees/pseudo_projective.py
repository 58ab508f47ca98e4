"""Pseudo-projective trees: crossing arcs are lifted, and relations record from where (Nivre and Nilsson 2005).

A word whose arc crosses others is attached to the head of its head, and so on, until the tree is projective. The
relations then record where the head of a lifted word is, so that a parser of projective trees can learn them and
`decode` can search for the head:

| scheme | relation of a lifted word | relation of words on the way down to its head |
|---|---|---|
| head | `own|head's` | |
| path | `own|` | `own↓` |
| head+path | `own|head's` | `own↓` |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structdep.trees.heads import check_trees

Scheme = Literal["head", "path", "head+path"]
UP, DOWN = "|", "↓"


class Tree(NamedTuple):
    """A tree with relations, of one sentence.

    Args:
        heads: int32 `[n]`.
        deprels: the relation of each word.
    """

    heads: NDArray[np.int32]
    deprels: tuple[str, ...]


def lift(heads: ArrayLike) -> NDArray[np.int32]:
    """A projective tree: while arcs cross, the shortest arc that is not projective is lifted to the head of its head.

    Args:
        heads: a tree, int `[n]`.

    Returns:
        int32 `[n]`.

    Raises:
        TypeError, ValueError: heads that are no tree.

    References:
        Nivre and Nilsson 2005, Pseudo-projective dependency parsing.

    Example:
        >>> lift([3, 4, 0, 3]).tolist()
        [3, 3, 0, 3]
    """
    check_trees(heads)
    if np.ndim(heads) != 1:
        raise ValueError(f"heads have shape {np.shape(heads)}, expected [n]: those of one sentence")
    lifted = np.array(heads, np.int32)
    while len(words := _nonprojective(lifted)):
        word = words[np.argmin(np.abs(lifted[words - 1] - words))]
        lifted[word - 1] = lifted[lifted[word - 1] - 1]
    return lifted


def _nonprojective(heads: NDArray[np.int32]) -> NDArray[np.int64]:
    """The words between which and their heads stands something that these do not dominate."""
    dominates = _dominance(heads)
    ends = np.sort(np.stack([heads, np.arange(1, len(heads) + 1)]), axis=0)
    between = [dominates[head, left + 1 : right] for head, left, right in zip(heads, *ends, strict=True)]
    return 1 + np.flatnonzero([not all_.all() for all_ in between])


def _dominance(heads: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether each node is another one, or above it: bool `[n+1, n+1]`."""
    parents = np.concatenate([[0], heads])
    dominates, above = np.eye(len(parents), dtype=bool), parents
    while above.any():
        dominates[above, np.arange(len(parents))] = True
        above = parents[above]
    dominates[0] = True
    return dominates


def encode(heads: ArrayLike, deprels: Sequence[str], scheme: Scheme = "head") -> Tree:
    """The lifted tree, whose relations record what `decode` needs.

    Args:
        heads: a tree, int `[n]`.
        deprels: the relation of each word.
        scheme: "head", "path" or "head+path": what relations record; see `structdep.pseudo_projective`.

    Returns:
        `Tree(heads, deprels)`, projective.

    Raises:
        ValueError: heads that are no tree, another number of relations, a relation with `|` or `↓`, or an unknown
            scheme.

    References:
        Nivre and Nilsson 2005, Pseudo-projective dependency parsing.

    Example:
        >>> encode([3, 4, 0, 3], ["det", "case", "root", "obj"], "head+path")
        Tree(heads=array([3, 3, 0, 3], dtype=int32), deprels=('det', 'case|obj', 'root', 'obj↓'))
    """
    tree = _checked(heads, deprels, scheme)
    if marked := [deprel for deprel in deprels if UP in deprel or DOWN in deprel]:
        raise ValueError(
            f"relations must not hold {UP} or {DOWN}, as {marked[0]!r} does: they are the marks of lifted arcs"
        )
    lifted = lift(tree.heads)
    names = [*deprels]
    on_path = set()
    for word in 1 + np.flatnonzero(lifted != tree.heads):
        head = int(tree.heads[word - 1])
        names[word - 1] += UP + ("" if scheme == "path" else deprels[head - 1])
        while head != lifted[word - 1]:
            on_path.add(head)
            head = int(tree.heads[head - 1])
    if scheme != "head":
        names = [name + DOWN * (word in on_path) for word, name in enumerate(names, start=1)]
    return Tree(lifted, tuple(names))


def decode(heads: ArrayLike, deprels: Sequence[str], scheme: Scheme = "head") -> Tree:
    """The tree that an encoded tree stands for: each lifted word moves to the head that its relation records.

    Lifted words are taken from the top of the tree downwards and from left to right. The head of a lifted word is
    searched breadth-first below its present head: the first word with the recorded relation ("head"), the first one on
    a marked way ("head+path"), or the end of the first marked way ("path"). If there is none, the word stays; it is
    tried again when other words have moved.

    Args:
        heads: a tree, int `[n]`, such as a parser's.
        deprels: the relation of each word, as by `encode`.
        scheme: the scheme of the relations.

    Returns:
        `Tree(heads, deprels)`, with the relations that `encode` was given.

    Raises:
        ValueError: heads that are no tree, another number of relations, or an unknown scheme.

    References:
        Nivre and Nilsson 2005, Pseudo-projective dependency parsing.

    Example:
        >>> decode([3, 3, 0, 3], ["det", "case|obj", "root", "obj"])
        Tree(heads=array([3, 4, 0, 3], dtype=int32), deprels=('det', 'case', 'root', 'obj'))
    """
    tree = _checked(heads, deprels, scheme)
    found, labels = tree.heads.copy(), [_Label.of(deprel) for deprel in deprels]

    def is_placed(word: int) -> bool:
        head = _search(word, found, labels, scheme)
        found[word - 1] = found[word - 1] if head is None else head
        return head is not None

    waiting = [word for word in _below(tree.heads, 0) if labels[word - 1].head is not None]
    while placed := {word for word in waiting if is_placed(word)}:
        waiting = [word for word in waiting if word not in placed]
    return Tree(found, tuple(label.own for label in labels))


class _Label(NamedTuple):
    """A relation, that of the head to search (None if not lifted), and whether it lies on the way to such a head."""

    own: str
    head: str | None
    is_marked: bool

    @classmethod
    def of(cls, deprel: str) -> _Label:
        own, lifted, head = deprel.removesuffix(DOWN).partition(UP)
        return cls(own, head if lifted else None, deprel.endswith(DOWN))


def _search(word: int, heads: NDArray[np.int32], labels: Sequence[_Label], scheme: Scheme) -> int | None:
    """The head that a lifted word's mark means, below the head that it has."""

    def is_on_way(other: int) -> bool:
        return other != word and (scheme == "head" or labels[other - 1].is_marked)

    def is_head(other: int) -> bool:
        if scheme == "path":
            return next(_below(heads, other, is_on_way), None) is None
        return labels[other - 1].own == labels[word - 1].head

    return next(filter(is_head, _below(heads, int(heads[word - 1]), is_on_way)), None)


def _below(heads: NDArray[np.int32], top: int, enter: Callable[[int], bool] = bool) -> Iterator[int]:
    """The words below a node, breadth-first and from left to right, without those below one that is not entered."""
    level = [top]
    while level:
        level = [word for head in level for word in (1 + np.flatnonzero(heads == head)).tolist() if enter(word)]
        yield from level


def _checked(heads: ArrayLike, deprels: Sequence[str], scheme: Scheme) -> Tree:
    if scheme not in get_args(Scheme):
        raise ValueError(f"there is no scheme {scheme!r}, but {', '.join(get_args(Scheme))}")
    array = np.asarray(heads)
    if array.shape != (len(deprels),):
        raise ValueError(
            f"heads have shape {array.shape}, expected ({len(deprels)},): one for each relation of a sentence"
        )
    check_trees(array)
    return Tree(array.astype(np.int32), tuple(deprels))

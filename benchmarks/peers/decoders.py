"""Best trees by programs in C++ and Cython, a sentence at a time, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers.jax_libraries import ALL_TREES, MH4
from benchmarks.peers.turns import BEST_TREE, Query, Scores, Work


def chu_liu_edmonds(query: Query, scores: Scores) -> Work | None:
    """Its scores are by dependent first."""
    from ufal.chu_liu_edmonds import chu_liu_edmonds

    if query != Query(ALL_TREES, BEST_TREE):
        return None
    return one_by_one(lambda sentence: chu_liu_edmonds(sentence)[0], scores.swapaxes(1, 2))


def mh4(query: Query, scores: Scores) -> Work | None:
    """The decoder of Gómez-Rodríguez, Shi and Lee (2018)."""
    from acl18.mh4 import parse_mh4

    if query != Query(MH4, BEST_TREE):
        return None
    np.float = float  # type: ignore[attr-defined] # it has the name that numpy had until 1.24
    return one_by_one(parse_mh4, scores)


def one_by_one(best_tree: Callable[[Any], Any], scores: Scores) -> Work:
    """`best_tree` makes the heads of the root and of each word from scores in float64."""
    sentences = np.ascontiguousarray(scores.astype(np.float64))

    def run() -> list[Any]:
        return [best_tree(sentence) for sentence in sentences]

    return Work(lambda: run, lambda heads: np.asarray(heads)[:, 1:])

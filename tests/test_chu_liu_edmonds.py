"""The best of all trees against an implementation in C++ of Chu and Liu's and Edmonds's algorithm."""

import numpy as np
from numpy.typing import NDArray
from ufal.chu_liu_edmonds import chu_liu_edmonds

import structdep as sd
from structdep.spanning import all_trees
from structdep.trees import check_trees

WORDS = 60


def some_graphs(count: int, words: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Random graphs of 1 to `words` words; the first of them are whole, then ever more arcs are missing."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(count, words + 1, words + 1)).astype(np.float32)
    missing = rng.random(scores.shape) < np.linspace(-0.5, 0.5, count)[:, None, None]
    missing[:, 0] = False
    return np.where(missing, -np.inf, scores), rng.integers(1, words + 1, count)


def best_score(scores: NDArray[np.float32]) -> float:
    """The score of the best tree of one graph, in C++: `[dependent, head]`, NaN where there is no arc."""
    heads, score = chu_liu_edmonds(np.where(np.isneginf(scores), np.nan, scores).T.astype(np.float64))
    assert heads[0] == -1
    return float(score)


def score_of(scores: NDArray[np.float32], heads: NDArray[np.int32]) -> float:
    check_trees(heads)
    return float(scores.astype(np.float64)[heads, np.arange(1, len(heads) + 1)].sum())


def test_a_thousand_graphs() -> None:
    graphs, lengths = some_graphs(1000, WORDS, 0)
    found = np.asarray(sd.argmax(all_trees(), graphs, lengths))
    for scores, heads, length in zip(graphs, found, lengths, strict=True):
        own = np.ascontiguousarray(scores[: length + 1, : length + 1])
        np.testing.assert_allclose(score_of(own, heads[:length]), best_score(own), rtol=1e-6, atol=1e-5)


def test_graphs_with_a_single_root() -> None:
    """In C++, the best over all words as the only one below the root."""
    graphs, lengths = some_graphs(60, 12, 1)
    found = np.asarray(sd.argmax(all_trees(single_root=True), graphs, lengths))
    for scores, heads, length in zip(graphs, found, lengths, strict=True):
        own = scores[: length + 1, : length + 1]
        others = ~np.eye(length + 1, dtype=bool)[1:]
        rooted = [np.where(np.pad(other[None], [(0, length), (0, 0)]), -np.inf, own) for other in others]
        if np.isfinite(totals := np.array([best_score(scores) for scores in rooted])).any():
            assert (heads[:length] == 0).sum() == 1
            np.testing.assert_allclose(score_of(own, heads[:length]), np.nanmax(totals), rtol=1e-6, atol=1e-5)
        else:
            assert (heads[:length] == -1).all()

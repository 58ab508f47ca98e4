"""Trees for `benchmarks.each_tree_once`, all or random ones, and the classes that they are in, by plain searches."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

import structdep as sd
from structdep.trees import is_one_endpoint_crossing, is_projective, is_tree

Heads = NDArray[np.int32]
"""`[trees, words]`; all trees have the same number of words."""
Members = NDArray[np.bool_]

SHORTEST, LONGEST = 10, 40
"""Lengths of random trees, in words."""


def every_tree(words: int, first: int, last: int) -> Heads:
    """The trees with the numbers `first` to `last`-1 of the (n+1)^(n-1) trees of n words, decoded from Prüfer codes.

    The number's digits in base n+1 are the code: one node each time that the first leaf among the words is cut off. The
    root is never cut off, so the node next to the leaf is the leaf's head.
    """
    numbers = np.arange(first, last)
    code = numbers[:, None] // (words + 1) ** np.arange(words - 1) % (words + 1)
    rows, heads = np.arange(len(code)), np.zeros((len(code), words), np.int32)
    later = (code[:, :, None] == np.arange(1, words + 1)).sum(1)
    left = np.ones((len(code), words), bool)
    for step in range(words):
        leaf = np.argmax(left & (later == 0), 1)
        left[rows, leaf] = False
        if step < words - 1:
            heads[rows, leaf] = code[:, step]
            below = code[:, step] > 0
            later[rows[below], code[below, step] - 1] -= 1
    return heads


def random_trees(number: int, size: int) -> Heads:
    """The batch with this number: trees sampled from charts with random scores, and the same with one head changed.

    A third of the sampled trees are projective, a third of MH_4, a third 1-Endpoint-Crossing. Those of MH_4 come from
    the published rules. A changed tree is often in no class, or in one by chance.
    """
    words = SHORTEST + 7 * number % (LONGEST - SHORTEST + 1)
    rng = np.random.default_rng(number)
    third = -(-size // 6)
    scores = rng.normal(size=(third, LONGEST + 1, LONGEST + 1)).astype(np.float32)
    drawn = [_sampler(name)(scores, jax.random.key(number), np.full(third, words)) for name in SAMPLED]
    heads = np.concatenate([np.asarray(trees)[:, :words] for trees in drawn])
    changed, rows = heads.copy(), np.arange(len(heads))
    changed[rows, rng.integers(words, size=len(heads))] = rng.integers(words + 1, size=len(heads))
    return np.concatenate([heads, changed[np.asarray(is_tree(changed))]])[:size]


SAMPLED = {"projective": sd.charts.eisner(), "MH_4": sd.charts.mhk(4), "1EC": sd.charts.one_endpoint_crossing()}
"""The systems whose trees are sampled."""


@cache
def _sampler(name: str) -> Callable[..., Any]:
    return jax.jit(lambda scores, key, lengths: sd.sample(SAMPLED[name], scores, key, lengths))


def is_mh4(heads: Heads) -> Members:
    """Whether a tree is in MH_4: a search over the items of at most four heads that the tree's arcs allow.

    `two[:, a, d]` says that all words between the nodes a and d can get their heads within the item [a, d];
    `three[:, a, b, d]` says so of all these words but b. n+1 is a node that is no head.
    """
    last = heads.shape[1] + 1
    head = np.pad(heads, [(0, 0), (1, 1)], constant_values=-1)
    two = np.zeros((len(heads), last + 1, last + 1), bool)
    three = np.zeros((len(heads), last + 1, last + 1, last + 1), bool)
    for a in range(last):
        two[:, a, a + 1] = True
    for width in range(2, last + 1):
        for a in range(last + 1 - width):
            d = a + width
            inner = slice(a + 1, d)
            own = head[:, inner]
            under_ends = (own == a) | (own == d)
            under = own[:, None, :] == np.arange(a + 1, d)[:, None]  # [b, c]: c depends on b
            four = (
                two[:, a, inner, None] & three[:, inner, inner, d] | three[:, a, inner, inner] & two[:, None, inner, d]
            )
            first = (four & (under_ends[:, None, :] | under)).any(2)
            second = (four & (under_ends[:, :, None] | under.swapaxes(1, 2))).any(1)
            three[:, a, inner, d] = two[:, a, inner] & two[:, inner, d] | first | second
            two[:, a, d] = (three[:, a, inner, d] & under_ends).any(1)
    return two[:, 0, last]


CLASSES: dict[str, Callable[[Heads], Members]] = {
    "projective": is_projective,
    "projective with a single root": lambda heads: is_projective(heads) & ((heads == 0).sum(1) == 1),
    "MH_4": is_mh4,
    "1EC": is_one_endpoint_crossing,
}
"""By the name that systems give their class (`DeductionSystem.trees`)."""

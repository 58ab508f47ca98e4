"""How many heads of a tree the nearest tree of a class lacks: by search, which is short where few are lost.

Charts know it, too, but take long to compile, and as long for a tree that is in the class.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from heapq import heappop, heappush
from itertools import combinations

import jax.numpy as jnp

import structdep as sd
from structdep.trees import find_cycle

Forest = tuple[int, ...]
"""Items of MH_k: heads of neighbouring yields, from left to right."""


def lost_in_mhk(heads: Sequence[int], k: int, most: int | None = None) -> int:
    """The heads that no tree of MH_k has all of: how few are to be changed; `most` where it is as many, or more.

    Deduction in the order of cost (Knuth, 1977): an arc costs 1 if the tree lacks it, and all else is free.

    Example:
        >>> [lost_in_mhk([4, 4, 5, 0, 4], k) for k in (3, 4)]
        [1, 0]
    """
    end = len(heads) + 1
    most = len(heads) if most is None else most
    agenda: list[tuple[int, Forest]] = [(0, (word, word + 1)) for word in range(end)]
    costs: dict[Forest, int] = {}
    starting: defaultdict[int, list[Forest]] = defaultdict(list)
    ending: defaultdict[int, list[Forest]] = defaultdict(list)
    while agenda:
        cost, item = heappop(agenda)
        if item == (0, end):
            return cost
        if item in costs:
            continue
        costs[item] = cost
        starting[item[0]].append(item)
        ending[item[-1]].append(item)
        joined = [(cost + costs[other], item + other[1:]) for other in starting[item[-1]]]
        joined += [(cost + costs[other], other + item[1:]) for other in ending[item[0]]]
        linked = _linked(item, cost, heads)
        for more, conclusion in (*linked, *(new for new in joined if len(new[1]) <= k)):
            if more < most and conclusion not in costs:
                heappush(agenda, (more, conclusion))
    return most


def _linked(item: Forest, cost: int, heads: Sequence[int]) -> Iterator[tuple[int, Forest]]:
    """The items in which a head between the others has become a dependent of one of them: its own, if that is one."""
    for place in range(1, len(item) - 1):
        yield cost + (heads[item[place] - 1] not in item), item[:place] + item[place + 1 :]


def lost_in_one_endpoint_crossing(heads: Sequence[int]) -> int:
    """The heads that no 1-Endpoint-Crossing tree has all of: how few are to be changed.

    Example:
        >>> lost_in_one_endpoint_crossing([0, 0, 0, 1, 1]), lost_in_one_endpoint_crossing([0, 0, 0, 1, 2])
        (0, 1)
    """
    for lost in range(SEARCHED + 1):
        if any(_completed(heads, removed) for removed in set(_removals(heads, lost, set()))):
            return lost
    return _lost_in_chart(heads)


SEARCHED = 4
"""A chart takes less time than the search for trees that have lost more heads."""


def _lost_in_chart(heads: Sequence[int]) -> int:
    """The same, from the tree with the most of these heads; one program for some lengths."""
    words = len(heads)
    nodes = 16 * (words // 16 + 1) + 1
    own = jnp.zeros((nodes, nodes)).at[jnp.array(heads), jnp.arange(1, words + 1)].set(1)
    return words - round(float(sd.one_endpoint_crossing(own, jnp.array(words))))


def _removals(heads: Sequence[int], more: int, removed: Set[int]) -> Iterator[frozenset[int]]:
    """Words to be added to `removed`, so that the arcs of the others are of a 1-Endpoint-Crossing tree."""
    kept = [word for word in range(1, len(heads) + 1) if word not in removed]
    conflict = _conflict({word: heads[word - 1] for word in kept})
    if not conflict:
        yield from (frozenset({*removed, *words}) for words in combinations(kept, more))
    elif more:
        for word in conflict:
            yield from _removals(heads, more - 1, {*removed, word})


def _completed(heads: Sequence[int], removed: Set[int]) -> bool:
    """Whether the words removed can have other heads so that a 1-Endpoint-Crossing tree results.

    Until its turn comes, a word hangs on its neighbour: that arc crosses none.
    """

    def search(found: dict[int, int], to_do: list[int]) -> bool:
        if not to_do:
            return not find_cycle([found[word] for word in range(1, len(heads) + 1)])
        word, *others = to_do
        nearest = sorted({*range(len(heads) + 1)} - {word}, key=lambda head: abs(head - word))
        tried = (found | {word: head} for head in nearest)
        return any(search(arcs, others) for arcs in tried if not _conflict(arcs))

    words = range(1, len(heads) + 1)
    return search({word: word - 1 if word in removed else heads[word - 1] for word in words}, sorted(removed))


def _conflict(arcs: dict[int, int]) -> tuple[int, ...]:
    """Three words (of arcs word: head) of which one has to go: one's arc crosses the others', which share no node.

    Arcs that cross one arc and share a node, two by two, all share one: each has one end on either side of its ends.
    """
    ends = {word: (min(arc), max(arc)) for word, arc in ((word, (word, head)) for word, head in arcs.items())}
    for word, (left, right) in ends.items():
        crossing = [other for other, (l, r) in ends.items() if l < left < r < right or left < l < right < r]
        for pair in combinations(crossing, 2):
            if not set(ends[pair[0]]) & set(ends[pair[1]]):
                return word, *pair
    return ()

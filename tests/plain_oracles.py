"""Losses and published costs of transitions once more, in plain Python."""

from collections.abc import Iterator
from functools import cache

import numpy as np
from plain_transitions import Next, Plain, Tree, first, following, is_final

from structdep.trees import projective_order

SWAP = "arc_hybrid_swap"


@cache
def projective_ranks(gold: Tree) -> dict[int, int]:
    """The place of each word in projective order, the root last."""
    order = projective_order(np.array(gold)).tolist()
    return {word: rank for rank, word in enumerate([*order, 0], start=1)}


def in_training(c: Plain, gold: Tree, many_roots: bool = False) -> Next:
    """The transitions of arc-hybrid with swap that a static-dynamic oracle allows: swaps where, and only where, needed.

    With `many_roots` the root may have any number of dependents.
    """
    found, ranks = dict(following(SWAP, c)), projective_ranks(gold)
    if many_roots and c.stack and c.buffer == (0,):
        found["la"] = Plain(c.stack[:-1], c.buffer, c.made(0, c.stack[-1]))
    if c.stack and ranks[c.stack[-1]] > ranks[c.buffer[0]]:
        return {"swap": found["swap"]}
    return {name: after for name, after in found.items() if name != "swap"}


@cache
def training_loss(c: Plain, gold: Tree, many_roots: bool = False) -> int:
    """The fewest wrong heads after any run that training allows."""
    if is_final(c):
        return sum(a != b for a, b in zip(c.heads, gold, strict=True))
    return min(training_loss(after, gold, many_roots) for after in in_training(c, gold, many_roots).values())


Dependents = dict[int, frozenset[int]]


def training_costs(gold: Tree, many_roots: bool = False) -> Iterator[tuple[Plain, dict[str, int]]]:
    """Every configuration that training can reach, with the costs of de Lhoneux, Stymne and Nivre (2017, figure 1)."""
    words = range(1, len(gold) + 1)
    every = {i: frozenset(d for d in words if gold[d - 1] == i) for i in (0, *words)}
    seen = {first(SWAP, len(gold)): every}
    waiting = list(seen)
    while waiting:
        c = waiting.pop()
        steps = {name: _step(name, c, gold, seen[c]) for name in in_training(c, gold, many_roots)}
        yield c, {name: cost for name, (cost, _) in steps.items()}
        for name, after in in_training(c, gold, many_roots).items():
            assert seen.get(after, steps[name][1]) == steps[name][1]
            if after not in seen:
                seen[after] = steps[name][1]
                waiting.append(after)


def _step(name: str, c: Plain, gold: Tree, reachable: Dependents) -> tuple[int, Dependents]:
    """The cost of a transition, and the dependents that each node can still get afterwards."""
    b, after = c.buffer[0], dict(reachable)
    if name in ("la", "ra"):
        s = c.stack[-1]
        new, head = b if name == "la" else c.stack[-2], gold[s - 1]
        cost = len(reachable[s]) + (head != new and s in reachable[head])
        after[s], after[head] = frozenset(), after[head] - {s}
        return cost, after
    ranks, head = projective_ranks(gold), gold[b - 1]
    if name == "swap" or any(b < i and ranks[b] > ranks[i] for i in c.buffer[1:]):
        return 0, after
    below = c.stack[:-1]
    cost = len(reachable[b].intersection(c.stack)) + (head in below and b in reachable[head])
    if head in below:
        after[head] -= {b}
    after[b] -= set(c.stack)
    return cost, after


def arc_eager_costs(c: Plain, gold: Tree) -> dict[str, int]:
    """The costs of Goldberg and Nivre (2013) for arc-eager, of whose runs no tree is asked."""
    head = dict(enumerate(gold, start=1))
    s, b, later = c.stack[-1], (*c.buffer, None)[0], c.buffer[1:]
    from_s = sum(head[k] == s for k in c.buffer)
    into_stack = sum(head[k] == b and not c.has_head(k) for k in c.stack if k)
    costs = {"reduce": from_s}
    if b is not None:
        costs["la"] = from_s + (head.get(s) in later)
        costs["ra"] = (head[b] != s and head[b] in (*c.stack, *later)) + into_stack
        costs["shift"] = (head[b] in c.stack) + into_stack
    return costs

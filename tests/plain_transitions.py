"""Transition systems once more, in plain Python and one by one as their papers define them, to compare with."""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

Tree = tuple[int, ...]


class Plain(NamedTuple):
    """A configuration: stack, buffer, and for every word its head, -1 where it has none."""

    stack: tuple[int, ...]
    buffer: tuple[int, ...]
    heads: Tree

    def made(self, head: int, dependent: int) -> Tree:
        return (*self.heads[: dependent - 1], head, *self.heads[dependent:])

    def has_head(self, word: int) -> bool:
        return self.heads[word - 1] >= 0


Next = dict[str, Plain]


def first(name: str, words: int) -> Plain:
    sentence = tuple(range(1, words + 1))
    return (
        Plain((), (*sentence, 0), (-1,) * words) if name == "arc_hybrid_swap" else Plain((0,), sentence, (-1,) * words)
    )


def is_final(c: Plain) -> bool:
    return len(c.stack) + len(c.buffer) == 1


@cache
def following(name: str, c: Plain) -> Next:
    """What each legal transition leads to."""
    return {} if is_final(c) else RULES[name](c)


def arc_standard(c: Plain) -> Next:
    found = {}
    if c.buffer:
        found["shift"] = Plain((*c.stack, c.buffer[0]), c.buffer[1:], c.heads)
    if len(c.stack) > 1:
        *rest, i, j = c.stack
        found["ra"] = Plain((*rest, i), c.buffer, c.made(i, j))
        if i != 0:
            found["la"] = Plain((*rest, j), c.buffer, c.made(j, i))
    return found


def arc_standard_swap(c: Plain) -> Next:
    found = arc_standard(c)
    if len(c.stack) > 1 and 0 < c.stack[-2] < c.stack[-1]:
        *rest, i, j = c.stack
        found["swap"] = Plain((*rest, j), (i, *c.buffer), c.heads)
    return found


def arc_hybrid(c: Plain) -> Next:
    found = {}
    if c.buffer:
        found["shift"] = Plain((*c.stack, c.buffer[0]), c.buffer[1:], c.heads)
    if c.buffer and c.stack[-1] != 0:
        found["la"] = Plain(c.stack[:-1], c.buffer, c.made(c.buffer[0], c.stack[-1]))
    if len(c.stack) > 1:
        found["ra"] = Plain(c.stack[:-1], c.buffer, c.made(c.stack[-2], c.stack[-1]))
    return found


def arc_hybrid_swap(c: Plain) -> Next:
    found = {}
    b, *rest = c.buffer
    if b != 0:
        found["shift"] = Plain((*c.stack, b), tuple(rest), c.heads)
    if c.stack and (len(c.stack) == 1 or b != 0):
        found["la"] = Plain(c.stack[:-1], c.buffer, c.made(b, c.stack[-1]))
    if len(c.stack) > 1:
        found["ra"] = Plain(c.stack[:-1], c.buffer, c.made(c.stack[-2], c.stack[-1]))
    if c.stack and len(c.buffer) > 1 and c.stack[-1] < b:
        found["swap"] = Plain(c.stack[:-1], (b, c.stack[-1], *rest), c.heads)
    return found


def unrestricted_arc_eager(c: Plain) -> Next:
    """As it was published: its runs may end with words that have no head."""
    found = {}
    s = c.stack[-1]
    if c.buffer:
        b, *rest = c.buffer
        found["shift"] = Plain((*c.stack, b), tuple(rest), c.heads)
        found["ra"] = Plain((*c.stack, b), tuple(rest), c.made(s, b))
        if s != 0 and not c.has_head(s):
            found["la"] = Plain(c.stack[:-1], c.buffer, c.made(b, s))
    if s != 0 and c.has_head(s):
        found["reduce"] = Plain(c.stack[:-1], c.buffer, c.heads)
    return found


@cache
def leads_to_a_tree(c: Plain) -> bool:
    return is_final(c) or any(map(leads_to_a_tree, unrestricted_arc_eager(c).values()))


def arc_eager(c: Plain) -> Next:
    """The transitions after which a tree can still be had."""
    return {name: after for name, after in unrestricted_arc_eager(c).items() if leads_to_a_tree(after)}


def mh4(c: Plain) -> Next:
    found = {}
    if c.buffer:
        found["shift"] = Plain((*c.stack, c.buffer[0]), c.buffer[1:], c.heads)
    b0, s0, s1, s2 = (*c.buffer[:1], *[None] * (1 - len(c.buffer[:1])), *c.stack[::-1], None, None)[:4]
    arcs = {"la": (b0, s0), "ra": (s1, s0), "la'": (s0, s1), "ra'": (s2, s1), "la2": (b0, s1), "ra2": (s2, s0)}
    for name, (head, dependent) in arcs.items():
        if head is not None and dependent:
            stack = tuple(node for node in c.stack if node != dependent)
            found[name] = Plain(stack, c.buffer, c.made(head, dependent))
    return found


RULES = {f.__name__: f for f in (arc_standard, arc_standard_swap, arc_hybrid, arc_hybrid_swap, arc_eager, mh4)}


def reachable(name: str, words: int) -> Iterator[Plain]:
    """All configurations of sentences of so many words."""
    seen = {first(name, words)}
    waiting = list(seen)
    while waiting:
        c = waiting.pop()
        yield c
        new = set(following(name, c).values()) - seen
        seen |= new
        waiting += new


@cache
def trees(name: str, c: Plain) -> frozenset[Tree]:
    """The trees that a configuration can still become."""
    if is_final(c):
        return frozenset({c.heads})
    return frozenset().union(*(trees(name, after) for after in following(name, c).values()))


def loss(name: str, c: Plain, gold: Tree) -> int:
    """The fewest wrong heads that a configuration can still end with."""
    return min(sum(a != b for a, b in zip(tree, gold, strict=True)) for tree in trees(name, c))

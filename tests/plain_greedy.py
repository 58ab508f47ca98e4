"""Greedy inference over sets of arcs and of parts, step by step as it was published: slow, and easy to check."""

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

Arc = tuple[int, int]
Tree = frozenset[Arc]
Parts = dict[Tree, float]


def parts_of(scores: Mapping[str, Any]) -> Parts:
    """The parts of one sentence, from its tables: arcs, chains of two, pairs of siblings."""
    nodes = range(len(scores["arc"]))
    arcs = [(h, d) for h, d in product(nodes, nodes) if d and h != d and scores["arc"][h][d] > -math.inf]
    parts = {frozenset([(h, d)]): float(scores["arc"][h][d]) for h, d in arcs}
    for (g, h), (k, d) in product(arcs, arcs):
        if h == k and g != d:
            parts[frozenset([(g, h), (h, d)])] = float(scores["grandparent"][g][h][d])
        if g == k and h < d:
            parts[frozenset([(g, h), (k, d)])] = float(scores["sibling"][g][h][d])
    return parts


def arcs_of(heads: Any) -> Tree:
    return frozenset((int(head), word) for word, head in enumerate(heads, start=1))


def heads_of(tree: Tree) -> list[int]:
    return [head for head, _ in sorted(tree, key=lambda arc: arc[1])]


def score(parts: Parts, tree: Tree) -> float:
    return sum(weight for part, weight in parts.items() if part <= tree)


def lies_below(arcs: Tree, node: int, top: int) -> bool:
    heads = {d: h for h, d in arcs}
    while node != top and node in heads:
        node = heads[node]
    return node == top


def lost_arcs(graph: Tree, tree: Tree, arc: Arc, single_root: bool) -> Tree:
    """Arcs with the same dependent, and arcs that close a cycle; with a single root, arcs from it to other words."""
    new, is_root = tree | {arc}, single_root and arc[0] == 0
    return frozenset((x, y) for x, y in graph - new if y == arc[1] or lies_below(new, x, y) or (is_root and x == 0))


class Basic:
    """Algorithm 1."""

    def __init__(self, parts: Parts, single_root: bool = False) -> None:
        self.parts, self.single_root = parts, single_root

    def value(self, graph: Tree, tree: Tree, arc: Arc) -> float:
        lost = lost_arcs(graph, tree, arc, self.single_root)
        gain = sum(w for part, w in self.parts.items() if part <= tree | {arc} and not part <= tree)
        return sum(w for part, w in self.parts.items() if part <= graph and part & lost) - gain


class PartialPredictions:
    """Algorithm 2."""

    def __init__(self, parts: Parts, beta: float, gamma: float, single_root: bool = False) -> None:
        self.parts, self.gamma, self.single_root = parts, gamma, single_root
        weights = {arc: math.exp(beta * parts[frozenset([arc])]) for part in parts for arc in part}
        self.choice = {a: w / sum(x for b, x in weights.items() if b[1] == a[1]) for a, w in weights.items()}

    def probability(self, part: Tree, tree: Tree) -> float:
        return math.prod(self.choice[arc] for arc in part - tree)

    def value(self, graph: Tree, tree: Tree, arc: Arc) -> float:
        lost = lost_arcs(graph, tree, arc, self.single_root)
        alive = [(part, w) for part, w in self.parts.items() if part <= graph]
        gain = sum(w * self.probability(part, tree | {arc}) for part, w in alive if arc in part)
        loss = sum(w * self.probability(part, tree) for part, w in alive if part & lost)
        return self.gamma * loss - (1 - self.gamma) * gain


def search(rule: Basic | PartialPredictions, words: int, beam: int = 1) -> Tree | None:
    """The best tree of the last beam; a beam holds different partial trees."""
    everything = frozenset(arc for part in rule.parts for arc in part)
    hypotheses = [(0.0, everything, frozenset[Arc]())]
    for _ in range(words):
        options = []
        for value, graph, tree in hypotheses:
            for arc in sorted(a for a in graph - tree if a[1] not in {d for _, d in tree}):
                rest = graph - lost_arcs(graph, tree, arc, rule.single_root)
                options.append((value + rule.value(graph, tree, arc), rest, tree | {arc}))
        hypotheses = []
        for option in sorted(options, key=lambda option: option[0]):
            if len(hypotheses) < beam and option[2] not in [tree for *_, tree in hypotheses]:
                hypotheses.append(option)
    return max((tree for *_, tree in hypotheses), key=lambda tree: score(rule.parts, tree), default=None)


def swaps(tree: Tree, allowed: Tree, single_root: bool) -> Iterator[Tree]:
    """All trees that one swap of a word's head leads to."""
    heads = {d: h for h, d in tree}
    for new, word in sorted(arc for arc in allowed - tree if arc[0] or not single_root):
        old, moved = heads[word], set[Arc]()
        if lies_below(tree, new, word):
            way = new
            while heads[way] != word:
                way = heads[way]
            moved = {(word, way)}
        swapped = tree - {(old, word)} - moved | {(new, word)} | {(old, d) for _, d in moved}
        if swapped <= allowed:
            yield swapped


def improved(parts: Parts, tree: Tree, times: int, single_root: bool = False) -> Tree:
    allowed = frozenset(arc for part in parts for arc in part)
    for _ in range(times):
        tree = max([tree, *swaps(tree, allowed, single_root)], key=lambda tree: score(parts, tree))
    return tree

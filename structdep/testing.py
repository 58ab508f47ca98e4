"""A reference interpreter of deduction systems: slow, in pure Python, independent of the engines.

It follows the definition in `DeductionSystem`. `forest` lists every step that a system allows over n words: a rule at
certain nodes. `evaluate` computes the value in a semiring of Python values, by a memoized recursion over these steps;
enumeration is the same recursion with derivations as values. Test a system of your own by `derivations`, and an engine
by `value` and `expected_counts`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from itertools import product
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structdep.deduction import Atom, DeductionSystem

V = TypeVar("V")
Nodes = tuple[int, ...]
Cell = tuple[str, Nodes]
"""An item at its nodes, `("I", (0, 2))`."""
Use = tuple[str, Nodes]
"""A score at its nodes, `("arc", (head, dependent))`."""
Step = tuple[tuple[Cell, ...], tuple[Use, ...]]
"""The premises and the scores of a rule at its nodes."""
Forest = Mapping[Cell, list[Step]]
"""Every item that can be derived, with all the steps that conclude it."""
Derivation = tuple[Use, ...]
"""The scores that a derivation multiplies, sorted."""
Scores = ArrayLike | Mapping[str, ArrayLike]
"""Arc scores, or score tables by name."""


@dataclass(frozen=True)
class Values(Generic[V]):
    """A semiring of Python values, for `evaluate`.

    Args:
        zero: the identity of `plus`.
        one: the identity of `times`.
        plus: the sum of two values.
        times: the product of two values.

    Example:
        >>> from structdep.charts import eisner
        >>> evaluate(eisner(), 2, MAX, lambda use: 1.0)
        2.0
    """

    zero: V
    one: V
    plus: Callable[[V, V], V]
    times: Callable[[V, V], V]


def _join(left: Counter[Derivation], right: Counter[Derivation]) -> Counter[Derivation]:
    joined: Counter[Derivation] = Counter()
    for (a, times_a), (b, times_b) in product(left.items(), right.items()):
        joined[tuple(sorted(a + b))] += times_a * times_b
    return joined


MAX: Values[float] = Values(-math.inf, 0.0, max, lambda a, b: a + b)
"""The score of the best derivation."""
LOG: Values[float] = Values(-math.inf, 0.0, lambda a, b: float(np.logaddexp(a, b)), lambda a, b: a + b)
"""The logarithm of the summed exponentials of all derivations' scores."""
DERIVATIONS: Values[Counter[Derivation]] = Values(Counter(), Counter({(): 1}), lambda a, b: a + b, _join)
"""The derivations themselves, and how many use the same scores."""


@lru_cache(maxsize=256)
def forest(system: DeductionSystem, n: int) -> Forest:
    """All items that can be derived over n words, with the steps that derive them.

    Args:
        system: a deduction system.
        n: the number of words.

    Returns:
        From each item at its nodes, ("I", (0, 2)), to its steps: the premises and the scores of a rule, at their nodes.
    """
    rules = [(atoms, rule.conclusion) for rule in system.rules for atoms in rule.expand()]
    facts = {cell for axiom in system.axioms for cell in _axiom_cells(axiom, n + system.last)}
    axioms: list[tuple[Cell, Step]] = [(cell, ((), ())) for cell in sorted(facts)]
    derived = list(axioms)
    known: list[Cell] = []
    while known != (now := sorted({cell for cell, _ in derived})):
        known = now
        derived = axioms + [
            s for atoms, conclusion in rules for s in _rule_steps(atoms, conclusion, known, n, system.last)
        ]
    steps: dict[Cell, list[Step]] = {cell: [] for cell in known}
    for cell, step in derived:
        steps[cell].append(step)
    return steps


def _axiom_cells(axiom: Atom, last: int) -> Iterator[Cell]:
    names = sorted(axiom.variables)
    for nodes in product(range(last + 1), repeat=len(names)):
        cell = _at(axiom, dict(zip(names, nodes, strict=True)))
        if _item_exists(axiom, cell[1], last):
            yield cell


def _rule_steps(
    atoms: Sequence[Atom], conclusion: Atom, known: Sequence[Cell], n: int, sentinel: int
) -> Iterator[tuple[Cell, Step]]:
    """A rule without alternatives at all nodes where its premises are known, and its scores and conclusion exist."""
    premises, scores = [a for a in atoms if a.is_item], [a for a in atoms if not a.is_item]
    for bound in _matches(premises, known, {"": 0, "n": n}):
        free = sorted(conclusion.variables - bound.keys())  # a new position outside the span
        for nodes in product(range(n + sentinel + 1), repeat=len(free)):
            at = bound | dict(zip(free, nodes, strict=True))
            exists = _item_exists(conclusion, _at(conclusion, at)[1], n + sentinel)
            if exists and all(_score_exists(score, _at(score, at)[1], n) for score in scores):
                yield _at(conclusion, at), (tuple(_at(p, at) for p in premises), tuple(_at(s, at) for s in scores))


def _matches(premises: Sequence[Atom], known: Sequence[Cell], bound: dict[str, int]) -> list[dict[str, int]]:
    matches = [bound]
    for premise in premises:
        cells = [nodes for name, nodes in known if name == premise.symbol.name]
        matches = [m for at in matches for nodes in cells if (m := _match(premise, nodes, at))]
    return matches


def _match(atom: Atom, nodes: Nodes, at: dict[str, int]) -> dict[str, int] | None:
    found = dict(at)
    own = [(p.name, node - p.shift) for p, node in zip(atom.positions, nodes, strict=True)]
    fits = [found.setdefault(name, node) == node for name, node in own]
    return found if all(fits) else None


def _at(atom: Atom, at: Mapping[str, int]) -> Cell:
    return atom.symbol.name, tuple(at[p.name] + p.shift for p in atom.positions)


def _item_exists(item: Atom, nodes: Nodes, last: int) -> bool:
    """Whether these are nodes of the sentence, the inner ones in order within the span, an exterior one not."""
    start, end = (nodes[end] for end in item.ends)
    others = [node for number, node in enumerate(nodes) if number not in item.ends]
    inner, exterior = (others[:-1], others[-1]) if item.is_exterior else (others, start)
    ordered = [start, *inner, end]
    return ordered == sorted(ordered) and (exterior <= start or end <= exterior) and all(0 <= v <= last for v in nodes)


def _score_exists(score: Atom, nodes: Nodes, n: int) -> bool:
    """Whether these are nodes of the score's table and, for an arc, its dependent is a word and not its head."""
    is_arc = score.symbol.name == "arc"
    in_table = min(nodes) >= 0 and max(nodes) <= n + getattr(score.symbol, "sentinel", False)
    return in_table and not (is_arc and (nodes[1] == 0 or nodes[0] == nodes[1]))


def evaluate(system: DeductionSystem, n: int, semiring: Values[V], score: Callable[[Use], V]) -> V:
    """The value of the goal: the semiring sum over derivations of the product of the values of their scores.

    Args:
        system: a deduction system.
        n: the number of words.
        semiring: a semiring of Python values.
        score: a function from a score at its nodes, such as ("arc", (head, dependent)), to its value.

    Returns:
        The value; `semiring.zero` if there is no derivation.

    Example:
        >>> from structdep.charts import arc_hybrid
        >>> count = Values(0, 1, lambda a, b: a + b, lambda a, b: a * b)
        >>> [evaluate(arc_hybrid(), n, count, lambda use: 1) for n in range(1, 7)]
        [1, 3, 13, 67, 381, 2307]
    """
    steps = forest(system, n)

    @cache
    def inside(cell: Cell) -> V:
        products = [[*map(inside, premises), *map(score, uses)] for premises, uses in steps.get(cell, ())]
        return reduce(semiring.plus, [reduce(semiring.times, p, semiring.one) for p in products], semiring.zero)

    goal, ends = system.goal, {"": 0, "n": n}
    cells = [cell for cell in steps if cell[0] == goal.symbol.name and _match(goal, cell[1], ends) is not None]
    return reduce(semiring.plus, map(inside, cells), semiring.zero)


def derivations(system: DeductionSystem, n: int) -> Counter[Nodes]:
    """The trees of n words that the system derives, with the number of derivations of each.

    Args:
        system: a deduction system.
        n: the number of words.

    Returns:
        From each tree, as a tuple of heads, to the number of its derivations.

    Raises:
        ValueError: a derivation gives some word no head, or several.

    Example:
        >>> from structdep.charts import mhk
        >>> sorted(derivations(mhk(3), 2).items())
        [((0, 0), 1), ((0, 1), 1), ((2, 0), 1)]
    """
    one = DERIVATIONS.one
    arcs = evaluate(system, n, DERIVATIONS, lambda use: Counter({(use,): 1}) if use[0] == "arc" else one)
    trees: Counter[Nodes] = Counter()
    for derivation, times in arcs.items():
        trees[_heads(derivation, n)] += times
    return trees


def value(system: DeductionSystem, n: int, scores: Scores, semiring: Values[float]) -> float:
    """The value of one sentence in `MAX` or `LOG`, by enumeration.

    Args:
        system: a deduction system.
        n: the number of words.
        scores: arc scores, `[n+1, n+1]`, or a mapping from names to tables, as for `structdep.inside`; they may be
            padded. Add scores of labels to arcs before: `scores["arc"] + logsumexp(scores["label"], -1)`.
        semiring: `MAX` or `LOG`.

    Returns:
        The best score, or the log-partition.

    Raises:
        ValueError: scores that the system does not declare.

    Example:
        >>> from structdep.charts import eisner
        >>> round(value(eisner(), 2, np.zeros((3, 3)), LOG), 4)  # log 3
        1.0986
    """
    tables = _tables(system, scores)
    return evaluate(system, n, semiring, lambda use: _score(tables, use))


def derivation_scores(system: DeductionSystem, n: int, scores: Scores) -> Iterator[tuple[Derivation, Nodes, float]]:
    """Every derivation of one sentence.

    Args:
        system: a deduction system.
        n: the number of words.
        scores: as for `value`.

    Yields:
        The scores that the derivation uses, at their nodes; the heads of its tree; the sum of its scores.

    Raises:
        ValueError: scores that the system does not declare.

    Example:
        >>> from structdep.charts import eisner
        >>> for used, heads, score in derivation_scores(eisner(), 1, np.ones((2, 2))):
        ...     print(used, heads, score)
        (('arc', (0, 1)),) (0,) 1.0
    """
    tables = _tables(system, scores)
    for derivation, times in evaluate(system, n, DERIVATIONS, lambda use: Counter({(use,): 1})).items():
        for _ in range(times):
            yield derivation, _heads(derivation, n), sum(_score(tables, use) for use in derivation)


def expected_counts(system: DeductionSystem, n: int, scores: Scores) -> dict[str, NDArray[np.float64]]:
    """The expected count of each score under p(derivation) ∝ exp(score), by enumeration: the marginals.

    Args:
        system: a deduction system.
        n: the number of words.
        scores: as for `value`.

    Returns:
        By name, an array of the shape of the score's table.

    Raises:
        ValueError: scores that the system does not declare.

    Example:
        >>> from structdep.charts import eisner
        >>> expected_counts(eisner(), 2, np.zeros((3, 3)))["arc"].round(2).tolist()
        [[0.0, 0.67, 0.67], [0.0, 0.0, 0.33], [0.0, 0.33, 0.0]]
    """
    tables = _tables(system, scores)
    listed = list(derivation_scores(system, n, scores))
    log_z = reduce(LOG.plus, (score for *_, score in listed), LOG.zero)
    expected = {name: np.zeros(table.shape) for name, table in tables.items()}
    for derivation, _, score in listed:
        for name, nodes in derivation:
            if name in expected and score > -math.inf:
                expected[name][nodes] += math.exp(score - log_z)
    return expected


def _tables(system: DeductionSystem, scores: Scores) -> dict[str, NDArray[np.float64]]:
    named = scores if isinstance(scores, Mapping) else {"arc": scores}
    if unknown := sorted(named.keys() - system.declared.keys()):
        raise ValueError(f"{system.name} has no scores {unknown}, it declares {sorted(system.declared)}")
    return {name: np.asarray(table, np.float64) for name, table in named.items()}


def _score(tables: Mapping[str, NDArray[np.float64]], use: Use) -> float:
    name, nodes = use
    return float(tables[name][nodes]) if name in tables else 0.0


def _heads(derivation: Derivation, n: int) -> Nodes:
    arcs = sorted((nodes[1], nodes[0]) for name, nodes in derivation if name == "arc")
    if [dependent for dependent, _ in arcs] != list(range(1, n + 1)):
        found = ", ".join(f"{head} -> {dependent}" for dependent, head in arcs)
        raise ValueError(f"a derivation does not give each of {n} words one head: its arcs are {found or 'none'}")
    return tuple(head for _, head in arcs)

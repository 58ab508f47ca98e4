"""Systems of one's own, by hand and at random: values, best derivations and derivatives are those of the rules."""

from __future__ import annotations

from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import LENGTHS, Tables, sentences, some_tables
from numpy.typing import NDArray

import structdep as sd
from structdep import groups, steps
from structdep.deduction import Atom, DeductionSystem, Item, Position, Product, Rule, Score, arc, either, indices, n
from structdep.testing import LOG, MAX, Values, value

i, j, k, m, x = indices("i j k m x")
I, A, E = Item("I"), Item("A"), Item("E")
V, W = (Item(name, family="state") for name in "VW")
S, T = (Item(name, family="inner") for name in "ST")
sibling, other = Score("sibling"), Score("other")

OWN_SCORE = DeductionSystem(
    "mine",
    axioms=(I[i, i + 1],),
    rules=(I[i, k] * I[k, j] * either(arc[i, k] * sibling[i, k, j], arc[j, k]) >> I[i, j],),
    goal=I[0, n + 1],
    scores=(arc, sibling),
)
"""Arc-hybrid with a score of its own, declared in three lines."""

TWO_AXIOMS = DeductionSystem(
    "steps",
    axioms=(A[i, i + 1], A[i, i + 2]),
    rules=(A[i, j] * arc[i, j] >> E[i, j], E[i, k] * A[k, j] * arc[i, j] >> E[i, j], E[i, k] * E[k + 1, j] >> A[i, j]),
    goal=E[0, n],
)
"""From the root to the last word by steps of one and two words, and longer ones: an item with axioms of two widths."""

AXIOM_ALONE = DeductionSystem(
    "one word", axioms=(A[i, i + 1],), rules=(A[i, k] * A[k, j] * arc[i, j] >> E[i, j],), goal=A[0, n]
)
"""A goal that no rule derives."""

ANY_MIDDLE = DeductionSystem(
    "any middle",
    axioms=(A[i, i + 1],),
    rules=(A[i, k] * A[k, j] * arc[i, j] >> A[i, j], A[i, k] * A[k, j] * arc[j, k] >> E[i, k, j]),
    goal=E[0, k, n],
)
"""A goal at any of its inner positions."""

STATES = DeductionSystem(
    "states",
    axioms=(A[i, i + 1],),
    rules=(
        A[i, j] * arc[i, j] >> V[i, j],
        V[i, k] * W[k, j] * arc[i, j] >> V[i, j],
        V[i, k] * V[k, j] * arc[i, j] >> V[i, j],
        V[i, j] * arc[j, i] >> W[i, j],
        V[i, j] >> E[i, j],
        E[i, j] * arc[j, i] >> W[i, j],
    ),
    goal=W[0, n],
)
"""Items of one family of which some need others first, at their own width: W needs V, and so does V + W, read by V."""

INNER_SUMS = DeductionSystem(
    "inner sums",
    axioms=(A[i, i + 1],),
    rules=(
        A[i, k] * A[k, j] * arc[i, k] >> S[i, k, j],
        S[i, k, j] * arc[j, k] >> T[i, k, j],
        S[i, m, k] * T[k, x, j] * arc[i, j] >> A[i, j],
        T[i, m, k] * A[k, j] >> E[i, j],
        E[i, j] >> A[i, j],
    ),
    goal=A[0, n],
)
"""Items of one family whose inner positions are summed before they meet another one."""


SHAPES = {
    "PP": [
        lambda d: d.scored(i, j, d.P[i, j]) >> d.P[i, j],
        lambda d: d.scored(i, j, d.P[i + 1, j]) >> d.P[i, j],
        lambda d: d.scored(i, j, d.P[i, j - 1]) >> d.P[i, j],
        *[lambda d: d.scored(i, j, k, d.P[i, k], d.P[k, j]) >> d.P[i, j]] * 3,
        lambda d: d.scored(i, j, k, d.P[i, k], d.P[k + 1, j]) >> d.P[i, j],
    ],
    "PT": [
        lambda d: d.scored(i, j, k, d.P[i, k], d.P[k, j]) >> d.T[i, k, j],
        lambda d: d.scored(i, j, k, d.T[i, k, j]) >> d.P[i, j],
        lambda d: d.scored(i, j, k, d.T[i, k, j]) >> d.T[i, k, j],
        lambda d: d.scored(i, j, m, d.T[i, m, k], d.P[k, j]) >> d.T[i, m, j],
        lambda d: d.scored(i, j, k, d.T[i, m, k], d.P[k, j]) >> d.T[i, k, j],
        lambda d: d.scored(i, j, m, d.P[i, k], d.T[k, m, j]) >> d.T[i, m, j],
        lambda d: d.scored(i, j, d.T[i, m, k], d.T[k, x, j]) >> d.P[i, j],
    ],
    "PX": [
        lambda d: d.P[i, j] * arc[x, j] >> d.X[i:j, x],
        lambda d: d.scored(i, j, x, d.X[i:j, x]) >> d.X[i:j, x],
        lambda d: d.scored(i, j, k, d.P[i, k], d.X[k:j, i]) >> d.P[i, j],
        lambda d: d.scored(i, j, k, d.X[i:k, j], d.P[k, j]) >> d.P[i, j],
        lambda d: d.scored(i, k, x, d.X[i:k, x], d.P[k, j]) >> d.X[i:j, x],
        lambda d: d.scored(j, k, x, d.P[i, k], d.X[k:j, x]) >> d.X[i:j, x],
        lambda d: d.scored(i, j, x, d.X[i:k, x], d.X[k:j, x]) >> d.X[i:j, x],
    ],
    "PTX": [
        lambda d: d.T[i, m, j] * arc[x, m] >> d.X[i:j, x],
        lambda d: d.scored(i, j, k, d.X[i:k, j], d.P[k, j]) >> d.T[i, k, j],
    ],
}
"""Rules over spans (P), with a node inside (T) or outside (X), by what they are of."""


class Draw:
    """Draws items, scores, rules and systems."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        named = self.random.random() < 0.6
        numbers = {"P": self.random.randint(2, 4), "T": self.random.randint(0, 2), "X": self.random.randint(0, 3)}
        self.items = {
            kind: [
                Item(f"{kind}{m}", exterior=kind == "X", family=kind if named and (kind, m) != ("P", 0) else "")
                for m in range(number)
            ]
            for kind, number in numbers.items()
        }
        self.shapes = [
            shape for kinds, shapes in SHAPES.items() if all(numbers[kind] for kind in kinds) for shape in shapes
        ]

    def __getattr__(self, kind: str) -> Item:
        return self.random.choice(self.items[kind])

    def scored(self, *of: Any) -> Product:
        """Some items with a score of two of the nodes that are given first, with a choice, with two, or with none."""
        nodes, items = [one for one in of if isinstance(one, Position)], [one for one in of if isinstance(one, Atom)]
        a, b = self.random.sample(nodes, 2)
        score = self.random.choice([arc, other])[a, b]
        choices: list[tuple[Any, ...]] = [(), (score,), (either(score, arc[b, a]),), (score, arc[b, a])]
        return Product((*items, *self.random.choice(choices)))

    def system(self) -> DeductionSystem:
        """As many rules as go together, of some that are tried."""
        first = self.items["P"][0]
        axioms = (first[i, i + 1], *self.random.choice([(), (), (first[i, i + 2],)]))
        goal = self.P[0, n + self.random.choice([0, 1])]
        rules: tuple[Rule, ...] = ()
        made = None
        for _ in range(40):
            tried = (*rules, self.random.choice(self.shapes)(self))
            used = {score.symbol for rule in tried for score in rule.scores}
            scores = (arc, *({other} & used))
            try:
                made = DeductionSystem("random", axioms, tried, goal, scores=scores)
            except ValueError:
                continue
            rules = tried
        return made or self.system()


OWN = {one.name: one for one in (OWN_SCORE, TWO_AXIOMS, AXIOM_ALONE, ANY_MIDDLE, STATES, INNER_SUMS)}
RANDOM = [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 100))]


@pytest.mark.parametrize("name", OWN)
def test_systems_by_hand(name: str) -> None:
    check(OWN[name])


@pytest.mark.parametrize("seed", RANDOM)
def test_systems_at_random(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other one in groups as large as can be, whose members are computed one after the other."""
    if seed % 2:
        monkeypatch.setattr(groups, "PADDING", 1.0)
        monkeypatch.setattr(steps, "IN_TURN", {"cpu": 0})
    check(Draw(seed).system())
    jax.clear_caches()  # programs that no other test needs: a hundred are more than a process can hold


def check(system: DeductionSystem) -> None:
    """Values in two semirings, the score of a best derivation, and how the log-sum changes in some direction."""
    tables = some_tables(system)
    direction = some_tables(system, seed=1)
    best = each_value(system, tables, MAX)
    exists = np.isfinite(best)
    found, used = value_and_uses(system, tables, sd.MaxPlus)
    np.testing.assert_allclose(found, best, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(inner(used, tables)[exists], best[exists], atol=1e-4)
    found, used = value_and_uses(system, tables, sd.LogSum)
    np.testing.assert_allclose(found, each_value(system, tables, LOG), rtol=2e-5, atol=2e-5)
    ahead, behind = (each_value(system, moved(tables, direction, step), LOG)[exists] for step in (1e-4, -1e-4))
    np.testing.assert_allclose(inner(used, direction)[exists], (ahead - behind) / 2e-4, atol=2e-3)


def value_and_uses(system: DeductionSystem, tables: Tables, kind: type[sd.Semiring]) -> tuple[Any, Any]:
    found, pull = jax.vjp(lambda t: sd.inside(system, t, LENGTHS, kind), jax.tree.map(jnp.asarray, tables))
    return found, pull(jnp.ones_like(found))[0]


def each_value(system: DeductionSystem, tables: Tables, reference: Values[float]) -> NDArray[np.float64]:
    return np.array([value(system, length, scores, reference) for length, scores in sentences(tables)])


def moved(tables: Tables, direction: Tables, step: float) -> Any:
    return {name: table.astype(np.float64) + step * direction[name] for name, table in tables.items()}


def inner(uses: Any, tables: Tables) -> NDArray[np.float64]:
    """Of each sentence, the sum of the scores that are used."""
    return np.sum([(uses[name] * table).reshape(len(table), -1).sum(-1) for name, table in tables.items()], axis=0)

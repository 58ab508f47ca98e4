"""What the reference interpreter says of a system, and whether an engine says the same."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

import structdep as sd
from structdep._engines.primitive import ask
from structdep._engines.query import Query
from structdep.deduction import NODE, DeductionSystem
from structdep.inference.scores import problem
from structdep.testing import DERIVATIONS, Use, Values, evaluate

Tables = dict[str, NDArray[np.float64]]
WORDS, LENGTHS, ALONE = 4, (4, 2, 3, 0, 1, 4, 3), 2  # no axis of a table is as long as the batch
GARBAGE = 7e3
MOST_LISTED = 300
"""Derivations of a sentence: fewer are listed one by one."""


@dataclass(frozen=True)
class Expected:
    """What the reference interpreter says of one sentence.

    Args:
        derivations: the score of each, by its uses; `numbers` counts those with the same uses.
    """

    count: int
    best: float
    log_sum: float
    counts: Tables
    derivations: dict[tuple[tuple[Use, int], ...], float]
    numbers: Counter[tuple[tuple[Use, int], ...]]


def expected(system: DeductionSystem, length: int, tables: Tables) -> Expected:
    """One pass for the number of derivations, the best, the sum, and the sum of each score's number of uses."""
    shapes = {name: table.shape for name, table in tables.items()}
    starts = dict(zip(shapes, np.cumsum([0, *(math.prod(shape) for shape in shapes.values())]), strict=False))
    size = sum(math.prod(shape) for shape in shapes.values())

    def score(use: Use) -> tuple[Any, ...]:
        value = tables[use[0]][use[1]]
        weight = np.exp(value)
        uses = np.zeros(size)
        uses[starts[use[0]] + np.ravel_multi_index(use[1], shapes[use[0]])] = weight
        return (int(weight > 0), value, weight, uses)

    numbers: Values[Any] = Values(
        (0, -math.inf, 0.0, np.zeros(size)),
        (1, 0.0, 1.0, np.zeros(size)),
        lambda a, b: (a[0] + b[0], max(a[1], b[1]), a[2] + b[2], a[3] + b[3]),
        lambda a, b: (a[0] * b[0], a[1] + b[1], a[2] * b[2], a[2] * b[3] + b[2] * a[3]),
    )
    count, best, total, uses = evaluate(system, length, numbers, score)
    mean = uses / total if count else uses
    counts = {name: mean[start:][: math.prod(shapes[name])].reshape(shapes[name]) for name, start in starts.items()}
    listed, numbers_of = {}, Counter[tuple[tuple[Use, int], ...]]()
    if count <= MOST_LISTED and evaluate(system, length, COUNT, lambda _: 1) <= MOST_LISTED:
        for uses_of, number in evaluate(system, length, DERIVATIONS, lambda use: Counter({(use,): 1})).items():
            value = sum(tables[name][nodes] for name, nodes in uses_of)
            if value > -math.inf:
                key = tuple(sorted(Counter(uses_of).items()))
                listed[key] = value
                numbers_of[key] += number
    return Expected(count, best, math.log(total) if count else -math.inf, counts, listed, numbers_of)


COUNT: Values[int] = Values(0, 1, lambda a, b: a + b, lambda a, b: a * b)


def random_tables(system: DeductionSystem, seed: int) -> Tables:
    """Scores of a batch, some of them forbidden, with garbage behind each sentence."""
    rng = np.random.default_rng(seed)
    tables = {}
    for name, (score, arity) in system.declared.items():
        table = rng.normal(size=(len(LENGTHS), *[WORDS + 1 + score.sentinel] * arity)).astype(np.float32)
        table = np.where(rng.random(table.shape) < 0.05, -np.inf, table)
        last = (np.array(LENGTHS) + score.sentinel).reshape(-1, *[1] * arity)
        behind = np.any([place > last for place in np.indices(table.shape)[1:]], axis=0)
        tables[name] = np.where(behind, GARBAGE, table).astype(np.float64)
    return tables


def sentence(system: DeductionSystem, tables: Tables, row: int) -> Tables:
    """One sentence without padding."""
    nodes = {name: LENGTHS[row] + 1 + score.sentinel for name, (score, _) in system.declared.items()}
    return {name: table[row][(slice(nodes[name]),) * (table.ndim - 1)] for name, table in tables.items()}


def check(system: DeductionSystem, dtype: Any = np.float32, seed: int = 0, alone: bool = True) -> None:
    """A padded batch and, if wanted, one of its sentences `alone` without padding."""
    tables = random_tables(system, seed)
    wanted = [expected(system, length, sentence(system, tables, row)) for row, length in enumerate(LENGTHS)]
    compare(system, tables, np.array(LENGTHS, np.int32), wanted, dtype)
    if alone:
        one = {name: table[None] for name, table in sentence(system, tables, ALONE).items()}
        compare(system, one, None, wanted[ALONE : ALONE + 1], dtype)


def answers(system: DeductionSystem, tables: Any, lengths: Any) -> Any:
    """The number of derivations; values, and how expected, best and drawn derivations use each score."""
    given = problem(system, tables, lengths)
    (scores, lengths), (ones, _) = given.lift(sd.LogSum()), given.lift(sd.Counting())
    return (
        ask(system, sd.LogSum(), Query.VALUE, ones, lengths)[0],
        ask(system, sd.LogSum(), Query.EXPECTED_COUNTS, scores, lengths),
        ask(system, sd.MaxPlus(), Query.BEST, scores, lengths),
        ask(system, sd.LogSum(), Query.SAMPLE, scores, lengths, key=jax.random.key(0)),
    )


def compare(system: DeductionSystem, tables: Tables, lengths: Any, wanted: list[Expected], dtype: Any) -> None:
    compiled = jax.jit(partial(answers, system))
    given = {name: jnp.asarray(table, dtype) for name, table in tables.items()}
    count, (value, uses), (best, best_uses), (_, drawn) = jax.tree.map(np.asarray, compiled(given, lengths))
    tolerance = 1e-9 if dtype == np.float64 else 2e-5
    near = {"rtol": tolerance, "atol": 20 * tolerance}
    np.testing.assert_allclose(np.exp(count), [one.count for one in wanted], rtol=100 * tolerance)
    np.testing.assert_allclose(value, [one.log_sum for one in wanted], **near)
    np.testing.assert_allclose(best, [one.best for one in wanted], **near)
    for row, one in enumerate(wanted):
        for name, table in one.counts.items():
            np.testing.assert_allclose(within(uses[name][row], table), table, **near)
            assert not behind(uses[name][row], table).any(), "counts behind the sentence"
        check_derivation({name: use[row] for name, use in best_uses.items()}, one, one.best)
        check_derivation({name: use[row] for name, use in drawn.items()}, one, None)


def check_one_root(system: DeductionSystem, dtype: Any, seed: int) -> None:
    """Values, expected counts and the best score in `SingleRoot`, in sentences whose derivations can be listed."""
    tables = random_tables(system, seed)
    lengths = np.array(LENGTHS, np.int32)
    given = {name: jnp.asarray(table, dtype) for name, table in tables.items()}
    value = sd.inside(system, given, lengths, sd.SingleRoot(sd.LogSum))
    best = sd.inside(system, given, lengths, sd.SingleRoot(sd.MaxPlus))
    counts = sd.marginals(system, given, lengths, semiring=sd.SingleRoot(sd.LogSum))
    for row, length in enumerate(LENGTHS):
        one = expected(system, length, sentence(system, tables, row))
        if bool(one.derivations) != bool(one.count):
            continue  # too many to be listed
        scores = {own: score for own, score in one.derivations.items() if roots(own) == 1}
        top = max(scores.values(), default=-math.inf)
        weights = {own: one.numbers[own] * math.exp(score - top) for own, score in scores.items()}
        total = sum(weights.values())
        np.testing.assert_allclose(best[row], top, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(value[row], top + math.log(total) if scores else -math.inf, rtol=1e-4, atol=1e-4)
        wanted = {name: np.zeros(table.shape[1:]) for name, table in tables.items()}
        for own, weight in weights.items():
            for (name, nodes), number in own:
                wanted[name][nodes] += number * weight / total
        for name, table in wanted.items():
            np.testing.assert_allclose(counts[name][row], table, rtol=1e-3, atol=1e-4)


def roots(uses: tuple[tuple[Use, int], ...]) -> int:
    """How many arcs from the root a derivation uses."""
    return sum(number for (name, nodes), number in uses if name == "arc" and nodes[0] == 0)


def within(table: NDArray[Any], like: NDArray[Any]) -> NDArray[Any]:
    return table[tuple(slice(size) for size in like.shape)]


def behind(table: NDArray[Any], like: NDArray[Any]) -> NDArray[Any]:
    rest = table.copy()
    rest[tuple(slice(size) for size in like.shape)] = 0
    return rest


def check_derivation(uses: Tables, one: Expected, best: float | None) -> None:
    """The uses are those of one derivation, of the best score where it is given."""
    found = tuple(
        sorted(
            ((name, tuple(map(int, nodes))), int(table[tuple(nodes)]))
            for name, table in uses.items()
            if name != NODE.name
            for nodes in np.argwhere(table)
        )
    )
    if not one.count:
        assert not found
    elif one.derivations:
        assert found in one.derivations, (found, list(one.derivations)[:5])
        if best is not None:
            np.testing.assert_allclose(one.derivations[found], best, rtol=1e-4, atol=1e-4)

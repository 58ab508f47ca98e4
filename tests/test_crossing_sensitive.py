"""Third-order 1-Endpoint-Crossing trees: the parts of each tree by their definition, values of known scores, uses."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import structdep as sd
from structdep.charts import crossing_sensitive
from structdep.testing import Use, derivation_scores
from structdep.trees import all_trees, crossing_arcs, is_one_endpoint_crossing

each_longest = pytest.mark.parametrize("longest", [5, pytest.param(9, marks=pytest.mark.slow)])
ENUMERATED = 5
LOG_Z = (2.183333, 3.647307, 7.078901, 8.977673, 11.382683, 14.996711, 16.88095, 19.697529, 22.898627)
BEST = (2.183333, 3.066667, 6.45, 7.65, 9.05, 11.05, 11.3, 14.0, 16.316667)
LOG_Z_ONE_ROOT = (2.183333, 3.134934, 6.180765, 8.611777, 9.627440, 13.622455, 16.025062, 19.174564, 21.517083)
BEST_ONE_ROOT = (2.183333, 3.066667, 5.566667, 7.65, 7.95, 10.316667, 11.3, 14.0, 16.066667)
Tables = dict[str, jax.Array]


def parts(heads: tuple[int, ...]) -> list[Use]:
    """The scores that a tree uses, sorted, by their definition."""
    n = len(heads)
    head_of = dict(enumerate(heads, 1))
    crossed = {m for m, crosses in enumerate(crossing_arcs(heads).tolist(), 1) if crosses}
    found: list[Use] = []
    for m, h in head_of.items():
        found.append(("arc", (h, m)))
        if m in crossed:
            found.append(("crossed", (h, m)))
            continue
        found.append(("uncrossed", (h, m)))
        between = [s for s, head in head_of.items() if head == h and min(h, m) < s < max(h, m)]
        nearest = min(between, key=lambda s: abs(s - m), default=None)
        if nearest is None:
            found.append(("first", (m,)))
        elif nearest not in crossed:
            found.append(("sibling", (nearest, m)))

        def around(node: int, h: int = h) -> int:
            return (node - h) % (n + 1)

        over = around(head_of[h]) if h else n + 1
        of_head = [m if head_of[m] == h else h_ for m, h_ in head_of.items() if m in crossed and h in (m, h_)]
        separated = any(min(around(m), over) < around(c) < max(around(m), over) for c in of_head)
        if not separated and h not in crossed:
            found.append(("grandparent", (head_of[h], m)) if h else ("top", (m,)))
    return sorted(found)


@pytest.mark.parametrize("length", [1, 2, 3, 4, pytest.param(5, marks=pytest.mark.slow)])
def test_each_tree_is_derived_once_from_its_parts(length: int) -> None:
    found = [(heads, list(used)) for used, heads, _ in derivation_scores(crossing_sensitive(), length, {})]
    assert sorted(found) == [(heads, parts(heads)) for heads in sorted(members(length))]


@cache
def members(length: int) -> list[tuple[int, ...]]:
    trees = all_trees(length)
    return [tuple(heads) for heads in trees[is_one_endpoint_crossing(trees)].tolist()]


@cache
def known_scores(longest: int) -> Tables:
    """Scores by formulas; what is beyond the sentence stands for a head's head or a sibling that is not there."""
    one = jnp.arange(longest + 1)
    h, m, beyond = one[:, None], one[None, :], jnp.arange(1, longest + 1)[:, None] + 1

    def grandparent(a: jax.Array) -> jax.Array:
        return ((3 * a * a + 5 * m + a * m) % 11) / 5 - 1

    def sibling(a: jax.Array) -> jax.Array:
        return ((2 * a * a + 7 * m + 3 * a * m) % 13) / 6 - 1

    tables = {
        "uncrossed": ((7 * h * h + 13 * m + 5 * h * m) % 17) / 4 - 2,
        "crossed": ((4 * h * h + 9 * m + 2 * h * m) % 19) / 5 - 1.5,
        "grandparent": grandparent(h),
        "sibling": sibling(h),
    }
    every = {name: jnp.broadcast_to(table, (longest, *table.shape)) for name, table in tables.items()}
    scores = every | {"top": grandparent(beyond), "first": sibling(beyond)}
    return {name: table.astype(jnp.float32) for name, table in scores.items()}


@cache
def random_scores(longest: int) -> Tables:
    known = known_scores(longest)
    keys = jax.random.split(jax.random.key(0), len(known))
    return {name: jax.random.normal(key, t.shape) for key, (name, t) in zip(keys, known.items(), strict=True)}


def lengths_of(scores: Tables) -> NDArray[np.int64]:
    return np.arange(1, len(scores["first"]) + 1)


def value_and_uses(scores: Tables, semiring: type[sd.Semiring]) -> tuple[jax.Array, Tables]:
    """Of each sentence, by one program: it takes long to compile."""
    value, pull = jax.vjp(lambda s: sd.inside(crossing_sensitive(), s, lengths_of(scores), semiring), scores)
    return value, pull(jnp.ones_like(value))[0]


@each_longest
def test_values_of_known_scores(longest: int) -> None:
    np.testing.assert_allclose(value_and_uses(known_scores(longest), sd.LogSum)[0], LOG_Z[:longest], atol=2e-5)


@each_longest
def test_marginals_of_all_parts(longest: int) -> None:
    scores = random_scores(longest)
    value, uses = value_and_uses(scores, sd.LogSum)
    for row, length in enumerate(lengths_of(scores)[:ENUMERATED]):
        used, total = enumerated(scores, row, length)
        log_z = np.logaddexp.reduce(total)
        np.testing.assert_allclose(value[row], log_z, rtol=1e-5)
        for name, table in uses.items():
            expected = np.zeros(table.shape[1:])
            for tree, probability in zip(used, np.exp(total - log_z), strict=True):
                for nodes in (nodes for found, nodes in tree if found == name):
                    expected[nodes] += probability
            np.testing.assert_allclose(table[row], expected, atol=1e-5, err_msg=name)


@pytest.mark.slow
def test_the_best_tree() -> None:
    np.testing.assert_allclose(value_and_uses(known_scores(9), sd.MaxPlus)[0], BEST, atol=1e-5)
    scores = random_scores(9)
    best = value_and_uses(scores, sd.MaxPlus)[0]
    heads = np.asarray(sd.argmax(crossing_sensitive(), scores, lengths_of(scores)))
    assert is_one_endpoint_crossing(heads, lengths_of(scores)).all()
    for row, length in enumerate(lengths_of(scores)):
        own = totals(scores, row, [parts(tuple(heads[row, :length].tolist()))])
        np.testing.assert_allclose(own[0], best[row], rtol=1e-5)
        if length <= ENUMERATED:
            np.testing.assert_allclose(enumerated(scores, row, length)[1].max(), best[row], rtol=1e-5)


@pytest.mark.slow
def test_one_root() -> None:
    scores = known_scores(9)
    trees = sd.TreeDistribution(crossing_sensitive(), scores, lengths_of(scores), single_root=True)
    np.testing.assert_allclose(trees.log_partition(), LOG_Z_ONE_ROOT, atol=2e-5)
    np.testing.assert_allclose(trees.max(), BEST_ONE_ROOT, atol=1e-5)


def enumerated(scores: Tables, row: int, length: int) -> tuple[list[list[Use]], NDArray[np.float64]]:
    """The parts of all trees of a sentence, and their scores."""
    used = [parts(heads) for heads in members(length)]
    return used, totals(scores, row, used)


def totals(scores: Tables, row: int, used: list[list[Use]]) -> NDArray[np.float64]:
    tables = {name: np.asarray(table[row], np.float64) for name, table in scores.items()}
    return np.array([sum(tables[name][nodes] for name, nodes in tree if name in tables) for tree in used])

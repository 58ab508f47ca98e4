"""Messages of mean-field inference against sums over all parts, one by one."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from structdep_parser.nn.mean_field import Parts, mean_field, messages


def random_parts(words: int, features: int) -> Parts:
    return Parts(*jax.random.normal(jax.random.key(0), (5, 2, words + 1, features)))


def test_messages_are_expected_scores_of_parts() -> None:
    words, parts = 4, random_parts(4, 3)
    arcs = list(itertools.permutations(range(words + 1), 2))
    q = np.zeros((2, words + 1, words + 1), np.float32)
    for head, dependent in arcs:
        if dependent:
            q[:, head, dependent] = np.random.default_rng([head, dependent]).random(2)
    found = messages(jnp.asarray(q), parts)
    for row in range(2):
        own = Parts(*(np.asarray(factor[row]) for factor in parts))
        for i, j in arcs:
            siblings = (
                q[row, i, k] * (own.head[i] * own.sibling[j] * own.sibling[k]).sum() for k in range(5) if k != j
            )
            above = (q[row, g, i] * _chain(own, g, i, j) for g in range(5) if g != j)
            below = (q[row, j, k] * _chain(own, i, j, k) for k in range(5) if k != i)
            np.testing.assert_allclose(found[row, i, j], sum(siblings) + sum(above) + sum(below), rtol=1e-4, atol=1e-5)


def _chain(parts: Parts, i: int, j: int, k: int) -> float:
    return float((parts.grandparent[i] * parts.parent[j] * parts.grandchild[k]).sum())


def test_padding_changes_nothing() -> None:
    parts, arcs = random_parts(6, 3), jax.random.normal(jax.random.key(1), (2, 7, 7))
    found = mean_field(arcs, parts, jnp.array([4, 6]))
    short = mean_field(arcs[:1, :5, :5], Parts(*(factor[:1, :5] for factor in parts)), jnp.array([4]))
    np.testing.assert_allclose(found[0, :5, 1:5], short[0, :, 1:], rtol=1e-4, atol=1e-5)

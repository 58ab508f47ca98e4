"""Losses of transitions, against their definitions step by step."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from transition_cases import ORACLES

from structdep.transitions import Sequences, explore, greedy, losses, sequences, table_scorer
from structdep.trees import all_trees, is_projective

NAMES = ("arc_standard_swap", "arc_eager, dynamic")


def some(name: str) -> tuple[Sequences, jax.Array]:
    """Sequences of sentences of two to four words, and random scores for them."""
    heads, lengths = np.zeros((9, 4), np.int32), np.repeat([2, 3, 4], 3)
    for row, (tree, words) in enumerate(zip(heads, lengths.tolist(), strict=True)):
        trees = all_trees(words)
        tree[:words] = trees[is_projective(trees)][-1 - row % 3]
    found = sequences(ORACLES[name], heads, lengths)
    return found, 3 * jax.random.normal(jax.random.key(0), found.legal.shape)


@pytest.mark.parametrize("name", NAMES)
def test_losses_are_those_of_their_definitions(name: str) -> None:
    found, scores = some(name)
    hinges, likelihoods = losses.hinge(scores, found, 0.5), losses.nll(scores, found)
    for row, steps in enumerate((found.transitions >= 0).sum(-1)):
        hinge = nll = 0.0
        for step in range(steps):
            own = np.asarray(scores[row, step], np.float64)
            right, wrong = own[found.best[row, step]], own[found.legal[row, step] & ~found.best[row, step]]
            hinge += max(0, 0.5 + max(wrong, default=-np.inf) - max(right))
            nll += np.log(np.exp([*right, *wrong]).sum()) - np.log(np.exp(right).sum())
        assert float(hinges[row]) == pytest.approx(hinge, rel=1e-4, abs=1e-5)
        assert float(likelihoods[row]) == pytest.approx(nll, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("loss", [losses.hinge, losses.nll], ids=["hinge", "nll"])
@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_finite_and_balanced(name: str, loss: Callable[[jax.Array, Sequences], jax.Array]) -> None:
    found, scores = some(name)
    gradient = np.asarray(jax.grad(lambda s: loss(s, found).sum())(scores.at[0, 0, 0].set(-1e4)))
    assert np.isfinite(gradient).all() and np.abs(gradient.sum(-1)).max() < 1e-5
    assert not gradient[~found.legal].any() and gradient[found.legal].any()


@pytest.mark.parametrize("loss", [losses.hinge, losses.nll], ids=["hinge", "nll"])
def test_forbidden_transitions_lose_a_lot_not_everything(
    loss: Callable[[jax.Array, Sequences], jax.Array],
) -> None:
    found, scores = some(NAMES[0])
    for forbidden in (found.best, found.legal, np.ones_like(found.legal)):
        value, gradient = jax.value_and_grad(lambda s: loss(s, found).sum())(jnp.where(forbidden, -jnp.inf, scores))
        assert np.isfinite(value) and value >= 0 and np.isfinite(gradient).all()
    half = loss(scores.astype(jnp.float16), found)
    assert half.dtype == jnp.float32 and np.allclose(half, loss(scores, found), rtol=1e-2)


def test_a_scorer_learns_from_its_errors() -> None:
    """Tables learn one tree by following their own errors; then the loss is zero, and greedy parsing finds the tree."""
    oracle = ORACLES["arc_hybrid, dynamic"]
    gold = oracle.gold(np.array([[2, 0, 5, 5, 2]]))

    @jax.jit
    def step(tables: dict[str, jax.Array], key: jax.Array) -> tuple[jax.Array, dict[str, jax.Array]]:
        found = explore(oracle, table_scorer(oracle.system, tables), gold, key, 10)

        def loss(tables: dict[str, jax.Array]) -> jax.Array:
            return losses.hinge(table_scorer(oracle.system, tables)(found.features), found).sum()

        value, gradient = jax.value_and_grad(loss)(tables)
        return value, jax.tree.map(lambda table, slope: table - 0.3 * slope, tables, gradient)

    tables = {name: jnp.zeros((1, 7, 7)) for name in ("shift", "la", "ra", "la:s1", "ra:s1")}
    for key in jax.random.split(jax.random.key(0), 40):
        value, tables = step(tables, key)
    found = greedy(oracle.system, table_scorer(oracle.system, tables), jnp.array([5]), 5)
    assert value == 0 and found.heads.tolist() == [[2, 0, 5, 5, 2]]

"""Mean field with second-order scores, against enumeration."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import structdep as sd
from structdep import greedy
from structdep.charts import eisner
from structdep.spanning import all_trees
from structdep.trees import all_trees as every_tree
from structdep.trees import heads_to_arcs, is_projective
from structdep.trees.classes import System

WORDS, BATCH, STRENGTH = 4, 12, 0.3
TREES = every_tree(WORDS)
CLASSES = {
    "all": (all_trees(), TREES),
    "projective": (eisner(), TREES[[is_projective(tree) for tree in TREES]]),
}


def some_tables() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shape = (BATCH, WORDS + 1, WORDS + 1)
    tables = {"arc": 1.5 * rng.normal(size=shape)}
    tables |= {name: STRENGTH * rng.normal(size=(*shape, WORDS + 1)) for name in ("grandparent", "sibling")}
    return {name: table.astype(np.float32) for name, table in tables.items()}


def expected(tables: dict[str, np.ndarray], trees: np.ndarray) -> np.ndarray:
    """How probable each arc is among these trees, by their second-order scores."""
    given = {
        name: jnp.broadcast_to(table[:, None], (BATCH, len(trees), *table.shape[1:])) for name, table in tables.items()
    }
    weights = jax.nn.softmax(greedy.score(given, jnp.broadcast_to(trees, (BATCH, *trees.shape))), axis=1)
    return np.asarray(jnp.einsum("bt,tij->bij", weights, heads_to_arcs(jnp.asarray(trees)).astype(float)))


@pytest.mark.parametrize("name", CLASSES)
def test_it_comes_closer_than_scores_of_arcs_alone(name: str) -> None:
    """More than twice as close; a system helps more than heads that are chosen alone."""
    (system, trees), tables = CLASSES[name], some_tables()

    def error(arcs: jax.Array) -> float:
        return float(np.abs(sd.marginals(system, arcs) - expected(tables, trees)).sum((1, 2)).mean() / WORDS)

    without, alone = error(jnp.asarray(tables["arc"])), error(greedy.mean_field(tables))
    within = error(greedy.mean_field(tables, system=system))
    assert within < without / 2 and within < alone < without


def test_an_arc_hears_from_its_parts_alone() -> None:
    """After one iteration: each part counts with the probability of its other arc."""
    tables = some_tables()
    q = sd.marginals(all_trees(), tables["arc"])
    found = greedy.mean_field(tables, system=all_trees(), iterations=1)
    for h, d in ((0, 2), (3, 1), (2, 4)):
        others = [e for e in range(1, WORDS + 1) if e not in (h, d)]
        total = tables["arc"][:, h, d] + sum(
            (tables["sibling"][:, h, min(d, e), max(d, e)] * q[:, h, e] for e in others),
            sum(tables["grandparent"][:, h, d, e] * q[:, d, e] for e in others),
        )
        above = [g for g in range(WORDS + 1) if g not in (h, d)] if h else []
        total += sum(tables["grandparent"][:, g, h, d] * q[:, g, h] for g in above)
        np.testing.assert_allclose(found[:, h, d], total, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("system", [None, all_trees(), eisner()], ids=["alone", "all", "projective"])
def test_padding_constraints_and_derivatives(system: System | None) -> None:
    tables = some_tables()
    lengths = jnp.array([WORDS, 3, 2, 0] * 3)
    together = greedy.mean_field(tables, lengths, system=system)
    own = {name: table[(1, *[slice(4)] * (table.ndim - 1))] for name, table in tables.items()}
    np.testing.assert_allclose(greedy.mean_field(own, system=system), together[1, :4, :4], rtol=1e-4, atol=1e-5)
    assert jnp.isneginf(together[1, :, 4]).all() and jnp.isneginf(together[3]).all()
    forbidden = jnp.zeros((BATCH, WORDS + 1, WORDS + 1), bool).at[:, 0, 1].set(True)
    held = greedy.mean_field(tables, None, sd.Constraints(forbidden=forbidden), system=system)
    assert jnp.isneginf(held[:, 0, 1]).all() and jnp.isfinite(held[:, 0, 2]).all()
    shaped = {name: table.reshape(3, 4, *table.shape[1:]) for name, table in tables.items()}
    again = jax.jit(lambda t, ls: greedy.mean_field(t, ls, system=system))(shaped, lengths.reshape(3, 4))
    np.testing.assert_allclose(again.reshape(together.shape), together, rtol=1e-4, atol=1e-5)

    def loss(strength: float) -> jax.Array:
        mixed = {name: table * (strength if name != "arc" else 1) for name, table in tables.items()}
        return jnp.sum(greedy.mean_field(mixed, system=system)[:, 0, 1:] ** 2)

    slope = (loss(1.01) - loss(0.99)) / 0.02
    np.testing.assert_allclose(jax.grad(loss)(1.0), slope, rtol=2e-2)


def test_single_root_no_tree_and_wrong_input() -> None:
    tables = {"arc": jnp.zeros((4, 4)), "sibling": jnp.zeros((4, 4, 4)).at[0].set(50.0)}
    arcs = greedy.mean_field(tables, system=all_trees(), single_root=True, iterations=1)
    # Each word has two others, and each of these is below the root in a third of the trees.
    np.testing.assert_allclose(arcs[0, 1:], 100 / 3, rtol=1e-4)
    nothing = jnp.zeros((4, 4)).at[:, 2].set(-jnp.inf)
    assert not jnp.isnan(greedy.mean_field(nothing, system=all_trees())).any()
    with pytest.raises(ValueError, match="takes no iteration or more, not -1: write iterations=3"):
        greedy.mean_field(nothing, iterations=-1)
    with pytest.raises(ValueError, match=r"write system=sd\.spanning"):
        greedy.mean_field(nothing, single_root=True)
    with pytest.raises(ValueError, match="second-order parts has no score 'cousin'"):
        greedy.mean_field({"cousin": nothing})

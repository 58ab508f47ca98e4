"""Members of a group that are computed one after the other give what they give side by side."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import structdep as sd
from structdep._engines.xla import steps
from structdep._engines.xla.filling import make_steps
from structdep._lowering import groups
from structdep._lowering.plan import plan
from structdep.deduction import DeductionSystem, Item, arc, indices, n

i, j, k = indices("i j k")
A, (B, C, D) = Item("A"), (Item(name, family="state") for name in "BCD")
SYSTEM = DeductionSystem(
    "states",
    axioms=(A[i, i + 1],),
    rules=(
        A[i, j] * arc[i, j] >> B[i, j],
        A[i, j] * arc[j, i] >> C[i, j],
        A[i, j] * arc[i, j] >> D[i, j],
        A[i, j] * arc[j, i] >> D[i, j],
        B[i, k] * C[k, j] * arc[i, j] >> B[i, j],
        C[i, k] * D[k, j] * arc[j, i] >> C[i, j],
        B[i, k] * D[k, j] * arc[i, j] >> D[i, j],
        C[i, k] * B[k, j] * arc[i, j] >> D[i, j],
        D[i, k] * C[k, j] * arc[i, j] >> D[i, j],
    ),
    goal=B[0, n],
)
RNG = np.random.default_rng(73)
LENGTHS = np.array([5, 3, 2])
ARCS, DIRECTION = jnp.asarray(RNG.normal(size=(2, 3, 6, 6)).astype(np.float32))

QUERIES: dict[str, Callable[[DeductionSystem, Any], Any]] = {
    "best": lambda system, scores: sd.marginals(system, scores, LENGTHS, semiring=sd.MaxPlus),
    "marginals": lambda system, scores: sd.marginals(system, scores, LENGTHS),
    "covariances": lambda system, scores: jax.jvp(lambda s: sd.marginals(system, s, LENGTHS), (scores,), (DIRECTION,)),
    "k best": lambda system, scores: jax.value_and_grad(lambda s: sd.inside(system, s, LENGTHS, sd.KBest(2))[0].sum())(
        scores
    ),
    "entropy": lambda system, scores: sd.inside(system, scores, LENGTHS, sd.Entropy),
}


@pytest.fixture(autouse=True)
def one_group(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All states in one group, whatever their products: those that they lack are of nothing."""
    monkeypatch.setattr(groups, "PADDING", 1.0)
    plan.cache_clear()
    yield
    plan.cache_clear()


def test_products_by_form() -> None:
    """All states have a product of two items and one of an axiom; D has more, of which two are alike."""
    made = plan(SYSTEM, frozenset({"arc"}))
    layout = made.layout(5)
    (step,) = (step for step in make_steps(made, layout, made.blocks(5)[-1]) if step.members == 3)
    assert sorted(map(len, step.having)) == [1, 1, 1, 3, 3]
    assert sorted((own.members, summed) for own in step.by_form for _, summed in own.products) == [
        *((1, 0), (2, 1), (3, 0), (3, 1))
    ]
    items = [view for own in step.by_form for view in own.views if view.key in made.charts]
    assert not any(made.nothing[view.key[1]] in view.rows for view in items)


@pytest.mark.parametrize("query", QUERIES)
def test_members_in_turn(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for cells in (0, 1 << 30):
        monkeypatch.setattr(steps, "IN_TURN", {"cpu": cells})
        jax.clear_caches()
        found.append(jax.tree.leaves(QUERIES[query](SYSTEM, ARCS)))
    jax.clear_caches()
    for in_turn, side_by_side in zip(*found, strict=True):
        assert np.isfinite(side_by_side).all()
        np.testing.assert_allclose(in_turn, side_by_side, atol=1e-5)

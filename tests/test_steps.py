"""Items that are computed in one group, some of whose products they lack, have the values of groups of their own."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import structdep as sd
from structdep._engines.xla.filling import make_steps
from structdep._lowering import groups
from structdep._lowering.plan import plan
from structdep.deduction import DeductionSystem, Item, arc, indices, n

i, j, k = indices("i j k")
A, (B, C, D) = Item("A"), (Item(name, state_class="state") for name in "BCD")
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


@pytest.fixture
def padding(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[float], None]]:
    """Sets how much work in products of nothing groups may have."""

    def set_padding(part: float) -> None:
        monkeypatch.setattr(groups, "PADDING", part)
        plan.cache_clear()
        jax.clear_caches()

    yield set_padding
    plan.cache_clear()
    jax.clear_caches()


def test_members_that_have_each_product(padding: Callable[[float], None]) -> None:
    """All states have a product of two items and one of an axiom; D has more."""
    padding(1.0)
    made = plan(SYSTEM, frozenset({"arc"}))
    layout = made.layout(5)
    (step,) = (step for step in make_steps(made, layout, made.blocks(5)[-1]) if step.members == 3)
    assert sorted(map(len, step.owners)) == [1, 1, 1, 3, 3]


@pytest.mark.parametrize("query", QUERIES)
def test_states_in_one_group_or_several(query: str, padding: Callable[[float], None]) -> None:
    found = []
    for part in (0.0, 1.0):
        padding(part)
        found.append(jax.tree.leaves(QUERIES[query](SYSTEM, ARCS)))
    for several, one in zip(*found, strict=True):
        assert np.isfinite(one).all()
        np.testing.assert_allclose(several, one, atol=1e-5)

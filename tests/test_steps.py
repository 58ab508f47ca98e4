"""Members of a group that are computed one after the other give what they give side by side."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import structdep as sd
from structdep import steps
from structdep.deduction import DeductionSystem, Item, arc, indices, n
from structdep.plan import plan

i, j, k = indices("i j k")
A, (B, C, D) = Item("A"), (Item(name, family="state") for name in "BCD")
SYSTEM = DeductionSystem(
    "states",
    axioms=(A[i, i + 1],),
    rules=(
        A[i, j] * arc[i, j] >> B[i, j],
        A[i, j] * arc[j, i] >> C[i, j],
        A[i, j] * arc[i, j] >> D[i, j],
        B[i, k] * C[k, j] * arc[i, j] >> B[i, j],
        C[i, k] * D[k, j] * arc[j, i] >> C[i, j],
        B[i, k] * D[k, j] * arc[i, j] >> D[i, j],
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


@pytest.mark.parametrize("query", QUERIES)
def test_members_in_turn(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert max(len(group.folds) for group in plan(SYSTEM, frozenset({"arc"})).groups) == 3
    found = []
    for cells in (0, 1 << 30):
        monkeypatch.setattr(steps, "IN_TURN", {"cpu": cells})
        jax.clear_caches()
        found.append(jax.tree.leaves(QUERIES[query](SYSTEM, ARCS)))
    jax.clear_caches()
    for in_turn, side_by_side in zip(*found, strict=True):
        assert np.isfinite(side_by_side).all()
        np.testing.assert_allclose(in_turn, side_by_side, atol=1e-5)

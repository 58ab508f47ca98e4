"""GPUs and TPUs, as far as a CPU can tell: programs by XLA alone can be made for them, and would compute the same."""

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import structdep as sd
from structdep import transitions as tr
from structdep.trees.classes import System

pytestmark = pytest.mark.usefixtures("by_xla")

SCORES = np.random.default_rng(70).normal(size=(3, 8, 8)).astype(np.float32)
LENGTHS = np.array([7, 4, 1])
KEY = jax.random.key(0)
LU = {"LuDecomposition", "cusolver_getrf_ffi", "hipsolver_getrf_ffi"}
LU |= {"cu_lu_pivots_to_permutation", "hip_lu_pivots_to_permutation"}
"""What JAX calls for determinants of all trees."""

QUERIES: dict[str, Callable[[System, Any], Any]] = {
    "best score": lambda system, scores: sd.inside(system, scores, LENGTHS),
    "best tree": lambda system, scores: sd.argmax(system, scores, LENGTHS),
    "log-partition": lambda system, scores: sd.inside(system, scores, LENGTHS, sd.LogSum),
    "marginals": lambda system, scores: sd.marginals(system, scores, LENGTHS),
    "k best": lambda system, scores: sd.inside(system, scores, LENGTHS, sd.KBest(3)),
    "sample": lambda system, scores: sd.sample(system, scores, KEY, LENGTHS),
}


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Any], Any]], Any]:
    """Compiles a query for other devices, then for this one, traced as where another device is the default."""

    def run(query: Callable[[Any], Any]) -> Any:
        jax.clear_caches()  # of what was traced for this device
        with monkeypatch.context() as patch:
            patch.setattr(jax, "default_backend", lambda: "gpu")
            traced = jax.jit(lambda scores: query(scores)).trace(SCORES)
        for platform in ("cuda", "rocm", "tpu"):
            text = traced.lower(lowering_platforms=(platform,)).as_text()
            assert set(re.findall(r"custom_call @(\w+)", text)) <= LU
        found = traced.lower().compile()(SCORES)
        jax.clear_caches()
        return found

    return run


CASES = [(sd.charts.eisner(), query) for query in QUERIES] + [(sd.charts.mhk(4), q) for q in ("best tree", "marginals")]


@pytest.mark.parametrize(("system", "query"), CASES, ids=lambda case: getattr(case, "name", case))
def test_charts(system: System, query: str, elsewhere: Callable[..., Any]) -> None:
    found = elsewhere(lambda scores: QUERIES[query](system, scores))
    np.testing.assert_allclose(found, QUERIES[query](system, SCORES), atol=1e-5)


def test_all_trees_greedy_search_and_transitions(elsewhere: Callable[..., Any]) -> None:
    def parsed(scores: jax.Array) -> jax.Array:
        return tr.greedy(tr.mh4(), tr.table_scorer(tr.mh4(), {"arc": scores}), LENGTHS, 7).heads

    for query in (*(lambda s, q=q: q(sd.spanning.all_trees(), s) for q in QUERIES.values()), sd.greedy.bgi_pp, parsed):
        np.testing.assert_allclose(elsewhere(query), jnp.asarray(query(SCORES)), atol=1e-5)

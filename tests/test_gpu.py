"""Kernels for GPUs, run by XLA on whatever device there is, give what XLA's own programs give; and they compile."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import LENGTHS, some_tables
from jax.sharding import AbstractMesh, AxisType

import structdep as sd
from structdep._engines import gpu
from structdep._engines.primitive import ask
from structdep._engines.query import Query
from structdep._engines.xla import chart
from structdep.deduction import DeductionSystem
from structdep.inference.scores import Problem, problem

SYSTEMS = [
    sd.charts.arc_hybrid(transitions=True),
    *(
        pytest.param(system, marks=pytest.mark.slow)
        for system in (
            sd.charts.mhk(4),
            sd.charts.eisner(),
            sd.charts.arc_eager(),
            sd.charts.mhk(5),
            sd.charts.mh4_trees(transitions=True),
            sd.charts.one_endpoint_crossing(),
            sd.charts.crossing_sensitive(),
        )
    ),
]
each_system = pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that have filled charts."""
    found: list[str] = []
    run = gpu._run

    def noted(kernel: Any, work: Any, *arrays: Any) -> jax.Array:
        found.append(getattr(work, "func", work).__name__)
        return run(kernel, work, *arrays)

    monkeypatch.setattr(gpu, "_run", noted)
    jax.clear_caches()  # type: ignore[no-untyped-call]  # of what was traced before
    return found


@pytest.fixture
def interpreted(ran: list[str]) -> Iterator[list[str]]:
    """From now on kernels fill charts, interpreted by JAX."""
    with sd.use_engine("gpu"):
        yield ran


def answers(system: DeductionSystem, given: Problem, engine: str) -> list[Any]:
    with sd.use_engine(engine):
        return [
            ask(system, sd.LogSum(), Query.EXPECTED_COUNTS, given.tables, given.lengths),
            ask(system, sd.LogSum(), Query.SAMPLE, given.tables, given.lengths, key=jax.random.key(0)),
            ask(system, sd.MaxPlus(), Query.BEST, given.tables, given.lengths),
            ask(system, sd.MaxPlus(), Query.VALUE, given.tables, given.lengths),
        ]


@each_system
def test_values_uses_best_trees_and_samples_are_those_of_xla(system: DeductionSystem, ran: list[str]) -> None:
    tables = some_tables(system)
    tables["arc"][1:3] = np.where(np.random.default_rng(1).random((2, 5, 5)) < 0.3, -np.inf, tables["arc"][1:3])
    given = problem(system, tables, LENGTHS)
    expected, found = answers(system, given, "xla"), answers(system, given, "gpu")
    assert ran == ["fill", "go_back", "fill", "fill", "fill"]
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-5), found, expected)


def random_scores(batch: int, words: int) -> jax.Array:
    return jax.random.normal(jax.random.key(batch), (batch, words + 1, words + 1))


@pytest.mark.parametrize(
    "system, words",
    [
        (sd.charts.eisner(), 11),
        pytest.param(sd.charts.mhk(4), 11, marks=pytest.mark.slow),
        pytest.param(sd.charts.arc_eager(), 70, marks=pytest.mark.slow),
    ],
)
def test_cells_are_more_than_lanes(
    system: DeductionSystem, words: int, interpreted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "LEAST", 32)
    monkeypatch.setattr(gpu, "MOST", 64)
    with sd.use_engine("xla"):
        expected = sd.marginals(system, random_scores(2, words))
    assert not interpreted
    np.testing.assert_allclose(sd.marginals(system, random_scores(2, words)), expected, atol=3e-5)


def test_sentences_without_a_tree_and_scores_that_are_no_numbers(interpreted: list[str]) -> None:
    scores = random_scores(3, 4).at[1, :, 2].set(-jnp.inf).at[2, 1, 2].set(jnp.nan)
    value, arcs = jax.vjp(lambda s: sd.inside(sd.charts.mhk(4), s, semiring=sd.LogSum), scores)
    assert np.isfinite(value[0]) and value[1] == -jnp.inf and np.isnan(value[2])
    (uses,) = arcs(jnp.ones(3))
    np.testing.assert_allclose(uses[:, :, 1:].sum((1, 2)), [4, 0, 0], rtol=1e-5)
    assert (sd.argmax(sd.charts.mhk(4), scores)[1:] == -1).all()
    assert interpreted == ["fill", "go_back", "fill"]


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("scale", [1e-3, 1e3, 1e30])
def test_scores_of_any_scale(scale: float) -> None:
    scores = random_scores(2, 6) * scale
    best, total = (sd.inside(sd.charts.eisner(), scores, semiring=one) for one in (sd.MaxPlus, sd.LogSum))
    trees = sd.inside(sd.charts.eisner(), jnp.zeros_like(scores), semiring=sd.LogSum)
    rounding = 1e-6 * jnp.abs(best)
    assert (best <= total + rounding).all() and (total <= best + trees + rounding).all()
    np.testing.assert_allclose(sd.marginals(sd.charts.eisner(), scores)[:, :, 1:].sum(1), 1, rtol=1e-5)


@pytest.mark.usefixtures("interpreted")
def test_double_precision() -> None:
    with jax.enable_x64(True):
        arcs = sd.marginals(sd.charts.mhk(4), random_scores(2, 5).astype(jnp.float64))
        np.testing.assert_allclose(arcs[:, :, 1:].sum(1), 1, rtol=1e-13)


def test_derivatives_of_marginals_are_those_of_xla(interpreted: list[str]) -> None:
    scores = random_scores(2, 5)

    def spread(scores: jax.Array) -> jax.Array:
        return (sd.marginals(sd.charts.eisner(), scores) ** 2).sum()

    with sd.use_engine("xla"):
        expected = jax.grad(spread)(scores)
    assert not interpreted
    np.testing.assert_allclose(jax.grad(spread)(scores), expected, atol=1e-6)
    assert interpreted


def test_groups_of_sentences(interpreted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = sd.marginals(sd.charts.mhk(4), random_scores(5, 5))
    jax.clear_caches()  # type: ignore[no-untyped-call]
    monkeypatch.setattr(chart, "GROUP_BYTES", 1)
    np.testing.assert_allclose(sd.marginals(sd.charts.mhk(4), random_scores(5, 5)), expected, atol=1e-6)
    assert interpreted == ["fill", "go_back"] * 2


def on_some_gpu() -> AbstractContextManager[Any]:
    """Where programs are lowered for one though there is none: later versions of JAX want to know which."""
    if not hasattr(jax.sharding, "AbstractDevice"):
        return nullcontext()
    device = jax.sharding.AbstractDevice(device_kind="NVIDIA H200", num_cores=None, platform="gpu")
    mesh = AbstractMesh((1,), ("batch",), (AxisType.Auto,), abstract_device=device)
    return jax.sharding.use_abstract_mesh(mesh)


@each_system
@pytest.mark.parametrize(
    "semiring, query, kernels", [(sd.LogSum(), Query.EXPECTED_COUNTS, 2), (sd.MaxPlus(), Query.VALUE, 1)]
)
def test_kernels_can_be_compiled(system: DeductionSystem, semiring: sd.Semiring, query: Query, kernels: int) -> None:
    given = problem(system, some_tables(system), LENGTHS)
    with on_some_gpu(), sd.use_engine("gpu"):
        asked = jax.jit(partial(ask, system, semiring, query))
        lowered = asked.trace(given.tables, given.lengths).lower(lowering_platforms=("cuda",))
    assert lowered.as_text().count("@__gpu$xla.gpu.triton") == kernels

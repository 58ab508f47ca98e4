"""Kernels for GPUs, run by XLA on whatever device there is, give what XLA's own programs give; and they compile."""

import sys
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
from structdep.deduction import DeductionSystem
from structdep.inference.inside import GROUP_BYTES, run_by_xla
from structdep.inference.scores import Problem, problem

SYSTEMS = [
    sd.charts.arc_hybrid(transitions=True),
    sd.charts.mhk(4),
    *(
        pytest.param(system, marks=pytest.mark.slow)
        for system in (
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


@pytest.fixture(autouse=True)
def traced_anew(by_xla: None) -> Iterator[None]:
    run_by_xla.clear_cache()
    yield
    run_by_xla.clear_cache()


@pytest.fixture
def interpreted(traced_anew: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From now on kernels fill charts, run by XLA: those that did."""
    ran: list[str] = []
    run = gpu._run

    def noted(kernel: Any, work: Any, *arrays: Any) -> jax.Array:
        ran.append(getattr(work, "func", work).__name__)
        return run(kernel, work, *arrays)

    monkeypatch.setattr(gpu, "INTERPRETED", True)
    monkeypatch.setattr(gpu, "_run", noted)
    return ran


def answers(system: DeductionSystem, given: Problem) -> list[Any]:
    run = partial(run_by_xla, system)
    return [
        run(sd.LogSum(), "uses", given.tables, given.lengths),
        run(sd.LogSum(), "sample", given.tables, given.lengths, key=jax.random.key(0)),
        run(sd.MaxPlus(), "best", given.tables, given.lengths),
        run(sd.MaxPlus(), "value", given.tables, given.lengths),
    ]


@each_system
def test_values_uses_best_trees_and_samples_are_those_of_xla(
    system: DeductionSystem, request: pytest.FixtureRequest
) -> None:
    tables = some_tables(system)
    tables["arc"][1:3] = np.where(np.random.default_rng(1).random((2, 5, 5)) < 0.3, -np.inf, tables["arc"][1:3])
    given = problem(system, tables, LENGTHS)
    expected = answers(system, given)
    run_by_xla.clear_cache()
    ran = request.getfixturevalue("interpreted")
    found = answers(system, given)
    assert ran == ["fill", "go_back", "fill", "fill", "fill"]
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-5), found, expected)


def random_scores(batch: int, words: int) -> jax.Array:
    return jax.random.normal(jax.random.key(batch), (batch, words + 1, words + 1))


@pytest.mark.parametrize(
    "system, words", [(sd.charts.eisner(), 11), (sd.charts.mhk(4), 11), (sd.charts.arc_eager(), 70)]
)
def test_cells_are_more_than_lanes(
    system: DeductionSystem, words: int, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "LEAST", 32)
    monkeypatch.setattr(gpu, "MOST", 64)
    expected = sd.marginals(system, random_scores(2, words))
    run_by_xla.clear_cache()
    assert not request.getfixturevalue("interpreted")
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


def test_derivatives_of_marginals_are_those_of_xla(request: pytest.FixtureRequest) -> None:
    scores = random_scores(2, 5)

    def spread(scores: jax.Array) -> jax.Array:
        return (sd.marginals(sd.charts.eisner(), scores) ** 2).sum()

    expected = jax.grad(spread)(scores)
    run_by_xla.clear_cache()
    ran = request.getfixturevalue("interpreted")
    np.testing.assert_allclose(jax.grad(spread)(scores), expected, atol=1e-6)
    assert ran


def test_groups_of_sentences(interpreted: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts of one group lie where those of the group before were."""
    expected = sd.marginals(sd.charts.mhk(4), random_scores(5, 5))
    run_by_xla.clear_cache()
    monkeypatch.setitem(GROUP_BYTES, jax.default_backend(), 1)
    monkeypatch.setattr(sys.modules["structdep.inference.inside"], "SIDE_BY_SIDE", 1)
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
@pytest.mark.parametrize("semiring, want", [(sd.LogSum(), "uses"), (sd.MaxPlus(), "value")])
def test_kernels_can_be_compiled(
    system: DeductionSystem, semiring: sd.Semiring, want: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "_is_able", lambda: True)
    given = problem(system, some_tables(system), LENGTHS)
    with on_some_gpu():
        lowered = run_by_xla.trace(system, semiring, want, given.tables, given.lengths).lower(
            lowering_platforms=("cuda",)
        )
    assert lowered.as_text().count("@__gpu$xla.gpu.triton") == (2 if want == "uses" else 1)

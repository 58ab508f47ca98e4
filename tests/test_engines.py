"""Which engine answers: chosen by the platform that a program is lowered for, or by `use_engine`."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax import export

import structdep as sd
from structdep._engines.cpu import library

SCORES = np.random.default_rng(0).normal(size=(3, 6, 6)).astype(np.float32)
EISNER = sd.charts.eisner()
needs_it = pytest.mark.skipif(not library.is_there(), reason="the compiled CPU engine is not installed")

QUERIES: dict[str, Callable[[Any], Any]] = {
    "best score": lambda scores: sd.inside(EISNER, scores),
    "best tree": lambda scores: sd.argmax(EISNER, scores),
    "best tree with one root": lambda scores: sd.argmax(EISNER, scores, single_root=True),
    "marginals": lambda scores: sd.marginals(EISNER, scores),
    "samples": lambda scores: sd.TreeDistribution(EISNER, scores).sample(jax.random.key(0), 2),
    "k best": lambda scores: sd.TreeDistribution(EISNER, scores).k_best(2).heads,
    "covariances": lambda scores: jax.jvp(lambda s: sd.marginals(EISNER, s), (scores,), (SCORES,))[1],
}


@needs_it
@pytest.mark.parametrize("query", [name for name in QUERIES if name != "samples"])
def test_engines_agree_and_functions_are_compiled_for_each(query: str) -> None:
    compiled = jax.jit(lambda scores: QUERIES[query](scores))
    found = {}
    for name in (None, "cpu", "xla", "gpu"):
        with sd.use_engine(name):
            found[name] = np.asarray(compiled(SCORES))
            is_native = "structdep_chart" in compiled.lower(SCORES).as_text()
        assert is_native == (name in (None, "cpu") and query not in ("k best", "covariances"))
        np.testing.assert_allclose(found[name], found[None], atol=1e-5)


def test_other_names_are_refused() -> None:
    with pytest.raises(ValueError, match=r"there is no engine 'c'.*: write one of 'cpu', 'gpu', 'xla'"):
        sd.use_engine("c")
    command = [sys.executable, "-c", "import structdep as sd; sd.eisner([[0.0, 1.0], [0.0, 0.0]])"]
    environment = os.environ | {"STRUCTDEP_ENGINE": "c++"}
    failed = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert "STRUCTDEP_ENGINE: there is no engine 'c++'" in failed.stderr


@needs_it
def test_descriptions() -> None:
    own = sd.describe(sd.charts.mhk(4), SCORES, sd.LogSum, platform="cpu")
    assert own.splitlines() == [
        "mh4 in LogSum, scores arc, on cpu:",
        *("  value: cpu", "  expected counts: cpu", "  sample: cpu"),
    ]
    best = sd.describe(EISNER, {"arc": SCORES, "label": SCORES[..., None]}, sd.KBest(2), platform="cpu")
    assert "scores arc, on cpu" in best and "best: xla; not cpu: no support for the best in KBest" in best
    assert "not cpu: only for deduction systems" in sd.describe(sd.spanning.all_trees(), platform="cpu")
    assert "value: xla" in sd.describe(EISNER, platform="tpu")
    both = sd.describe(EISNER, semiring=sd.Pair(sd.MaxPlus, sd.LogSum), platform="cpu")
    assert both.count("value: cpu") == 2 and "xla" not in both
    with pytest.raises(ValueError, match=r"eisner has no score 'foo', it declares \['arc'\]"):
        sd.describe(EISNER, ("foo",))


@pytest.mark.parametrize("platform", ["cuda", "rocm", "tpu"])
def test_programs_for_other_platforms_call_nothing_of_cpus(platform: str) -> None:
    queries = jax.jit(lambda scores: [query(scores) for query in QUERIES.values()])
    exported = export.export(queries, platforms=[platform])(jax.ShapeDtypeStruct((3, 6, 6), np.float32))
    assert "structdep_chart" not in exported.mlir_module()


@needs_it
def test_an_exported_program_runs_in_a_process_that_imports_the_library(tmp_path: Path) -> None:
    best = jax.jit(lambda scores: (sd.argmax(EISNER, scores), sd.marginals(EISNER, scores)))
    exported = export.export(best, disabled_checks=sd.export_checks())(SCORES)
    (tmp_path / "program").write_bytes(exported.serialize())
    np.save(tmp_path / "scores", SCORES)
    code = """
import numpy, structdep
from jax import export
heads, _ = export.deserialize(bytearray(open("program", "rb").read())).call(numpy.load("scores.npy"))
print(heads.tolist())
"""
    paths = os.pathsep.join(sys.path)
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert run.stdout.strip() == str(sd.argmax(EISNER, SCORES).tolist()), run.stderr


@needs_it
def test_results_of_several_parts_are_exported() -> None:
    queries = {
        "entropy": lambda scores: sd.inside(EISNER, scores, semiring=sd.Entropy),
        "moments": lambda scores: sd.inside(EISNER, scores, semiring=sd.Expectation({"arc": SCORES})),
        "k best": lambda scores: sd.TreeDistribution(EISNER, scores).k_best(2),
        "certified": sd.greedy.dual_decomposition,
        "sparse": lambda scores: sd.relaxations.sparsemap(EISNER, scores),
    }

    def results(scores: Any) -> Any:
        return {name: query(scores) for name, query in queries.items()}

    exported = export.export(jax.jit(results), disabled_checks=sd.export_checks())(SCORES)
    found = export.deserialize(exported.serialize()).call(SCORES)
    expected = results(SCORES)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for own, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-4, atol=1e-4)


def test_scores_are_donated_and_loops_run() -> None:
    step = jax.jit(lambda scores: scores + sd.marginals(EISNER, scores), donate_argnums=0)
    looped = jax.jit(lambda scores: jax.lax.fori_loop(0, 2, lambda _, s: s + sd.marginals(EISNER, s), scores))
    expected = step(step(jax.numpy.asarray(SCORES)))
    np.testing.assert_allclose(looped(SCORES), expected, atol=1e-5)
    loss = jax.checkpoint(lambda scores: sd.inside(EISNER, scores, semiring=sd.LogSum).sum())
    np.testing.assert_allclose(jax.grad(loss)(SCORES), sd.marginals(EISNER, SCORES), atol=1e-6)


def test_queries_run_where_jit_is_disabled() -> None:
    with jax.disable_jit():
        found = sd.inside(EISNER, SCORES, semiring=sd.LogSum), sd.argmax(EISNER, SCORES)
        one = sd.marginals(EISNER, SCORES, semiring=sd.SingleRoot(sd.LogSum))
        assert sd.sample(EISNER, SCORES, jax.random.key(0)).shape == found[1].shape
    np.testing.assert_allclose(one, sd.marginals(EISNER, SCORES, semiring=sd.SingleRoot(sd.LogSum)), atol=1e-6)
    np.testing.assert_allclose(found[0], sd.inside(EISNER, SCORES, semiring=sd.LogSum), rtol=1e-6)
    np.testing.assert_array_equal(found[1], sd.argmax(EISNER, SCORES))

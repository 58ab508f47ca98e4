"""Compiled programs that are kept for other processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import structdep as sd
from structdep_parser.config import Config
from structdep_parser.data.conllu import from_text
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.nn.compiled import Compiled
from structdep_parser.nn.stored_programs import FOLDER
from structdep_parser.parsers.trained_model import identity

SCORES = jax.random.normal(jax.random.key(0), (2, 4, 4))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    before = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))  # type: ignore[no-untyped-call]
    yield tmp_path / FOLDER
    jax.config.update("jax_compilation_cache_dir", before)  # type: ignore[no-untyped-call]


def traces(identity: str, scores: jax.Array = SCORES) -> int:
    """How often a new process would trace the function, whose results are as they should be."""
    traced = []

    def function(given: dict[str, jax.Array]) -> dict[str, jax.Array]:
        traced.append(given)
        return {"heads": sd.argmax(sd.charts.eisner(), given["arc"])}

    compiled = Compiled(function)
    compiled.identity = identity
    for _ in range(2):
        assert jnp.array_equal(compiled({"arc": scores})["heads"], sd.argmax(sd.charts.eisner(), scores))
    return len(traced)


def test_a_program_that_is_kept_is_not_traced(folder: Path) -> None:
    assert [traces("a"), traces("a"), traces("b"), traces("a"), traces("b")] == [1, 0, 1, 0, 0]
    assert [traces("a", SCORES[:1]), traces("a", SCORES[:1])] == [1, 0]
    with sd.use_engine("xla"):
        assert [traces("a"), traces("a")] == [1, 0]


def test_nothing_is_kept_without_an_identity(folder: Path) -> None:
    assert [traces(""), traces("")] == [1, 1] and not folder.exists()


def test_what_cannot_be_read_is_compiled(folder: Path) -> None:
    assert traces("a") == 1
    (kept,) = folder.iterdir()
    kept.write_bytes(kept.read_bytes()[:100])
    assert [traces("a"), traces("a")] == [1, 0]


LAPACK = """
import jax, numpy as np
import structdep as sd
from structdep_parser.nn.compiled import Compiled

def marginals(scores):
    print("traced")
    return sd.marginals(sd.spanning.SpanningTrees(), scores)

compiled = Compiled(marginals)
compiled.identity = "marginals"
print(float(np.asarray(compiled(jax.numpy.zeros((4, 4)))).sum().round(3)))
"""


def test_programs_that_need_lapack_run_in_another_process(tmp_path: Path) -> None:
    """All trees' sums are determinants."""
    environment = os.environ | {"JAX_COMPILATION_CACHE_DIR": str(tmp_path)}
    for expected in ("traced\n3.0\n", "3.0\n"):
        done = subprocess.run([sys.executable, "-c", LAPACK], env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, expected), done.stderr


def test_seeds_share_programs_and_other_models_do_not() -> None:
    one, other = (Vocabulary.of(list(from_text([text], "text"))) for text in (b"a b c\n", b"a b c d\n"))
    own = identity(Config(), one)
    assert own == identity(Config(seed=2, epochs=9, learning_rate=0.1, lang="got"), one)
    assert (
        len({own, identity(Config(states=64), one), identity(Config(parser="mst"), one), identity(Config(), other)})
        == 4
    )
    assert identity(Config(encoder_layer="mine:Layer"), one) == ""


ON_DEVICES = """
import jax, numpy as np
import structdep as sd
from jax.sharding import NamedSharding, PartitionSpec
from structdep_parser.nn.compiled import Compiled

mesh = jax.make_mesh((2,), ("batch",), (jax.sharding.AxisType.Auto,), devices=jax.devices()[1:])
shared = NamedSharding(mesh, PartitionSpec("batch"))
doubled, marginals = lambda x: 2 * x, lambda x: sd.marginals(sd.charts.eisner(), x)
one, other = jax.devices()[:2]
for function, place in ((marginals, one), (marginals, other), (doubled, shared), (marginals, shared)):
    def run(x):
        print("traced", end=" ")
        return function(x)

    compiled = Compiled(run)
    compiled.identity = "doubled" if function is doubled else "marginals"
    found = compiled(jax.device_put(np.ones((2, 3, 3), np.float32), place))
    print(sorted(device.id for device in found.devices()), float(found.sum().round(3)))
"""


def test_programs_of_some_of_several_devices_are_kept(tmp_path: Path) -> None:
    """But for those that share charts among devices, which JAX cannot write."""
    more = {"XLA_FLAGS": "--xla_force_host_platform_device_count=3", "JAX_COMPILATION_CACHE_DIR": str(tmp_path)}
    environment = os.environ | more | {"PYTHONPATH": os.pathsep.join(sys.path)}
    lines = ["[0] 4.0", "[1] 4.0", "[1, 2] 36.0", "traced [1, 2] 4.0"]
    for expected in ([*(f"traced {line}" for line in lines[:3]), lines[3]], lines):
        done = subprocess.run([sys.executable, "-c", ON_DEVICES], env=environment, capture_output=True, text=True)
        assert done.stdout.splitlines() == expected, done.stderr

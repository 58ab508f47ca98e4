"""The compiled libraries of the CPU engine: which one is loaded, and what happens without one."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from structdep._engines.cpu import library

needs_it = pytest.mark.skipif(not library.is_there(), reason="the compiled CPU engine is not installed")
VARIABLES = ("STRUCTDEP_ISA", "STRUCTDEP_ENGINE")

CHART = """
import jax, jax.numpy as jnp, numpy as np, structdep as sd
scores = jax.random.normal(jax.random.key(0), (3, 21, 21))
for system in (sd.charts.eisner(), sd.charts.mhk(4), sd.charts.mh4_trees()):
    log_partition = sd.inside(system, scores, semiring=sd.LogSum)
    for query in (sd.inside(system, scores), log_partition, sd.marginals(system, scores)):
        print(*np.asarray(query).ravel().tolist())
"""


def run(code: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """A process of its own, without this one's settings of engines."""
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    return subprocess.run([sys.executable, "-c", code], env=environment | settings, capture_output=True, text=True)


@needs_it
def test_the_library_of_this_processor_is_loaded() -> None:
    assert library.instruction_set() in (os.environ.get("STRUCTDEP_ISA"), *library.INSTRUCTION_SETS)
    for path in library.installed().values():
        assert path.stat().st_size > 100_000


@needs_it
@pytest.mark.parametrize("name", [name for name in library.INSTRUCTION_SETS if name in library.installed()])
def test_instruction_sets_agree(name: str) -> None:
    order = library.INSTRUCTION_SETS
    if order.index(name) < order.index(library.of_processor()):
        pytest.skip(f"this processor does not run {name}")
    ours, theirs = (
        [np.array(line.split(), float) for line in run(CHART, STRUCTDEP_ISA=isa).stdout.splitlines()]
        for isa in (str(library.instruction_set()), name)
    )
    assert len(ours) == len(theirs) == 9
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-6)


def test_an_instruction_set_that_is_not_installed_is_refused() -> None:
    result = run("import structdep", STRUCTDEP_ISA="mmx")
    assert result.returncode == 1
    assert "ValueError: STRUCTDEP_ISA=mmx: write one of the installed: " in result.stderr


WITHOUT = "from pathlib import Path\n{}\n" + (
    "import jax.numpy as jnp, structdep as sd\n"
    "for _ in range(2): print(sd.inside(sd.charts.eisner(), jnp.ones((2, 2))))"
)
NO_LIBRARY = "real = Path.glob; Path.glob = lambda self, name: () if name == 'chart_*.so' else real(self, name)"
BROKEN = (
    "import ctypes\nreal = ctypes.CDLL\n"
    "ctypes.CDLL = lambda name, *rest, **more: real('/no/such.so' if 'chart' in str(name) else name, *rest, **more)"
)


@pytest.mark.parametrize(
    "how, settings, warning",
    [
        ("", {"STRUCTDEP_ENGINE": "xla"}, ""),
        (NO_LIBRARY, {"STRUCTDEP_ENGINE": "xla"}, ""),
        (NO_LIBRARY, {}, "there is no compiled library in"),
        pytest.param(BROKEN, {}, "the compiled library cannot be loaded: /no/such.so", marks=needs_it),
    ],
)
def test_without_a_library_xla_fills_charts_and_one_warning_says_so(
    how: str, settings: dict[str, str], warning: str
) -> None:
    result = run(WITHOUT.format(how), **settings)
    assert result.stdout == "1.0\n1.0\n", result.stderr
    assert result.stderr.count("XLA fills charts on CPUs") == bool(warning) and warning in result.stderr


def test_doctor_reports_and_checks() -> None:
    command = [sys.executable, "-m", "structdep", "doctor"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent.parent)
    assert result.returncode == 0, result.stderr
    assert "jaxlib" in result.stdout and "xla, eisner: agrees with enumeration" in result.stdout
    assert ("cpu, mh4_trees: agrees with enumeration" in result.stdout) == library.is_there()
    assert "mh4 in LogSum, scores arc, on cpu:" in result.stdout


def test_doctor_tells_of_wrong_charts() -> None:
    wrong = "import structdep as sd, sys\nfrom structdep import _doctor, testing\ntesting.value = lambda *_: 7.0\n"
    result = run(wrong + "sys.exit(_doctor.main())")
    assert result.returncode == 1 and "by enumeration 7.0" in result.stdout

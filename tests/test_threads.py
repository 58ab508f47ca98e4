"""Charts that several threads fill at once, under the thread sanitizer."""

import subprocess
from pathlib import Path

import jax
import pytest

import structdep as sd
from structdep._engines.cpu import library
from structdep._engines.cpu.program import program

SYSTEMS = [
    sd.charts.eisner(),
    sd.charts.arc_hybrid(transitions=True),
    sd.charts.mhk(4),
    sd.charts.mh4_trees(),
    sd.charts.one_endpoint_crossing(),
]


@pytest.mark.slow
def test_threads_share_nothing_that_one_of_them_writes(tmp_path: Path) -> None:
    """A program of its own: the sanitizer does not see how threads of XLA, which is compiled without it, wait."""
    options = ["-std=c++17", "-fsanitize=thread", "-O1", "-g", "-march=native", "-w", "-DSTRUCTDEP_NUMBER=float"]
    folders = [f"-I{folder}" for folder in (Path(library.__file__).parent, jax.ffi.include_dir())]
    made, source = tmp_path / "threads", Path(__file__).with_name("threads.cc")
    subprocess.run(["g++", *options, *folders, str(source), "-o", str(made), "-pthread"], check=True)
    for system in SYSTEMS:
        program(system, tuple(sorted(system.declared))).tofile(tmp_path / f"{system.name}.program")
    names = sorted(map(str, tmp_path.glob("*.program")))
    result = subprocess.run([str(made), *names], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [f"{name}: threads agree" for name in names]

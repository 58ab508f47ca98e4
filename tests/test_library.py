"""Where the compiled C++ is kept, and who compiles it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from structdep._engines.cpu import library

needs_it = pytest.mark.skipif(not library.is_there(), reason="there is no C++ compiler")
COMMANDS = len(library.UNITS) + 1
"""That the compiler is started for: one for each unit, and the linker."""

CHART = (
    "import jax.numpy as jnp, structdep as sd; print(f'{sd.inside(sd.charts.eisner(), jnp.ones((2, 2)))}\\n', end='')"
)


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a compiler that copies the library. Returns a file with a line for each of its starts."""
    real, log, script = tmp_path / "real.so", tmp_path / "log", tmp_path / "compiler"
    real.write_bytes(library.compiled().read_bytes())
    lines = ["#!/bin/sh", f"echo start >> {log}", 'while [ "$1" != -o ]; do shift; done', "sleep ${SLOWLY:-0}"]
    script.write_text("\n".join([*lines, f'cp {real} "$2"']))
    script.chmod(0o755)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CXX", str(script))
    return log


def starts(log: Path) -> int:
    return len(log.read_text().splitlines())


@needs_it
def test_a_library_that_is_damaged_is_compiled_again(compiler: Path) -> None:
    place = library.compiled()
    whole = place.read_bytes()
    assert library.compiled() == place and starts(compiler) == COMMANDS
    for number, damaged in enumerate((whole[: len(whole) // 2], whole[:999] + b"?" + whole[1000:], b""), 2):
        place.write_bytes(damaged)
        assert library.compiled().read_bytes() == whole and starts(compiler) == number * COMMANDS


@needs_it
def test_threads_and_processes_that_begin_at_once_compile_once(compiler: Path) -> None:
    code = f"""
from concurrent.futures import ThreadPoolExecutor
import warnings
warnings.simplefilter("error")
def chart(_):
    {CHART}
with ThreadPoolExecutor(4) as threads:
    list(threads.map(chart, range(4)))
"""
    command = [sys.executable, "-c", code]
    environment = os.environ | {"SLOWLY": "1"}
    processes = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate()[0] for process in processes] == ["1.0\n" * 4] * 3
    assert starts(compiler) == COMMANDS


@needs_it
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_who_is_killed_while_compiling_is_not_waited_for(compiler: Path) -> None:
    code = "from structdep._engines.cpu import library; library.compiled()"
    environment = os.environ | {"SLOWLY": "30"}
    holder = subprocess.Popen([sys.executable, "-c", code], env=environment, start_new_session=True)
    while not compiler.exists():
        assert holder.poll() is None
        time.sleep(0.01)
    os.killpg(holder.pid, signal.SIGKILL)
    holder.wait()
    before = starts(compiler)
    assert library.compiled().exists() and starts(compiler) == before + COMMANDS


NOBODY = "import pwd\ndef getpwuid(uid): raise KeyError(uid)\npwd.getpwuid = getpwuid\n"
"""Users without an entry in the file of passwords."""


WITHOUT = {
    "switched off": ({"STRUCTDEP_ENGINE": "xla"}, ""),
    "no compiler": (
        {"CXX": "no-such-compiler", "XDG_CACHE_HOME": "{empty}"},
        "'no-such-compiler'",
    ),
    "no home": ({}, "there is no home folder to keep compiled programs in: name a folder by XDG_CACHE_HOME"),
    "no folder": ({"XDG_CACHE_HOME": "{file}"}, "Not a directory"),
}
"""Environments without the C++, and what the warning says."""


@pytest.mark.parametrize("why", WITHOUT)
def test_without_it_xla_does_the_same_and_a_warning_says_so_once(why: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    given, warning = WITHOUT[why]
    places = {name: value.format(empty=tmp_path / "empty", file=tmp_path / "file") for name, value in given.items()}
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")}
    command = [sys.executable, "-c", f"{NOBODY}{CHART}\n{CHART}"]
    result = subprocess.run(command, env=environment | places, capture_output=True, text=True, check=True)
    assert result.stdout == "1.0\n1.0\n"
    assert result.stderr.count("XLA fills the charts") == bool(warning) and warning in result.stderr

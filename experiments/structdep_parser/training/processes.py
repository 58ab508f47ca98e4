"""`structdep train` in processes of its own, each with its own memory."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence

Train = Callable[[Sequence[str]], int]
"""Runs the command line of structdep train; its exit status."""
STOPPED = 130
"""The exit status of a run that was interrupted."""


def train(arguments: Sequence[str]) -> int:
    """Run it as from the command line."""
    return subprocess.run(_command(arguments), env=_environment(), check=False).returncode


def train_beside(arguments: Sequence[str], processes: int, tell: Callable[[str], None]) -> int:
    """Run it on its share of the cores where so many processes run at once; `tell` is told its lines."""
    threads = str(max(1, (os.cpu_count() or 1) // processes))
    own = {"NPROC": threads, "COLUMNS": "120"}  # XLA's threads, and rich's width where there is no terminal
    with subprocess.Popen(
        _command(arguments), env=_environment() | own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            tell(line.rstrip("\n"))
    return process.returncode


def _command(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "structdep_parser", "train", *arguments]


def _environment() -> dict[str, str]:
    """With the paths of this process, whichever installation or checkout it runs from."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

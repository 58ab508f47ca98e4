"""The compiled libraries of the CPU engine: which one this processor runs, and its functions.

A wheel brings a library for each instruction set in `lib` (CMakeLists.txt makes them). Nothing is compiled at run time.
"""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from pathlib import Path

import jax
import jax.export

from structdep._once import once

FOLDERS = [Path(folder) / "lib" for folder in sys.modules[__package__].__path__]
"""One; editable installations have another, beside the package's sources."""
TARGET = "structdep_chart"
VARIABLE = "STRUCTDEP_ISA"
INSTRUCTION_SETS = ("avx512", "avx2", "baseline")
"""For which wheels have libraries, the best first. Each processor that runs one runs those after it."""


def is_there() -> bool:
    """Whether charts can be filled by the compiled engine."""
    return _library() is not None


def why_not() -> str:
    """Why the compiled engine is not there; empty if it is."""
    return _loaded()[1]


def warn() -> None:
    """Warn that the compiled engine is not there. Python's default filter shows the first of these warnings."""
    warnings.warn(
        f"XLA fills charts on CPUs, 5 to 140 times slower than structdep's compiled engine: {why_not()}. Each new "
        "array shape compiles for seconds to a minute. Install a wheel of structdep; or install g++ or clang++, then "
        "structdep from source (pip install --force-reinstall --no-deps --no-cache-dir structdep). `python -m "
        "structdep doctor` checks the installation. STRUCTDEP_ENGINE=xla silences this warning.",
        stacklevel=1,
    )


def _library() -> ctypes.CDLL | None:
    return _loaded()[0]


@once()
def _loaded() -> tuple[ctypes.CDLL | None, str]:
    """The library, registered with JAX; or why there is none."""
    name = instruction_set()
    if name is None:
        return None, f"there is no compiled library in {FOLDERS[0]}"
    try:
        library = ctypes.CDLL(str(installed()[name]))
    except OSError as error:
        return None, f"the compiled library cannot be loaded: {error}"
    library.structdep_most_bytes.restype = library.structdep_free_memory.restype = ctypes.c_size_t
    library.structdep_limit_memory.argtypes = [ctypes.c_size_t]
    function = jax.ffi.pycapsule(getattr(library, TARGET))  # type: ignore[no-untyped-call]
    jax.ffi.register_ffi_target(TARGET, function, platform="cpu")
    return library, ""


def register() -> None:
    """Register the library with JAX, also for programs that another process exported."""
    _library()


def instruction_set() -> str | None:
    """The instruction set of the library in use: the best one of this processor, or that of `STRUCTDEP_ISA`.

    Raises:
        ValueError: `STRUCTDEP_ISA` names no library that is installed.
    """
    there = installed()
    wanted = os.environ.get(VARIABLE)
    if wanted and wanted not in there:
        raise ValueError(f"{VARIABLE}={wanted}: write one of the installed: {', '.join(there) or 'there is none'}")
    if wanted or not there:
        return wanted
    best = INSTRUCTION_SETS.index(of_processor())
    return next((name for name in INSTRUCTION_SETS[best:] if name in there), None)


def installed() -> dict[str, Path]:
    """The libraries that are installed, by instruction set."""
    libraries = [path for folder in FOLDERS for path in sorted(folder.glob("chart_*.so"))]
    return {path.stem.removeprefix("chart_"): path for path in libraries}


def of_processor() -> str:
    """The best instruction set of this processor."""
    path = next(path for folder in FOLDERS if (path := folder / "processor.so").exists())
    library = ctypes.CDLL(str(path))
    library.structdep_instruction_set.restype = ctypes.c_char_p
    name: bytes = library.structdep_instruction_set()
    return name.decode()


def export_checks() -> list[jax.export.DisabledSafetyCheck]:
    """The safety checks of `jax.export` to disable for a program that fills charts on CPUs.

    A process that calls the exported program must import structdep, in the same version, with its compiled CPU engine.

    Returns:
        The argument `disabled_checks` of `jax.export.export`.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> from jax import export
        >>> best = jax.jit(lambda scores: sd.argmax(sd.charts.eisner(), scores))
        >>> exported = export.export(best, disabled_checks=sd.export_checks())(jnp.zeros((3, 4, 4)))
        >>> exported.call(jnp.zeros((3, 4, 4))).shape
        (3, 3)
    """
    return [jax.export.DisabledSafetyCheck.custom_call(TARGET)]


def most_bytes() -> int:
    """The most memory that its charts have taken at once since this was asked last."""
    library = _library()
    return library.structdep_most_bytes() if library else 0


def set_chart_memory(bytes: int) -> None:
    """Limit the memory of the charts that the CPU engine fills.

    A query that needs more raises an error, which states the number of bytes. Up to 3 GiB within the limit are kept
    between queries: `free_chart_memory` frees them.

    Args:
        bytes: the most that all charts of this process take at once, kept memory included. 0, the default limit: the
            memory of the machine.

    Raises:
        ValueError: `bytes` is negative.

    Example:
        >>> set_chart_memory(8 * 2**30)
        >>> set_chart_memory(0)
    """
    if bytes < 0:
        raise ValueError(f"a limit of {bytes} bytes: give a number of bytes from 0 on, 0 for the memory of the machine")
    if library := _library():
        library.structdep_limit_memory(bytes)


def free_chart_memory() -> int:
    """Free the memory of charts that the CPU engine keeps between queries.

    Returns:
        The number of bytes that were freed.

    Example:
        >>> free_chart_memory() >= 0
        True
    """
    library = _library()
    return library.structdep_free_memory() if library else 0

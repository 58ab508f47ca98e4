"""The compiled form of `chart.cc` and `parse.cc`: made once on each machine, by its C++ compiler, for its processor.

It is kept in `$XDG_CACHE_HOME/structdep` (or `~/.cache/structdep`). Without a compiler, or without a folder that can be
written, a warning says so, and XLA fills the charts; `STRUCTDEP_ENGINE=xla` asks for that. Developers check the C++
with `STRUCTDEP_SANITIZE` (see Makefile).
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

import jax
import jax.export

from structdep._once import once

try:
    import fcntl
except ImportError:  # where there is no such lock, two processes may compile the same file: the last one replaces it
    fcntl = None  # type: ignore[assignment]

SOURCES = Path(__file__).parent
TARGET = "structdep_chart"
UNITS = (("chart.cc",), ("parse.cc", "-DSTRUCTDEP_NUMBER=float"), ("parse.cc", "-DSTRUCTDEP_NUMBER=double"))
"""What is compiled at once."""

FLAGS = ("-std=c++17", "-fPIC", "-O3", "-fno-unswitch-loops", "-fno-math-errno", "-fno-trapping-math")
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-O1", "-g")
QUIET = ("-Wno-psabi", "-w")
FOR_THIS_PROCESSOR = ("-march=native", "-mcpu=native", "")
"""What asks for all instructions of this processor: the first that the compiler knows."""

_limit = 0  # of `set_chart_memory`; 0: the default


def is_there() -> bool:
    """Whether charts can be filled by it."""
    return _library() is not None


@once()
def _library() -> ctypes.CDLL | None:
    """The library, compiled if it is not yet, and registered with JAX; nothing where that cannot be done."""
    try:
        library = ctypes.CDLL(str(compiled()))
    except OSError as error:
        warnings.warn(
            f"XLA fills the charts, which takes longer (STRUCTDEP_ENGINE=xla: no warning): {error}", stacklevel=2
        )
        return None
    library.structdep_most_bytes.restype = library.structdep_free_memory.restype = ctypes.c_size_t
    library.structdep_limit_memory.argtypes = [ctypes.c_size_t]
    library.structdep_limit_memory(_limit)
    function = jax.ffi.pycapsule(getattr(library, TARGET))  # type: ignore[no-untyped-call]
    jax.ffi.register_ffi_target(TARGET, function, platform="cpu")
    return library


def register() -> None:
    """Register the library with JAX if it is compiled, so that programs that another process exported find it."""
    with suppress(OSError):
        if _is_whole(_place()):
            _library()


def export_checks() -> list[jax.export.DisabledSafetyCheck]:
    """The safety checks of `jax.export` to disable for a program that fills charts on CPUs.

    A process that calls the exported program must import structdep, in the same version, and have the compiled library.

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
    """Limit the memory of the charts that C++ fills on CPUs.

    A query that needs more raises an error that tells how much. Up to 3 GiB within the limit are kept between queries:
    `free_chart_memory` frees them.

    Args:
        bytes: The most that all charts of this process take at once, kept memory included. 0: the memory of the
            machine, as by default.

    Raises:
        ValueError: `bytes` is negative.

    Example:
        >>> set_chart_memory(8 * 2**30)
        >>> set_chart_memory(0)
    """
    global _limit
    if bytes < 0:
        raise ValueError(f"a limit of {bytes} bytes: give a number of bytes from 0 on, 0 for the memory of the machine")
    _limit = int(bytes)
    if library := _made():
        library.structdep_limit_memory(_limit)


def free_chart_memory() -> int:
    """Free the memory that the charts that C++ fills keep between queries.

    Returns:
        The number of bytes of charts that were freed.

    Example:
        >>> free_chart_memory() >= 0
        True
    """
    library = _made()
    return library.structdep_free_memory() if library else 0


def _made() -> ctypes.CDLL | None:
    """The library if it is in use: it is not compiled for this."""
    return None if _library.is_empty else _library()


def compiled() -> Path:
    """The compiled library. Raises OSError where there is none, and it cannot be made."""
    place = _place()
    if not _is_whole(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        with _alone(place.parent / ".lock"):
            if not _is_whole(place):  # still, after other processes
                _compile(place)
    return place


def _place() -> Path:
    return cache_folder() / f"chart-{_fingerprint()}.so"


def cache_folder() -> Path:
    """Where compiled programs are kept. Raises OSError where the user has no home."""
    if own := os.environ.get("XDG_CACHE_HOME"):
        return Path(own) / "structdep"
    try:
        return Path.home() / ".cache" / "structdep"
    except RuntimeError:
        raise OSError("there is no home folder to keep compiled programs in: name a folder by XDG_CACHE_HOME") from None


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """One process at a time. The system releases the lock of a process that ends, in whatever way."""
    with place.open("w") as file:
        if fcntl:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_whole(place: Path) -> bool:
    """Whether a library is there as it was sealed: to load half of one can end the process."""
    try:
        sealed = place.read_bytes()
    except FileNotFoundError:
        return False
    return hashlib.sha256(sealed[:-32]).digest() == sealed[-32:]


def _seal(library: Path) -> None:
    """Appends the library's digest, which no loader reads."""
    made = library.read_bytes()
    library.write_bytes(made + hashlib.sha256(made).digest())


def _flags() -> tuple[str, ...]:
    return FLAGS + SANITIZED if os.environ.get("STRUCTDEP_SANITIZE") else FLAGS


def _fingerprint() -> str:
    """Of all that the compiled code depends on."""
    sources = sorted([*SOURCES.glob("*.cc"), *SOURCES.glob("*.h")])
    parts = [source.read_bytes() for source in sources]
    parts += [text.encode() for text in (*_flags(), version("jaxlib"), platform.machine(), _processor())]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _processor() -> str:
    """What instructions it has, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())


def _compile(place: Path) -> None:
    command = compiler()
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        made = Path(folder) / place.name
        objects = [f"{folder}/{number}.o" for number in range(len(UNITS))]
        for processor in FOR_THIS_PROCESSOR:
            options = [*_flags(), *QUIET, *processor.split(), f"-I{jax.ffi.include_dir()}"]
            units = [
                [*command, *options, *flags, "-c", str(SOURCES / source), "-o", to]
                for (source, *flags), to in zip(UNITS, objects, strict=True)
            ]
            errors = _errors(*units) or _errors([*command, *_flags(), "-shared", *objects, "-o", str(made)])
            if not errors:
                _seal(made)
                made.replace(place)
                return
    raise OSError(f"{shlex.join(command)} cannot compile chart.cc and parse.cc: {errors[-500:]}")


def _errors(*commands: list[str]) -> str:
    """What is wrong with commands, which run side by side."""
    with ThreadPoolExecutor(len(commands)) as threads:
        results = threads.map(lambda command: subprocess.run(command, capture_output=True, text=True), commands)
    return "\n".join(result.stderr.strip() for result in results if result.returncode)


def compiler() -> list[str]:
    """The command of the C++ compiler. Raises OSError where there is none."""
    if named := shlex.split(os.environ.get("CXX", "")):
        return named
    found = next((path for name in ("c++", "g++", "clang++") if (path := shutil.which(name))), None)
    if not found:
        raise OSError("there is no C++ compiler: install g++ or clang++, or name one by CXX")
    return [found]

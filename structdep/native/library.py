"""The compiled form of `chart.cc` and `parse.cc`: made once on each machine, by its C++ compiler, for its processor.

It is kept in `$XDG_CACHE_HOME/structdep` (or `~/.cache/structdep`). Where there is no compiler, or `STRUCTDEP_NATIVE=0`
is set, XLA does all of the work.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import version
from pathlib import Path

import jax

SOURCES = Path(__file__).parent
TARGET = "structdep_chart"
UNITS = (("chart.cc",), ("parse.cc", "-DSTRUCTDEP_NUMBER=float"), ("parse.cc", "-DSTRUCTDEP_NUMBER=double"))
"""What is compiled at once."""

FLAGS = ("-std=c++17", "-fPIC", "-O3", "-fno-unswitch-loops", "-fno-math-errno", "-fno-trapping-math")
QUIET = ("-Wno-psabi", "-w")
FOR_THIS_PROCESSOR = ("-march=native", "-mcpu=native", "")
"""What asks for all instructions of this processor: the first that the compiler knows."""

logger = logging.getLogger(__name__)


def is_there() -> bool:
    """Whether charts can be filled by it."""
    return _library() is not None


@cache
def _library() -> ctypes.CDLL | None:
    """The library, compiled if it is not yet, and registered with JAX; nothing where that cannot be done."""
    if os.environ.get("STRUCTDEP_NATIVE") == "0":
        return None
    try:
        library = ctypes.CDLL(str(compiled()))
    except OSError as error:
        logger.info("charts are filled by XLA: %s", error)
        return None
    function = jax.ffi.pycapsule(getattr(library, TARGET))  # type: ignore[no-untyped-call]
    jax.ffi.register_ffi_target(TARGET, function, platform="cpu")
    library.structdep_most_bytes.restype = ctypes.c_size_t
    return library


def most_bytes() -> int:
    """The most memory that its charts have taken at once since this was asked last."""
    library = _library()
    return library.structdep_most_bytes() if library else 0


def compiled() -> Path:
    """The compiled library. Raises OSError where there is none, and it cannot be made."""
    place = _folder() / f"chart-{_fingerprint()}.so"
    if not place.exists():
        _compile(place)
    return place


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "structdep"


def _fingerprint() -> str:
    """Of all that the compiled code depends on."""
    sources = sorted([*SOURCES.glob("*.cc"), *SOURCES.glob("*.h")])
    parts = [source.read_bytes() for source in sources]
    parts += [text.encode() for text in (*FLAGS, version("jaxlib"), platform.machine(), _processor())]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _processor() -> str:
    """What instructions it has, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())


def _compile(place: Path) -> None:
    compiler = _compiler()
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        made = Path(folder) / place.name
        objects = [f"{folder}/{number}.o" for number in range(len(UNITS))]
        for processor in FOR_THIS_PROCESSOR:
            options = [*FLAGS, *QUIET, *processor.split(), f"-I{jax.ffi.include_dir()}"]
            units = [
                [*compiler, *options, *flags, "-c", str(SOURCES / source), "-o", to]
                for (source, *flags), to in zip(UNITS, objects, strict=True)
            ]
            errors = _errors(*units) or _errors([*compiler, "-shared", *objects, "-o", str(made)])
            if not errors:
                made.replace(place)
                return
    raise OSError(f"{shlex.join(compiler)} cannot compile chart.cc and parse.cc: {errors[-500:]}")


def _errors(*commands: list[str]) -> str:
    """What is wrong with commands, which run side by side."""
    with ThreadPoolExecutor(len(commands)) as threads:
        results = threads.map(lambda command: subprocess.run(command, capture_output=True, text=True), commands)
    return "\n".join(result.stderr.strip() for result in results if result.returncode)


def _compiler() -> list[str]:
    """The command of the C++ compiler."""
    if named := shlex.split(os.environ.get("CXX", "")):
        return named
    found = next((path for name in ("c++", "g++", "clang++") if (path := shutil.which(name))), None)
    if not found:
        raise OSError("there is no C++ compiler: install g++ or clang++, or name one by CXX")
    return [found]

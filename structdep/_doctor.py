"""What an installation consists of, and whether its charts are right. Bug reports begin with this."""

from __future__ import annotations

import os
import platform
import sys
import time
import warnings
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import jax
import numpy as np
from numpy.typing import ArrayLike

import structdep as sd
from structdep import testing
from structdep._engines.choice import OF_PLATFORM, default_platform
from structdep._engines.cpu import library
from structdep.deduction import DeductionSystem

PACKAGES = ("structdep", "jax", "jaxlib", "numpy")
OPTIONAL = ("flax", "optax", "jax-cuda12-plugin", "libtpu")
SETTINGS = ("STRUCTDEP_", "JAX_", "XLA_", "CUDA_VISIBLE_DEVICES")
WORDS = 4
TOLERANCE = 1e-3
CHECKED = {
    "eisner": sd.charts.eisner(),
    "mh4": sd.charts.mhk(4),
    "mh4_trees": sd.charts.mh4_trees(),
    "one_endpoint_crossing": sd.charts.one_endpoint_crossing(),
}


def main() -> int:
    """Print the report. Returns 1 if a check fails, else 0."""
    for title, text in facts():
        print(f"{title:13} {text}", flush=True)
    failed = 0
    for name, error, seconds in checks():
        failed += bool(error)
        print(f"{'check':13} {name}: {error or 'agrees with enumeration'} ({seconds:.1f} s)", flush=True)
    return int(bool(failed))


def facts() -> Iterator[tuple[str, str]]:
    """Titles and texts of the report's lines, without the checks."""
    yield "system", f"{platform.platform()}, {platform.machine()}, {os.cpu_count()} processors"
    yield "Python", f"{platform.python_version()}, {sys.executable}"
    yield "packages", ", ".join(f"{name} {_version(name) or 'missing'}" for name in PACKAGES)
    yield "optional", ", ".join(f"{name} {_version(name)}" for name in OPTIONAL if _version(name)) or "none"
    yield "devices", ", ".join(f"{device.platform}:{device.id} {device.device_kind}" for device in jax.devices())
    yield (
        "CPU engine",
        library.why_not() or (f"{library.instruction_set()} (installed: {', '.join(library.installed())})"),
    )
    yield "memory", f"{_memory() / 2**30:.1f} GiB (structdep.set_chart_memory limits the charts' part)"
    names = OF_PLATFORM | {"others": ("xla",)}
    yield "engines", "; ".join(f"{where}: {', '.join(order)}" for where, order in names.items())
    settings = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(SETTINGS)]
    yield "environment", " ".join(settings) or "no settings"
    with warnings.catch_warnings(action="ignore"):
        answers = sd.describe(CHECKED["mh4"], semiring=sd.LogSum)
    for line in answers.splitlines():
        yield "", line


def checks() -> Iterator[tuple[str, str, float]]:
    """For each engine of the default platform: its name and the system's, the first difference, and seconds."""
    names = OF_PLATFORM.get(default_platform(), ("xla",))
    for engine in names:
        if engine == "cpu" and not library.is_there():
            continue
        # XLA compiles for seconds, so it is asked about one system.
        for name, system in [*CHECKED.items()][: 1 if engine == "xla" else None]:
            start = time.perf_counter()
            yield f"{engine}, {name}", _difference(engine, system), time.perf_counter() - start


def _difference(engine: str, system: DeductionSystem) -> str:
    scores = np.random.default_rng(0).normal(size=(WORDS + 1, WORDS + 1)).astype(np.float32)
    expected: dict[str, ArrayLike] = {
        "best score": testing.value(system, WORDS, scores, testing.MAX),
        "log-partition": testing.value(system, WORDS, scores, testing.LOG),
        "marginals": testing.expected_counts(system, WORDS, scores)["arc"],
    }
    with sd.use_engine(engine):
        found = {
            "best score": sd.inside(system, scores),
            "log-partition": sd.inside(system, scores, semiring=sd.LogSum),
            "marginals": jax.grad(lambda arcs: sd.inside(system, arcs, semiring=sd.LogSum))(scores),
        }
    for query, value in expected.items():
        if not np.allclose(found[query], value, atol=TOLERANCE):
            return f"{query} is {np.asarray(found[query]).tolist()}, by enumeration {np.asarray(value).tolist()}"
    return ""


def _memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None

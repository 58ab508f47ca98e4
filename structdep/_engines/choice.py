"""Which engine serves a request: decided when a program is lowered, by the platform that it is lowered for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

import jax
from numpy.typing import ArrayLike

from structdep._engines import cpu, gpu, xla
from structdep._engines.query import Answer, Arguments, Query, Request, chosen
from structdep.deduction import LABEL
from structdep.semirings import KBest, LogSum, MaxPlus, Pair, Semiring
from structdep.semirings.base import chart_of, instance
from structdep.trees.classes import System, check_system


class Engine(Protocol):
    """Fills charts."""

    name: str

    def refuses(self, request: Request, platform: str) -> str:
        """Why the engine cannot serve the request on the platform; empty if it can."""

    def run(self, request: Request, arguments: Arguments, platform: str) -> Answer:
        """The answer, traced by JAX."""


XLA: Engine = xla.Engine()
ENGINES: dict[str, Engine] = {engine.name: engine for engine in (cpu.Engine(), gpu.Engine(), XLA)}
PLATFORMS = "cpu", "cuda", "rocm", "tpu"
OF_PLATFORM = {"cpu": ("cpu", "xla"), "cuda": ("gpu", "xla")}
"""The engines of each platform, the fastest first; on other platforms, XLA's."""

VARIABLE = "STRUCTDEP_ENGINE"
_wanted = jax.make_user_context(os.environ.get(VARIABLE) or None)  # type: ignore[no-untyped-call]


def use_engine(name: str | None) -> AbstractContextManager[Any]:
    """A context in which one engine fills all charts that it can fill; XLA fills the others.

    The environment variable `STRUCTDEP_ENGINE` names an engine for the whole process. Functions that `jax.jit` has
    compiled with another engine are compiled again in this context.

    Args:
        name: "xla", "cpu" (compiled C++), "gpu" (Pallas kernels; elsewhere than on NVIDIA GPUs, JAX interprets them,
            slowly), or None: the fastest engine of the platform.

    Returns:
        A context manager.

    Raises:
        ValueError: no engine has this name.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> with sd.use_engine("xla"):
        ...     sd.argmax(sd.charts.eisner(), jnp.zeros((3, 3)).at[2, 1].set(1.0))
        Array([2, 0], dtype=int32)
    """
    _check(name, "use_engine")
    context: AbstractContextManager[Any] = _wanted(name)
    return context


def wanted() -> str | None:
    """The engine that is asked for."""
    name: str | None = _wanted.value
    _check(name, VARIABLE)
    return name


def _check(name: str | None, where: str) -> None:
    if name is not None and name not in ENGINES:
        raise ValueError(f"{where}: there is no engine {name!r}: write one of {', '.join(map(repr, ENGINES))}")


def engine_for(request: Request, platform: str) -> Engine:
    return next(engine for engine in _candidates(request, platform) if not engine.refuses(request, platform))


def _candidates(request: Request, platform: str) -> list[Engine]:
    names = OF_PLATFORM.get(platform, ()) if request.engine is None else (request.engine,)
    return [*(ENGINES[name] for name in names if name != XLA.name), XLA]


def describe(
    system: System,
    scores: ArrayLike | Mapping[str, ArrayLike] | Iterable[str] = ("arc",),
    semiring: Semiring | type[Semiring] = MaxPlus,
    platform: str | None = None,
) -> str:
    """Which engine answers each query of a system, and why a faster engine does not answer it.

    Args:
        system: a class of trees.
        scores: scores as for `inside`, or only their names.
        semiring: a class or an instance.
        platform: "cpu", "cuda", "rocm" or "tpu"; default: the platform of JAX's default device.

    Returns:
        A title, and a line for each query.

    Raises:
        TypeError: `system` is no class of trees, or `semiring` is no semiring.
        ValueError: there is no such platform, or the system has no such score.

    Example:
        >>> import structdep as sd
        >>> print(sd.describe(sd.charts.mhk(4), semiring=sd.LogSum, platform="tpu"))
        mh4 in LogSum, scores arc, on tpu:
          value: xla
          expected counts: xla
          sample: xla
    """
    check_system(system)
    chart = chart_of(instance(semiring))
    names = _names(scores)
    if platform not in (None, *PLATFORMS):
        raise ValueError(f"{platform!r} is no platform: expected one of {', '.join(PLATFORMS)}")
    if unknown := [name for name in names if name not in system.declared]:
        raise ValueError(f"{system.name} has no score {unknown[0]!r}, it declares {sorted(system.declared)}")
    if isinstance(chart, Pair):  # a chart of each
        return "\n".join(describe(system, names, part, platform) for part in chart.both)
    platform = platform or default_platform()
    lines = [f"{system.name} in {type(instance(semiring)).__name__}, scores {', '.join(names)}, on {platform}:"]
    for query in _queries(chart):
        request = Request(chosen(system, chart, names), chart, query, names, engine=wanted())
        candidates = _candidates(request, platform)
        refusals = [(engine.name, engine.refuses(request, platform)) for engine in candidates]
        name = next(name for name, why in refusals if not why)
        lines.append("; ".join([f"  {query.value}: {name}", *(f"not {n}: {why}" for n, why in refusals if why)]))
    return "\n".join(lines)


def _names(scores: Any) -> tuple[str, ...]:
    """The names of the scores that a chart reads: labels are summed into arcs before."""
    are_names = isinstance(scores, list | tuple | set | frozenset) and all(isinstance(name, str) for name in scores)
    given = {*scores} if isinstance(scores, Mapping) or are_names else set()
    return tuple(sorted({*given, "arc"} - {LABEL}))


def _queries(semiring: Semiring) -> list[Query]:
    """Those that make sense in a semiring."""
    if semiring.idempotent or isinstance(semiring, KBest):
        return [Query.VALUE, Query.BEST]
    return [Query.VALUE, Query.EXPECTED_COUNTS, *([Query.SAMPLE] if isinstance(semiring, LogSum) else [])]


def default_platform() -> str:
    """The platform of JAX's default device, as a lowering names it."""
    backend = jax.default_backend()
    return "cuda" if backend == "gpu" else backend

"""What one compiled program takes: to compile, to run, and in memory."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AxisType

import structdep as sd
from structdep._engines.cpu import library
from structdep.batching import compiler_options, on_devices
from structdep.trees.classes import System

SYSTEMS = {
    "eisner": sd.charts.eisner(),
    "arc_hybrid": sd.charts.arc_hybrid(),
    "arc_eager": sd.charts.arc_eager(),
    "arc_standard": sd.charts.arc_standard(),
    "mh4": sd.charts.mhk(4),
    "mh4_trees": sd.charts.mh4_trees(),
    "one_endpoint_crossing": sd.charts.one_endpoint_crossing(),
    "crossing_sensitive": sd.charts.crossing_sensitive(),
}

Scores = dict[str, jax.Array]


def max_score(system: sd.DeductionSystem, scores: Scores) -> Any:
    return sd.inside(system, scores)


def log_partition(system: sd.DeductionSystem, scores: Scores) -> Any:
    return sd.inside(system, scores, semiring=sd.LogSum)


def with_marginals(system: sd.DeductionSystem, scores: Scores) -> Any:
    value, gradient = jax.vjp(partial(log_partition, system), scores)
    return value, gradient(jnp.ones_like(value))


def one_sample(system: sd.DeductionSystem, scores: Scores) -> Any:
    return sd.sample(system, scores, jax.random.key(0))


def five_best(system: sd.DeductionSystem, scores: Scores) -> Any:
    trees = sd.TreeDistribution(system, scores).k_best(5)
    return jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, 1), trees)


WORK = {
    "max": max_score,
    "argmax": sd.argmax,
    "log-partition": log_partition,
    "with gradient": with_marginals,
    "sample": one_sample,
    "5-best": five_best,
}
USUAL = ("max", "argmax", "log-partition", "with gradient")


def is_possible(system: str, work: str) -> bool:
    """Whether the system can do it: the best trees are all different only where each is derived once."""
    return work != "5-best" or SYSTEMS[system].unambiguous


@dataclass
class Measured:
    """One program: seconds until it has run once, temporary memory in MB, and milliseconds a sentence of each run."""

    system: str
    work: str
    words: int
    batch: int
    compile_seconds: float
    megabytes: float
    runs: list[float] = field(default_factory=list)

    @property
    def program(self) -> tuple[str, str, int, int]:
        return self.system, self.work, self.words, self.batch

    @property
    def milliseconds(self) -> float:
        return median(self.runs)


def random_scores(system: sd.DeductionSystem, words: int, batch: int) -> Scores:
    """Of all names that the system declares."""
    shapes = shapes_of(system, words, batch)
    keys = jax.random.split(jax.random.key(0), len(shapes))
    return {name: jax.random.normal(key, shape) for key, (name, shape) in zip(keys, shapes.items(), strict=True)}


def shapes_of(system: System, words: int, batch: int) -> dict[str, tuple[int, ...]]:
    """The shapes of all tables of scores that the system declares."""
    return {name: (batch, *[words + 1 + score.sentinel] * arity) for name, (score, arity) in system.declared.items()}


def seconds(program: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """That one call takes, until its results are there; after another one, as other programs had the caches."""
    jax.block_until_ready(program())
    start = clock()
    jax.block_until_ready(program())
    return clock() - start


def compiled(
    work: Callable[..., Any], scores: Any, options: Mapping[str, Any] | None = None
) -> tuple[Callable[[], Any], float]:
    """The program for these scores `[batch, ..]`, and its temporary memory in MB: XLA's and that of charts in C++.

    The batch is shared by as many devices as can have equal parts of it. `options` of XLA are added to structdep's.
    """
    devices = math.gcd(len(jax.tree.leaves(scores)[0]), jax.device_count())
    mesh = jax.make_mesh((devices,), ("batch",), (AxisType.Auto,))
    program: Any = jax.jit(on_devices(work, mesh)).lower(scores).compile(compiler_options() | dict(options or {}))
    ((placement,), _) = program.input_shardings
    run = partial(program, jax.device_put(scores, placement))
    _memory_of_charts()
    jax.block_until_ready(run())
    return run, (devices * program.memory_analysis().temp_size_in_bytes + _memory_of_charts()) / 1e6


def _memory_of_charts() -> int:
    """The most bytes that charts in C++ have taken at once since this was asked last."""
    return library.most_bytes() if jax.default_backend() == "cpu" else 0


def measure(pairs: Sequence[tuple[str, str]], words: int, batch: int, rounds: int) -> list[Measured]:
    """Programs of one size, run in turn, round after round, so that a busy machine slows all of them alike."""
    programs = []
    scores = {system: random_scores(SYSTEMS[system], words, batch) for system, _ in pairs}
    _memory_of_charts()  # the program in C++ is compiled once on a machine, not for a system
    for system, work in pairs:
        start = time.perf_counter()
        program, megabytes = compiled(partial(WORK[work], SYSTEMS[system]), scores[system])
        compiling = time.perf_counter() - start
        programs.append((program, Measured(system, work, words, batch, compiling, megabytes)))
    for _ in range(rounds):
        for run, measured in programs:
            measured.runs.append(seconds(run) * 1e3 / batch)
    return [measured for _, measured in programs]

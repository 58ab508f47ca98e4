"""Random systems: every engine says of values, counts, best derivations and samples what the reference says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from random_systems import systems
from reference_checks import check, check_one_root

import structdep as sd
from structdep._lowering import groups
from structdep.deduction import DeductionSystem

BLOCK = 20
"""Systems of one test."""


def blocks(fast: int, slow: int) -> pytest.MarkDecorator:
    """A parameter `number`: the first `fast` values run by default, the next `slow` values are marked slow."""
    numbers = [*range(fast), *(pytest.param(number, marks=pytest.mark.slow) for number in range(fast, fast + slow))]
    return pytest.mark.parametrize("number", numbers)


def check_block(number: int, size: int, check: Callable[[DeductionSystem, Any, int], None] = check) -> None:
    """Systems of one seed; in double precision for every other one."""

    @seed(number)
    @settings(
        max_examples=size,
        derandomize=False,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(systems())
    def each(system: DeductionSystem) -> None:
        check(system, np.float64 if number % 2 else np.float32, number)

    with jax.enable_x64(bool(number % 2)):
        each()
    jax.clear_caches()  # type: ignore[no-untyped-call]  # thousands of programs are more than a process can hold


@blocks(3, 253)
def test_by_the_engine_for_cpus(number: int) -> None:
    check_block(number, BLOCK)


@blocks(1, 52)
def test_by_xla(number: int, by_xla: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third one in groups as large as can be."""
    if number % 3 == 2:
        monkeypatch.setattr(groups, "PADDING", 1.0)
    check_block(number, BLOCK // 4)


@blocks(0, 10)
def test_by_kernels_for_gpus(number: int) -> None:
    with sd.use_engine("gpu"):
        check_block(number, BLOCK // 4)


@blocks(1, 20)
def test_one_root_by_the_engine_for_cpus(number: int) -> None:
    """Sums over the listed derivations that use one arc from the root."""
    with sd.use_engine("cpu"):
        check_block(number, BLOCK // 2, check_one_root)

"""The C++ reads no program, and takes no array, that does not fit, and no more memory than it may."""

import os
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import structdep as sd
from structdep._engines.cpu import WANTS, library
from structdep._engines.cpu.program import check_sum, program
from structdep.deduction import DeductionSystem, Item, arc, either, indices, n

pytestmark = pytest.mark.skipif(not library.is_there(), reason="the compiled CPU engine is not installed")

is_sanitized = os.environ.get("STRUCTDEP_ISA") == "sanitized"  # nothing is kept then
WORDS = 5
VALUE, USES, BEST, SAMPLE = range(len(WANTS))
SYSTEMS = [
    sd.charts.eisner(),
    sd.charts.arc_hybrid(transitions=True),
    sd.charts.mhk(4),
    sd.charts.one_endpoint_crossing(),
]
ERRORS = ValueError, jax.errors.JaxRuntimeError
"""Of XLA, when it waits for a program, and when it does not."""

Numbers = NDArray[np.int32]


def call(numbers: Numbers, system: DeductionSystem, want: int = BEST, adds: bool = False, **changed: Any) -> list[Any]:
    """What the C++ makes of a program for a system's scores, with some of its arguments `changed`."""
    nodes = WORDS + 1 + system.last
    shapes = [(3, *[nodes] * arity) for _, (_, arity) in sorted(system.declared.items())]
    wanted = [(3,), *(shapes if want != VALUE else [])]
    results = [jax.ShapeDtypeStruct(shape, np.float32) for shape in wanted]  # type: ignore[no-untyped-call]
    rng = np.random.default_rng(0)
    arrays = [*(rng.normal(size=shape).astype(np.float32) for shape in shapes), np.array([WORDS, 2, 1], np.int32)]
    if want == SAMPLE:
        arrays.append(np.zeros((3, 2), np.uint32))
    given = {"results": results, "arrays": arrays, "arc": -1} | changed
    made = jax.ffi.ffi_call(library.TARGET, given["results"])(
        *given["arrays"], program=numbers, adds=adds, want=np.int32(want), arc=np.int32(given["arc"])
    )
    return [np.asarray(one) for one in made]


def numbers_of(system: DeductionSystem) -> Numbers:
    return program(system, tuple(sorted(system.declared)))


def moved(numbers: Numbers, place: int, by: int) -> Numbers:
    return numbers + np.int32(by) * (np.arange(len(numbers)) == place).astype(np.int32)


def sealed(numbers: Numbers) -> Numbers:
    """With the length and the check sum that fit."""
    body = numbers[3:].tolist()
    return np.array([numbers[0], len(numbers), check_sum(body), *body], np.int32)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_programs_that_were_changed_are_refused(system: DeductionSystem) -> None:
    numbers, random = numbers_of(system), Random(0)
    assert np.array_equal(sealed(numbers), numbers) and np.isfinite(call(numbers, system)[0]).all()
    half = sealed(numbers[: len(numbers) // 2])
    other = [(moved(numbers, 0, 1), "version"), (numbers[:0], "length"), (numbers[:-1], "length"), (half, "length")]
    other.append((np.append(numbers, np.int32(0)), "length"))
    for _ in range(5):
        place, by = random.randrange(3, len(numbers)), random.choice([-1, 1, 2**20])
        other.append((moved(numbers, place, by), "check sum"))
    for changed, why in other:
        with pytest.raises(ERRORS, match=rf"program cannot be read \({why}.*made by another version"):
            call(changed, system)


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_programs_that_are_wrong_are_refused_or_run(seed: int) -> None:
    """Numbers are changed at random, and a check sum hides it. The sanitizers see that nothing else is written."""
    random = Random(seed)
    system = SYSTEMS[seed % len(SYSTEMS)]
    numbers, refused = numbers_of(system), 0
    for _ in range(40):
        changed = numbers.copy()
        for _ in range(random.choice([1, 1, 2, 4])):
            place = random.randrange(3, len(numbers))
            changed[place] = random.choice([changed[place] + 1, changed[place] - 1, 0, random.randrange(12), 2**31 - 1])
        want, adds = random.choice([(VALUE, True), (USES, True), (BEST, False), (SAMPLE, True)])
        try:
            call(sealed(changed), system, want, adds)
        except ERRORS as error:
            assert "program cannot be read" in str(error) or "arrays that do not fit" in str(error)
            refused += 1
    assert refused


def test_arrays_that_do_not_fit_a_program_are_refused() -> None:
    system = sd.charts.eisner()
    numbers, scores, lengths = numbers_of(system), np.zeros((3, 6, 6), np.float32), np.zeros(3, np.int32)
    values = jax.ShapeDtypeStruct((3,), np.float32)  # type: ignore[no-untyped-call]
    wrong: list[dict[str, Any]] = [
        {"arrays": [scores]},
        {"arrays": [scores, lengths, lengths]},
        {"arrays": [scores[0], lengths]},
        {"arrays": [scores[:2], lengths]},
        {"arrays": [scores[:, :5], lengths]},
        {"arrays": [scores.astype(np.int32), lengths]},
        {"arrays": [scores, lengths.astype(np.float32)]},
        {"arrays": [scores[:, :0, :0], lengths]},
        {"results": [values]},
        {"results": [values, values]},
        {"want": 7},
        {"want": -1},
        {"arc": 1},
        {"arc": 0},
    ]
    for changed in wrong:
        with pytest.raises(ERRORS, match="arrays that do not fit a chart's program"):
            call(numbers, system, **changed)


@pytest.mark.parametrize("count, expected", [(3, 13.375132), (41, 89.886475), (201, 420.36987)])
def test_items_have_any_number_of_axioms_at_a_width(count: int, expected: float) -> None:
    i, j, k = indices("i j k")
    I, H = Item("I"), Item("H")
    axioms = (I[i, i + 1], *(H[i, i + m, i + count + 2] for m in range(1, count + 1)))
    rules = (I[i, k] * I[k, j] * either(arc[i, k], arc[j, k]) >> I[i, j], H[i, k, j] * arc[i, k] >> I[i, j])
    system = DeductionSystem("many axioms", axioms, rules, goal=I[0, n + 1])
    found = sd.inside(system, jnp.zeros((2, count + 7, count + 7)), semiring=sd.LogSum)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_charts_take_no_more_memory_than_they_may() -> None:
    scores = np.random.default_rng(0).normal(size=(16, 41, 41)).astype(np.float32)
    systems = sd.charts.eisner(), sd.charts.mhk(4), sd.charts.mh4_trees()
    expected = [sd.marginals(system, scores) for system in systems]
    sd.free_chart_memory()
    refused = 0
    try:
        for size in range(12, 28):  # of what some allocations fit, after values, too, and between groups of sentences
            sd.set_chart_memory(2**size)
            for system, arcs in zip(systems, expected, strict=True):
                try:
                    np.testing.assert_array_equal(sd.marginals(system, scores), arcs)
                except ERRORS as error:
                    assert "there is no memory for charts, which need" in str(error) and "bytes more" in str(error)
                    refused += 1
    finally:
        sd.set_chart_memory(0)
    assert refused
    for system, arcs in zip(systems, expected, strict=True):
        np.testing.assert_array_equal(sd.marginals(system, scores), arcs)


def test_memory_that_is_kept_can_be_freed() -> None:
    def query() -> tuple[jax.Array, int]:
        library.most_bytes()
        arcs = sd.marginals(sd.charts.mh4_trees(), jnp.ones((4, 30, 30))).block_until_ready()
        return arcs, library.most_bytes()

    sd.free_chart_memory()
    expected, taken = query()
    freed = sd.free_chart_memory()
    assert taken > 0 and (freed >= taken or is_sanitized)
    assert sd.free_chart_memory() == 0
    assert jnp.array_equal(query()[0], expected)


def test_limits_are_numbers_of_bytes() -> None:
    with pytest.raises(ValueError, match="a limit of -1 bytes: give a number of bytes from 0 on"):
        sd.set_chart_memory(-1)

"""`python -m benchmarks.limits`: what each chart computes, what this machine could do, and what is left between them.

All of charts that XLA fills, as it does on other devices than CPUs. A term is one product of a chart's rules at one set
of positions. `needed` are the terms that the rules have; `computed` are those that the program works on, as boxes hold
more than a chart's corner. `bytes` are read and written in all.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import comb, prod
from statistics import median

import jax
import jax.numpy as jnp

from benchmarks.__main__ import machine
from benchmarks.measure import SYSTEMS, measure, seconds
from structdep import DeductionSystem, chart_bytes, use_engine
from structdep._engines.xla.filling import make_steps
from structdep._engines.xla.steps import Step
from structdep._lowering.plan import Plan, plan
from structdep.batching import compiler_options
from structdep.semirings import MaxPlus

CELLS = (8, 16, 24, 16)
"""The product that the limits are measured with: the first axis is summed. Its values fit a core's cache."""


@dataclass(frozen=True)
class Work:
    """Of one sentence: terms that are needed, and computed, what is moved, and what its charts hold, in bytes."""

    needed: int
    computed: int
    bytes: int
    charts: int


def work(system: DeductionSystem, words: int) -> Work:
    """Of the value of a chart, all scores given."""
    system = system.for_best or system
    made = plan(system, frozenset(system.declared))
    nodes = words + 1 + system.last
    layout = made.layout(nodes - 1)
    computed = moved = 0
    for block in made.blocks(nodes - 1):
        for step in make_steps(made, layout, block):
            widths = block.hi - block.lo + 1
            terms, read, written = _cells(step)
            computed += widths * terms
            moved += 4 * widths * (read + written)
    return Work(_needed(made, nodes), computed, moved, chart_bytes(system, system.declared, words))


def _cells(step: Step) -> tuple[int, int, int]:
    """Of one step at one width: its terms, and the values that it reads and writes."""
    terms = read = 0
    for views, summed in step.products:
        sizes = {d.axis - summed: d.size for view in views for d in view.dims if d.axis is not None}
        terms += prod(step.shape) * prod(size for axis, size in sizes.items() if axis < 0)
        read += sum(prod(d.size for d in view.dims) for view in views)
    return terms, read, len(step.targets) * prod(step.shape)


def _needed(made: Plan, nodes: int) -> int:
    """Sets of nodes for the variables of each product; one that lies outside a span can do so on either side."""
    total = 0
    for fold in (fold for group in made.groups for fold in group.folds):
        sides = 2 if fold.conclusion.is_exterior else 1
        for term in fold.terms:
            variables = fold.conclusion.variables.union(*(atom.variables for atom in term))
            total += sides * comb(nodes, len(variables))
    return total


def rate(term: Callable[[jax.Array, jax.Array], jax.Array], total: Callable[..., jax.Array]) -> float:
    """Terms a second of a product that is summed, as in a chart: one factor lacks a position of the other."""
    repeats = 400
    short, long = jnp.zeros((CELLS[0], 1, *CELLS[2:])), jax.random.uniform(jax.random.key(0), CELLS)

    def again(_: int, short: jax.Array) -> jax.Array:
        return short + 1e-9 * total(term(short, long), axis=0)[:1]

    loop = jax.jit(lambda short: jax.lax.fori_loop(0, repeats, again, short), compiler_options=compiler_options())
    return repeats * prod(CELLS) / usual(partial(loop, short))


def usual(program: Callable[[], jax.Array], rounds: int = 9) -> float:
    """The median of the seconds that it takes, once it is compiled."""
    jax.block_until_ready(program())
    return median(seconds(program) for _ in range(rounds))


def bandwidth(megabytes: int) -> float:
    """Bytes a second that are read and written where an array of this size is added to in a loop."""
    x = jnp.zeros(megabytes * 2**18)
    loop = jax.jit(lambda x: jax.lax.fori_loop(0, 10, lambda _, y: y + 1, x), compiler_options=compiler_options())
    return 10 * 2 * x.nbytes / usual(partial(loop, x))


def limits() -> dict[str, float]:
    """What this machine does in a second."""
    return {
        "terms of a maximum": rate(jnp.add, MaxPlus().sum),
        "terms of a sum of products": rate(jnp.multiply, jnp.sum),
        "terms of a sum of exponentials": rate(lambda a, b: jnp.exp(a + b), jnp.sum),
        "bytes, array of 1 MB": bandwidth(1),
        "bytes, array of 256 MB": bandwidth(256),
    }


COLUMNS = (
    "system | n | needed terms | computed",
    "MB moved | MB in charts | max, ms",
    "at the limit of terms, ms | of bytes, ms",
)


def table(systems: Sequence[str], words: Sequence[int], found: dict[str, float]) -> list[str]:
    lines = [f"| {' | '.join(COLUMNS)} |", "|---|" + "--:|" * 8]
    for name in systems:
        for n in words:
            own = work(SYSTEMS[name], n)
            (taken,) = measure([(name, "max")], n, 32, 9)
            reached = own.computed / found["terms of a maximum"], own.bytes / found["bytes, array of 256 MB"]
            moved = (f"{number / 1e6:.2f}" for number in (own.bytes, own.charts))
            times = (f"{time:.3g}" for time in (taken.milliseconds, *(1e3 * limit for limit in reached)))
            cells = (name, str(n), f"{own.needed:.3g}", f"{own.computed / own.needed:.1f} x", *moved, *times)
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--words", nargs="+", type=int, default=[20, 40], help="sentence lengths (default: 20 40)")
    options = parser.parse_args()
    found = limits()
    print(f"{machine()}\n")
    print("\n".join(f"* {name} a second: {value:.3g}" for name, value in found.items()), end="\n\n")
    with use_engine("xla"):
        print("\n".join(table(options.systems, options.words, found)))


if __name__ == "__main__":
    main()

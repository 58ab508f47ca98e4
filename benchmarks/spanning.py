"""`python -m benchmarks.spanning`: the best of all trees beside Chu-Liu-Edmonds in C++, in one run."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from ufal.chu_liu_edmonds import chu_liu_edmonds  # type: ignore[import-untyped]

import structdep as sd
from benchmarks.__main__ import machine
from benchmarks.measure import seconds
from structdep.spanning import all_trees

HEADER = "| n | batch | ms a sentence | single root | log-partition | with marginals | C++ | C++ / ours |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spanning", description=__doc__)
    parser.add_argument("--words", nargs="+", type=int, default=[20, 40, 80], help="sentence lengths")
    parser.add_argument("--batch", type=int, default=64, help="sentences side by side (default: 64)")
    parser.add_argument("--rounds", type=int, default=21, help="runs of each program (default: 21)")
    options = parser.parse_args()
    print(f"{machine()}; medians of {options.rounds} runs.\n\n{HEADER}\n|{'--:|' * 8}")
    for words in options.words:
        ours, rooted, log_partition, marginals, theirs = measure(words, options.batch, options.rounds)
        cells = [words, options.batch, *(f"{t:.3g}" for t in (ours, rooted, log_partition, marginals, theirs))]
        print(f"| {' | '.join(map(str, cells))} | {theirs / ours:.1f} |", flush=True)


def measure(words: int, batch: int, rounds: int) -> list[float]:
    """Milliseconds a sentence of each program, run in turn, so that a busy machine slows all of them alike."""
    scores = jax.random.normal(jax.random.key(0), (batch, words + 1, words + 1))
    by_dependent = np.ascontiguousarray(np.asarray(scores, np.float64).swapaxes(1, 2))
    programs: list[Callable[[], Any]] = [partial(jax.jit(query), scores) for query in QUERIES]
    programs.append(lambda: [chu_liu_edmonds(sentence) for sentence in by_dependent])
    runs = [[seconds(program) for program in programs] for _ in range(rounds)]
    return [median(times) * 1e3 / batch for times in zip(*runs, strict=True)]


def partition(scores: jax.Array) -> Any:
    return sd.inside(all_trees(), scores, semiring=sd.LogSum)


QUERIES: tuple[Callable[[jax.Array], Any], ...] = (
    lambda scores: sd.argmax(all_trees(), scores),
    lambda scores: sd.argmax(all_trees(single_root=True), scores),
    partition,
    jax.value_and_grad(lambda scores: jnp.sum(partition(scores))),
)


if __name__ == "__main__":
    main()

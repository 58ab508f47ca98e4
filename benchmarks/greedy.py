"""`python -m benchmarks.greedy`: how often greedy inference with second-order parts finds the best tree, and how fast.

The best tree is found by enumeration, the scores are random. The other parser of the ensembles is MH_4 by arcs alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import jax
import jax.numpy as jnp
import numpy as np

import structdep as sd
from benchmarks.__main__ import machine
from structdep import greedy
from structdep.greedy.parts import parts
from structdep.trees import all_trees, heads_to_arcs
from structdep_parser.files import write_whole
from structdep_parser.parsers.second_order_ways import WAYS, WITH_OTHER, Tables, Way

MAXIMUM = 6
"""Words; of seven there are 262,144 trees."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.greedy", description=__doc__)
    parser.add_argument("--words", nargs="+", type=int, default=[3, 4, 5, 6], choices=range(1, MAXIMUM + 1))
    parser.add_argument("--sentences", type=int, default=1000, help="of each length (default: 1000)")
    parser.add_argument("--long", type=int, default=40, help="words of the sentences that are timed (default: 40)")
    parser.add_argument("--batch", type=int, default=32, help="how many of these side by side (default: 32)")
    parser.add_argument("--rounds", type=int, default=7, help="runs of each program (default: 7)")
    parser.add_argument("--out", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    table = "\n".join(lines(options.words, options.sentences, options.long, options.batch, options.rounds))
    print(table)
    if options.out:
        write_whole(options.out, table + "\n")


def lines(words: list[int], sentences: int, long: int, batch: int, rounds: int) -> Iterator[str]:
    """A row for each way: the share of best trees at each length, and the speed on long sentences."""
    ways = WAYS | WITH_OTHER
    columns = [shares(ways, random_scores(sentences, n)) for n in words]
    speed = speeds(ways, random_scores(batch, long), rounds)
    yield f"`python -m benchmarks.greedy`: {sentences} sentences of each length; sentences/s of {long} words, {batch}"
    yield f"side by side, medians of {rounds} runs, on {machine()}. The other parser is MH_4 by the scores of arcs."
    yield ""
    yield f"| best trees found | {' | '.join(f'n = {n}' for n in words)} | sentences/s |"
    yield f"|---|{'--:|' * (len(words) + 1)}"
    for name in ways:
        cells = [f"{100 * column[name]:.1f} %" for column in columns]
        yield f"| {name} | {' | '.join(cells)} | {speed[name]:.0f} |"


def random_scores(sentences: int, words: int) -> tuple[Tables, jax.Array]:
    """Normally distributed scores, those of arcs half as large again; and MH_4's trees."""
    keys = jax.random.split(jax.random.key(words), 3)
    shape = (sentences, *[words + 1] * 3)
    arc = 1.5 * jax.random.normal(keys[0], shape[:-1])
    scores = {
        "arc": arc,
        "grandparent": jax.random.normal(keys[1], shape),
        "sibling": jax.random.normal(keys[2], shape),
    }
    return scores, sd.argmax(sd.charts.mhk(4), arc)


def shares(ways: dict[str, Way], given: tuple[Tables, jax.Array]) -> dict[str, float]:
    """How often each way finds a tree with the best score."""
    scores, other = given
    best = best_scores(scores)
    lengths = jnp.full(len(other), other.shape[1])
    found = {name: greedy.score(scores, way(scores, lengths, other)) for name, way in ways.items()}
    return {name: float(np.isclose(own, best, rtol=0, atol=1e-3).mean()) for name, own in found.items()}


def best_scores(scores: Tables) -> jax.Array:
    """The score of the best tree of each sentence, by enumeration."""
    made = parts(scores)
    trees = heads_to_arcs(all_trees(made.arc.shape[-1] - 1)).astype(jnp.float32)
    chains = jnp.einsum("tgh,thd->tghd", trees, trees)
    pairs = jnp.einsum("thd,the->thde", trees, trees) / 2
    precision = jax.lax.Precision.HIGHEST
    totals = jnp.einsum("thd,bhd->tb", trees, made.arc, precision=precision)
    totals += jnp.einsum("tghd,bghd->tb", chains, made.grandparent, precision=precision)
    totals += jnp.einsum("thde,bhde->tb", pairs, made.sibling, precision=precision)
    return totals.max(0)


def speeds(ways: dict[str, Way], given: tuple[Tables, jax.Array], rounds: int) -> dict[str, float]:
    """Sentences a second, run in turn, so that a busy machine slows all ways alike."""
    scores, other = given
    lengths = jnp.full(len(other), other.shape[1])
    programs = {name: jax.jit(way) for name, way in ways.items()}
    runs: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, program in programs.items():
            start = time.perf_counter()
            jax.block_until_ready(program(scores, lengths, other))
            runs[name].append(time.perf_counter() - start)
    return {name: len(other) / median(times[1:]) for name, times in runs.items()}


if __name__ == "__main__":
    main()

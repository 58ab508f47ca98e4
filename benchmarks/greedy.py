"""`python -m benchmarks.greedy`: how often inference with second-order parts finds the best tree, and how fast.

The best tree of short sentences, whose scores are random, is found by enumeration. In long sentences, the arcs of one
tree score higher, as a trained parser's do, and dual decomposition proves which trees are the best. The other parser of
the ensembles is MH_4 by arcs alone.
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
from structdep.spanning import all_trees as all_spanning_trees
from structdep.trees import all_trees, heads_to_arcs
from structdep_parser.files import write_whole
from structdep_parser.parsers.second_order_ways import WAYS, WITH_OTHER, Tables, Way

EVERY_WAY = WAYS | WITH_OTHER
STRENGTHS = (0.05, 0.1, 0.2)
"""Standard deviations of the scores of pairs in long sentences; those of arcs have 1.5."""
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
    rows = [*lines(options.words, options.sentences), "", *marginal_lines(options.words, options.sentences), ""]
    table = "\n".join([*rows, *long_lines(options.long, options.batch, options.rounds)])
    print(table)
    if options.out:
        write_whole(options.out, table + "\n")


def lines(words: list[int], sentences: int) -> Iterator[str]:
    """A row for each way: the share of best trees at each length."""
    columns = [shares(EVERY_WAY, random_scores(sentences, n)) for n in words]
    yield f"`python -m benchmarks.greedy`: {sentences} sentences of each length. The other parser is MH_4."
    yield ""
    yield f"| best trees found | {' | '.join(f'n = {n}' for n in words)} |"
    yield f"|---|{'--:|' * len(words)}"
    for name in EVERY_WAY:
        yield f"| {name} | {' | '.join(f'{100 * column[name]:.1f} %' for column in columns)} |"


def marginal_lines(words: list[int], sentences: int) -> Iterator[str]:
    """A row for each approximation: the probability that it gives to wrong arcs of a word, in the mean."""
    yield "Approximate marginals of the same sentences, the scores of pairs times 0.3: the probability of heads that is"
    yield "not where it is by enumeration, a word, in the mean."
    yield ""
    yield f"| misplaced probability | {' | '.join(f'n = {n}' for n in words)} |"
    yield f"|---|{'--:|' * len(words)}"
    columns = [misplaced(random_scores(sentences, n, 0.3)[0]) for n in words]
    for name in columns[0]:
        yield f"| {name} | {' | '.join(f'{100 * column[name]:.1f} %' for column in columns)} |"


def misplaced(scores: Tables) -> dict[str, float]:
    """How far the marginals of each approximation are from those by enumeration: 0 to 1."""
    trees, totals = scored_trees(scores)
    expected = jnp.einsum("tb,thd->bhd", jax.nn.softmax(totals, 0), trees)
    tables = {
        "scores of arcs alone": scores["arc"],
        "mean field, each word by itself": greedy.mean_field(scores),
        "mean field over trees": greedy.mean_field(scores, system=all_spanning_trees()),
    }
    words = expected.shape[-1] - 1
    found = {name: sd.marginals(all_spanning_trees(), arcs) for name, arcs in tables.items()}
    return {name: float(jnp.abs(own - expected).sum((1, 2)).mean()) / 2 / words for name, own in found.items()}


def long_lines(words: int, batch: int, rounds: int) -> Iterator[str]:
    """A row for each way: what its trees lack to the best ones, by the strength of pairs, and the time."""
    made = [planted_scores(batch, words, strength) for strength in STRENGTHS]
    certified = [greedy.dual_decomposition(scores) for scores, _ in made]
    columns = [gaps(EVERY_WAY, *both) for both in zip(made, certified, strict=True)]
    taken = milliseconds(EVERY_WAY, made[1], rounds)
    rates = [f"{100 * float(found.optimal.mean()):.0f} %" for found in certified]
    yield f"{batch} sentences of {words} words, by the standard deviation of the scores of pairs: how often dual"
    yield "decomposition proves a tree the best, and how far others score below that, in the mean; milliseconds a"
    yield f"sentence at {STRENGTHS[1]}, {batch} side by side, medians of {rounds} runs, on {machine()}."
    yield ""
    yield f"| score below the best | {' | '.join(map(str, STRENGTHS))} | ms |"
    yield f"|---|{'--:|' * (len(rates) + 1)}"
    yield f"| *proved* | {' | '.join(rates)} | |"
    for name in EVERY_WAY:
        yield f"| {name} | {' | '.join(f'{column[name]:.2f}' for column in columns)} | {taken[name]:.2f} |"


def random_scores(sentences: int, words: int, strength: float = 1.0) -> tuple[Tables, jax.Array]:
    """Normally distributed scores, of arcs with deviation 1.5, of pairs with this one; and MH_4's trees."""
    keys = jax.random.split(jax.random.key(words), 3)
    shape = (sentences, *[words + 1] * 3)
    arc = 1.5 * jax.random.normal(keys[0], shape[:-1])
    scores = {
        "arc": arc,
        "grandparent": strength * jax.random.normal(keys[1], shape),
        "sibling": strength * jax.random.normal(keys[2], shape),
    }
    return scores, sd.argmax(sd.charts.mhk(4), arc)


def planted_scores(sentences: int, words: int, strength: float) -> tuple[Tables, jax.Array]:
    """Scores whose pairs have this standard deviation, with 4 added to the arcs of a random tree; and MH_4's trees."""
    scores, _ = random_scores(sentences, words, strength)
    uniform = jnp.zeros((sentences, words + 1, words + 1))
    arc = scores["arc"] + 4 * heads_to_arcs(sd.sample(all_spanning_trees(), uniform, jax.random.key(0)))
    return scores | {"arc": arc}, sd.argmax(sd.charts.mhk(4), arc)


def shares(ways: dict[str, Way], given: tuple[Tables, jax.Array]) -> dict[str, float]:
    """How often each way finds a tree with the best score."""
    scores, other = given
    best = scored_trees(scores)[1].max(0)
    lengths = jnp.full(len(other), other.shape[1])
    found = {name: greedy.score(scores, way(scores, lengths, other)) for name, way in ways.items()}
    return {name: float(np.isclose(own, best, rtol=0, atol=1e-3).mean()) for name, own in found.items()}


def scored_trees(scores: Tables) -> tuple[jax.Array, jax.Array]:
    """All trees, `[trees, n+1, n+1]`, and the score of each in each sentence, `[trees, sentences]`."""
    made = parts(scores)
    trees = heads_to_arcs(all_trees(made.arc.shape[-1] - 1)).astype(jnp.float32)
    chains = jnp.einsum("tgh,thd->tghd", trees, trees)
    pairs = jnp.einsum("thd,the->thde", trees, trees) / 2
    precision = jax.lax.Precision.HIGHEST
    totals = jnp.einsum("thd,bhd->tb", trees, made.arc, precision=precision)
    totals += jnp.einsum("tghd,bghd->tb", chains, made.grandparent, precision=precision)
    totals += jnp.einsum("thde,bhde->tb", pairs, made.sibling, precision=precision)
    return trees, totals


def gaps(ways: dict[str, Way], given: tuple[Tables, jax.Array], certified: greedy.CertifiedTrees) -> dict[str, float]:
    """How far the scores of each way's trees lie below those of trees that are proved the best, in the mean."""
    scores, other = given
    lengths = jnp.full(len(other), other.shape[1])
    found = {name: greedy.score(scores, way(scores, lengths, other)) for name, way in ways.items()}
    return {name: float(jnp.mean(certified.value - own, where=certified.optimal)) for name, own in found.items()}


def milliseconds(ways: dict[str, Way], given: tuple[Tables, jax.Array], rounds: int) -> dict[str, float]:
    """Time a sentence, run in turn, so that a busy machine slows all ways alike."""
    scores, other = given
    lengths = jnp.full(len(other), other.shape[1])
    programs = {name: jax.jit(way) for name, way in ways.items()}
    runs: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds + 1):
        for name, program in programs.items():
            start = time.perf_counter()
            jax.block_until_ready(program(scores, lengths, other))
            runs[name].append(time.perf_counter() - start)
    return {name: 1e3 * median(times[1:]) / len(other) for name, times in runs.items()}


if __name__ == "__main__":
    main()

"""`python -m benchmarks.transitions`: greedy parsing and beams against exact charts, over the sentences of a treebank.

The scores are random tables, the same for all three: what is measured is the search. Sentences of similar length stand
in one batch.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

import structdep as sd
from benchmarks.__main__ import machine
from structdep import transitions
from structdep_parser.data.treebank import find_treebank
from structdep_parser.files import write_whole

SYSTEMS = {
    "arc_hybrid": (transitions.arc_hybrid(), sd.charts.arc_hybrid(transitions=True)),
    "arc_eager": (transitions.arc_eager(), sd.charts.arc_eager(transitions=True)),
    "mh4": (transitions.mh4(), sd.charts.mhk(4, transitions=True)),
}
Batch = tuple[dict[str, jax.Array], jax.Array]
"""Score tables, and numbers of words."""
Search = Callable[[dict[str, jax.Array], jax.Array], Any]


def main() -> None:
    options = parse()
    dev = find_treebank(options.lang, options.treebanks).evaluated()["dev"]
    lengths = np.array([len(sentence) for sentence in dev])
    lines = ["| system | search | sentences/s | times the chart | compile s |", "|---|---|--:|--:|--:|"]
    for name in track(options.systems, "measuring", console=Console(stderr=True)):
        lines += rows(name, lengths, options.beams, options.rounds)
    title = f"{options.lang} dev, {len(lengths)} sentences, {lengths.mean():.1f} words; {machine()}; "
    table = "\n".join([f"{title}medians of {options.rounds} runs.", "", *lines])
    print(table)
    if options.out:
        write_whole(options.out, f"`python -m benchmarks.transitions --lang {options.lang}`: {table}\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.transitions", description=__doc__)
    parser.add_argument("--lang", default="got", help="language of the treebank (default: got)")
    parser.add_argument("--treebanks", type=Path, help="where to look for treebanks")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--beams", nargs="*", type=int, default=[4, 16], help="widths of beams (default: 4 16)")
    parser.add_argument("--rounds", type=int, default=7, help="runs of each program (default: 7)")
    parser.add_argument("--out", type=Path, help="also write the table to this file")
    return parser.parse_args()


def batches(names: tuple[str, ...], lengths: NDArray[np.int64]) -> list[Batch]:
    """A batch of the sentences of up to 8 words, 9 to 16, 17 to 32 .., with random tables of these names."""
    made, rng = [], np.random.default_rng(0)
    sizes = np.maximum(8, 2 ** np.ceil(np.log2(lengths)))
    for size in np.unique(sizes):
        words = lengths[sizes == size]
        shape = (len(words), *[words.max() + 2] * 2)
        made.append(({name: jnp.asarray(rng.normal(size=shape), jnp.float32) for name in names}, jnp.asarray(words)))
    return made


def searches(name: str, beams: list[int]) -> dict[str, Search]:
    """Heads from tables and numbers of words."""
    system, chart = SYSTEMS[name]

    def search(find: Callable[..., transitions.Parse], tables: dict[str, jax.Array], lengths: jax.Array) -> jax.Array:
        words = next(iter(tables.values())).shape[-1] - 2
        return find(system, transitions.table_scorer(system, tables), lengths, words).heads

    return {
        "chart": jax.jit(partial(sd.argmax, chart)),
        "greedy": jax.jit(partial(search, transitions.greedy)),
        **{f"beam {w}": jax.jit(partial(search, partial(transitions.beam_search, width=w))) for w in beams},
    }


def rows(name: str, lengths: NDArray[np.int64], beams: list[int], rounds: int) -> list[str]:
    """A row for each search; rounds are run in turn, so that a busy machine slows all of them alike."""
    chart = SYSTEMS[name][1]
    names = tuple(t for t, (_, arity) in chart.declared.items() if t != "arc" and arity == 2)
    stream, programs = batches(names, lengths), searches(name, beams)
    compiling = {search: seconds(program, stream) for search, program in programs.items()}
    runs: dict[str, list[float]] = {search: [] for search in programs}
    for _ in range(rounds):
        for search, program in programs.items():
            runs[search].append(seconds(program, stream))
    speed = {search: len(lengths) / median(times) for search, times in runs.items()}
    return [
        f"| {name} | {search} | {each:.0f} | {each / speed['chart']:.2f} | {compiling[search]:.1f} |"
        for search, each in speed.items()
    ]


def seconds(program: Search, stream: list[Batch]) -> float:
    """How long the whole stream takes."""
    start = time.perf_counter()
    jax.block_until_ready([program(*batch) for batch in stream])
    return time.perf_counter() - start


if __name__ == "__main__":
    main()

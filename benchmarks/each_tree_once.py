"""`python -m benchmarks.each_tree_once --words 9`: counts the derivations of each tree by itself.

Scores of -inf forbid all arcs but a tree's, so that `structdep.Counting` counts the derivations of this tree: 1 if the
tree is in the system's class, else 0. Whether a tree is in the class is found without charts (`trees_to_check`).
`--out FILE` keeps the counts; the same command continues from them after an interruption.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

import structdep as sd
from benchmarks.trees_to_check import CLASSES, LONGEST, SHORTEST, Heads, Members, every_tree, random_trees
from structdep.trees import heads_to_arcs
from structdep_parser.files import write_whole

SYSTEMS = {
    system.name: system
    for system in (
        *(sd.charts.eisner(one, s, g) for s in (False, True) for g in (False, True) for one in (False, True)),
        *(
            of(transitions)
            for of in (sd.charts.arc_hybrid_trees, sd.charts.arc_eager_trees, sd.charts.arc_standard_trees)
            for transitions in (False, True)
        ),
        *(sd.charts.mh4_trees(transitions) for transitions in (False, True)),
        sd.charts.one_endpoint_crossing(),
        sd.charts.crossing_sensitive(),
    )
}
BATCH, RANDOM_BATCH = 4096, 384
"""Trees that are checked at a time."""
SAVED = 30
"""Seconds between two times that the counts are written."""
SHOWN = 5
"""The most wrong trees of a system that are kept."""


@dataclass(frozen=True)
class Source:
    """Batches of trees by their numbers; arrays are padded to one shape, so that a system compiles once."""

    name: str
    batches: int
    shape: tuple[int, int]
    batch: Callable[[int], Heads]


@dataclass
class Counts:
    """What was found for one system and one source, in all batches before number `batches`."""

    system: str
    source: str
    batches: int = 0
    trees: int = 0
    members: int = 0
    wrong: int = 0
    seconds: float = 0.0
    shown: list[list[int]] = field(default_factory=list)


def all_of(words: int) -> Source:
    total = (words + 1) ** (words - 1)

    def batch(number: int) -> Heads:
        return every_tree(words, number * BATCH, min(total, (number + 1) * BATCH))

    return Source(f"{words} words", -(-total // BATCH), (min(total, BATCH), words), batch)


def random_ones(batches: int) -> Source:
    shape = RANDOM_BATCH, LONGEST
    return Source("random", batches, shape, partial(random_trees, size=RANDOM_BATCH))


@cache
def counter(system: sd.DeductionSystem, shape: tuple[int, int]) -> Callable[[Heads, NDArray[np.int32]], jax.Array]:
    """The compiled number of derivations of each tree, from heads and lengths. Scores of transitions are random."""

    def count(heads: jax.Array, lengths: jax.Array) -> jax.Array:
        arcs = jnp.where(heads_to_arcs(heads, lengths), 0.0, -jnp.inf)
        tables = {
            name: jax.random.normal(jax.random.key(0), (len(heads), *(heads.shape[1] + 2,) * arity))
            for name, (score, arity) in system.declared.items()
            if score.sentinel and arity == 2
        }
        return jnp.exp(sd.inside(system, tables | {"arc": arcs}, lengths, sd.Counting)).round()

    heads, lengths = (jax.ShapeDtypeStruct(shape[:axes], jnp.int32) for axes in (2, 1))
    return jax.jit(count).lower(heads, lengths).compile()


def check(source: Source, rows: Sequence[Counts], save: Callable[[], None]) -> None:
    """Check the batches of a source that are missing in the systems' rows."""
    saved = time.monotonic()
    for number in range(min(row.batches for row in rows), source.batches):
        heads = source.batch(number)
        missing = [row for row in rows if row.batches == number]
        members = {name: CLASSES[name](heads) for name in {SYSTEMS[row.system].trees for row in missing}}
        for row in missing:
            add(row, heads, members[SYSTEMS[row.system].trees], source.shape)
        if time.monotonic() - saved > SAVED:
            save()
            saved = time.monotonic()
    save()


def add(row: Counts, heads: Heads, members: Members, shape: tuple[int, int]) -> None:
    """Count the derivations of each tree of the next batch, and compare: 1 for a member of the class, else 0."""
    count = counter(SYSTEMS[row.system], shape)
    begun = time.perf_counter()
    padded = np.pad(heads, [(0, size - own) for size, own in zip(shape, heads.shape, strict=True)])
    found = count(padded, np.full(len(padded), heads.shape[1], np.int32))
    wrong = np.asarray(found)[: len(heads)] != members
    row.seconds = round(row.seconds + time.perf_counter() - begun, 6)
    row.batches += 1
    row.trees += len(heads)
    row.members += int(members.sum())
    row.wrong += int(wrong.sum())
    row.shown += heads[wrong][: SHOWN - len(row.shown)].tolist()


def table(rows: Sequence[Counts]) -> str:
    lines = ["| system | trees of | trees | in the class | wrong | trees a second |", "|---|---|--:|--:|--:|--:|"]
    for row in rows:
        rate = f"{row.trees / row.seconds:,.0f}" if row.seconds else ""
        lines.append(f"| {row.system} | {row.source} | {row.trees:,} | {row.members:,} | {row.wrong:,} | {rate} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.each_tree_once", description=__doc__)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), metavar="SYSTEM")
    parser.add_argument(
        "--words",
        nargs="*",
        type=int,
        default=[],
        help="check all trees with these numbers of words, from 2 to 10",
    )
    parser.add_argument(
        "--random", type=int, default=0, help=f"batches of random trees of {SHORTEST} to {LONGEST} words"
    )
    parser.add_argument("--out", type=Path, help="the JSON file of the counts, which the same command continues")
    options = parser.parse_args(arguments)
    if not all(2 <= words <= 10 for words in options.words):
        parser.error(f"--words {' '.join(map(str, options.words))}: expected numbers from 2 to 10")
    sources = [all_of(words) for words in options.words] + [random_ones(options.random)] * (options.random > 0)
    known = json.loads(options.out.read_text()) if options.out and options.out.is_file() else []
    rows = {(row["system"], row["source"]): Counts(**row) for row in known}

    def save() -> None:
        if options.out:
            write_whole(options.out, json.dumps([asdict(row) for row in rows.values()], indent=1) + "\n")

    for source in sources:
        keys = [(name, source.name) for name in options.systems]
        check(source, [rows.setdefault(key, Counts(*key)) for key in keys], save)
    print(table(list(rows.values())))
    return int(any(row.wrong for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())

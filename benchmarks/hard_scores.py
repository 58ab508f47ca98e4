"""Scores of several kinds for `benchmarks.numerics`: usual ones, and those that rounding could spoil."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import shapes_of
from structdep.trees.classes import System

Table = NDArray[np.float32]
Tables = dict[str, Table]
Rng = np.random.Generator
Shape = tuple[int, ...]
Kind = Callable[[Rng, Shape], NDArray[np.float64]]
"""Makes a table of scores of a shape, `[batch, positions..]`."""

FORBIDDEN = 0.8
"""The part of all arcs that a mask forbids."""
OFFSET = 1e6
"""What is added to all scores."""


def spread(deviation: float, rng: Rng, shape: Shape) -> NDArray[np.float64]:
    """Normal scores with a standard deviation."""
    return deviation * rng.normal(size=shape)


def with_offset(rng: Rng, shape: Shape) -> NDArray[np.float64]:
    return OFFSET + rng.normal(size=shape)


def near_ties(rng: Rng, shape: Shape) -> NDArray[np.float64]:
    """Scores of 0, 100, 200 or 300, with differences of about 0.001: many trees are nearly the best."""
    return 100.0 * rng.integers(4, size=shape) + 1e-3 * rng.normal(size=shape)


KINDS: dict[str, Kind] = {
    **{f"spread {deviation:g}": partial(spread, deviation) for deviation in (1, 0.01, 10, 100, 1000, 10000)},
    "masked": partial(spread, 1),
    "masked, spread 100": partial(spread, 100),
    "offset of 10^6": with_offset,
    "near ties": near_ties,
}
USUAL = "spread 1"


def hard_scores(system: System, kind: str, words: int, sentences: int) -> Tables:
    """Tables of all scores that a system declares, the same in each run."""
    rng = np.random.default_rng([words, list(KINDS).index(kind)])
    shapes = shapes_of(system, words, sentences)
    tables = {name: KINDS[kind](rng, shape).astype(np.float32) for name, shape in shapes.items()}
    if "masked" in kind:
        tables["arc"] = masked(rng, tables["arc"])
    return tables


def masked(rng: Rng, arcs: Table) -> Table:
    """Scores of arcs, most of them -inf. Each word may depend on the node before it, so that there is a tree."""
    words = np.arange(1, arcs.shape[-1])
    is_forbidden = rng.random(arcs.shape) < FORBIDDEN
    is_forbidden[..., words - 1, words] = False
    return np.where(is_forbidden, np.float32(-np.inf), arcs)

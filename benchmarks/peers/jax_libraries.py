"""Queries to trees by structdep and SynJax."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

import structdep as sd
from benchmarks.measure import compiled
from benchmarks.peers.turns import BEST_TREE, LOG_PARTITION, MARGINALS, Query, Scores, Work

EISNER, SIBLINGS, MH4 = "eisner()", "eisner(siblings=True)", "mhk(4)"
ALL_TREES, SINGLE_ROOT = "all_trees()", "all_trees(single_root=True)"
SYSTEMS = {
    EISNER: sd.charts.eisner(),
    SIBLINGS: sd.charts.eisner(siblings=True),
    MH4: sd.charts.mhk(4),
    ALL_TREES: sd.spanning.all_trees(),
    SINGLE_ROOT: sd.spanning.all_trees(single_root=True),
}


def structdep(query: Query, scores: Scores) -> Work:
    system: Any = SYSTEMS[query.system]
    arcs = jnp.asarray(scores)
    given: Any = {"arc": arcs, "sibling": jnp.asarray(sibling_scores(scores))} if query.system == SIBLINGS else arcs
    answers: dict[str, Callable[[Any], Any]] = {
        LOG_PARTITION: partial(sd.inside, system, semiring=sd.LogSum),
        MARGINALS: partial(sd.marginals, system),
        BEST_TREE: partial(sd.argmax, system),
    }
    return Work(
        lambda: jitted(answers[query.name], given), lambda found: found["arc"] if isinstance(found, dict) else found
    )


def jitted(answer: Callable[[Any], Any], scores: Any) -> Callable[[], Any]:
    """Compiled with the same options of XLA for each library."""
    return compiled(answer, scores)[0]


def sibling_scores(scores: Scores) -> Scores:
    """`[head, dependent, sibling]`; those of first dependents, which SuPar does not have, are 0."""
    nodes = scores.shape[-1]
    table = np.random.default_rng(1).normal(size=(len(scores), nodes, nodes, nodes)).astype(np.float32)
    table[:, np.arange(nodes), :, np.arange(nodes)] = 0
    return table


def synjax(query: Query, scores: Scores) -> Work | None:
    if query.system in (SIBLINGS, MH4):
        return None
    crf = partial(
        _spanning_tree_crf(),
        directed=True,
        projective=query.system == EISNER,
        single_root_edge=query.system == SINGLE_ROOT,
    )
    answers: dict[str, Callable[[Any], Any]] = {
        LOG_PARTITION: lambda s: crf(s).log_partition(),
        MARGINALS: lambda s: crf(s).marginals(),
        BEST_TREE: lambda s: crf(s).argmax(),
    }
    like_ours = _heads if query.name == BEST_TREE else np.asarray
    return Work(lambda: jitted(answers[query.name], jnp.asarray(scores)), like_ours)


def _spanning_tree_crf() -> Any:
    os.environ.setdefault("JAXTYPING_DISABLE", "1")  # recent versions of jaxtyping refuse SynJax's annotations
    sys.modules.setdefault("coverage", None)  # type: ignore[arg-type] # numba would import experiments/coverage.py
    import synjax

    return synjax.SpanningTreeCRF


def _heads(trees: Any) -> Any:
    """Of trees `[head, dependent]`, the head of each word."""
    return np.asarray(trees).argmax(-2)[..., 1:]

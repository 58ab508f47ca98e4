"""Queries to trees by structdep and SynJax."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import structdep as sd
from benchmarks.measure import compiled
from benchmarks.peers.turns import BEST_TREE, LOG_PARTITION, MARGINALS, NO_HEAD, Query, Scores, Work

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
    return Work(lambda: compiled(answers[query.name], given)[0], of_arcs)


def of_arcs(result: Any) -> Any:
    """The marginals of arcs, where there are others."""
    return result["arc"] if isinstance(result, dict) else result


def sibling_scores(scores: Scores) -> Scores:
    """`[head, dependent, sibling]`; those of first dependents, which SuPar does not have, are 0."""
    nodes = scores.shape[-1]
    table = np.random.default_rng(1).normal(size=(len(scores), nodes, nodes, nodes)).astype(np.float32)
    table[:, np.arange(nodes), :, np.arange(nodes)] = 0
    return table


def synjax(query: Query, scores: Scores) -> Work | None:
    """Without XLA's reductions by YNNPACK: with them, it is slower, its projective log-partitions seven times."""
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
    options = {"xla_cpu_experimental_ynn_fusion_type": ""} if jax.default_backend() == "cpu" else {}
    like_ours = _heads if query.name == BEST_TREE else np.asarray
    return Work(lambda: compiled(answers[query.name], jnp.asarray(scores), options)[0], like_ours)


def _spanning_tree_crf() -> Any:
    os.environ.setdefault("JAXTYPING_DISABLE", "1")  # recent versions of jaxtyping refuse SynJax's annotations
    sys.modules.setdefault("coverage", None)  # type: ignore[arg-type] # numba would import experiments/coverage.py
    import synjax

    return synjax.SpanningTreeCRF


def _heads(trees: Any) -> Any:
    """Of trees `[head, dependent]`, the head of each word; `NO_HEAD` where it has none or several."""
    arcs = np.asarray(trees)[..., 1:]
    return np.where(arcs.sum(-2) == 1, arcs.argmax(-2), NO_HEAD)

"""Queries to trees by torch-struct and SuPar."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from benchmarks.peers.jax_libraries import EISNER, MH4, SIBLINGS, SINGLE_ROOT, sibling_scores
from benchmarks.peers.turns import BEST_TREE, LOG_PARTITION, MARGINALS, Query, Scores, Work


def torch_struct(query: Query, scores: Scores) -> Work | None:
    """Its arcs from the root stand on the diagonal. It has no second order, and best trees are projective."""
    import torch
    from torch_struct import DependencyCRF, NonProjectiveDependencyCRF

    if query.system in (SIBLINGS, MH4) or (query.system != EISNER and query.name == BEST_TREE):
        return None
    crf = DependencyCRF if query.system == EISNER else NonProjectiveDependencyCRF
    answer = {LOG_PARTITION: "partition", MARGINALS: "marginals", BEST_TREE: "argmax"}[query.name]
    words = np.arange(scores.shape[-1] - 1)
    on_diagonal = scores[:, 1:, 1:].copy()
    on_diagonal[:, words, words] = scores[:, 0, 1:]
    on_gpu = jax.default_backend() == "gpu"
    given = torch.tensor(on_diagonal, device="cuda" if on_gpu else "cpu", requires_grad=True)

    def run() -> Any:
        copied = given.clone()  # it writes into its argument, which torch forbids for leaves that require gradients
        result = getattr(crf(copied, multiroot=query.system != SINGLE_ROOT), answer).detach()
        if on_gpu:
            torch.cuda.synchronize()
        return result

    def like_ours(result: Any) -> Any:
        found = result.cpu().numpy()
        if query.name == LOG_PARTITION:
            return found
        arcs = np.zeros_like(scores)
        arcs[:, 1:, 1:] = found
        arcs[:, 0, 1:] = found[:, words, words]
        arcs[:, words + 1, words + 1] = 0
        return arcs.argmax(1)[:, 1:] if query.name == BEST_TREE else arcs

    return Work(lambda: run, like_ours)


def supar(query: Query, scores: Scores) -> Work | None:
    """Its scores are by dependent first. It uses no GPU here."""
    import torch
    from supar.structs import Dependency2oCRF, DependencyCRF, MatrixTree

    if query.system == MH4:
        return None
    given: Any = torch.tensor(np.ascontiguousarray(scores.swapaxes(1, 2)))
    if query.system == SIBLINGS:
        given = given, torch.tensor(np.ascontiguousarray(sibling_scores(scores).swapaxes(1, 2)))
    crf = {EISNER: DependencyCRF, SIBLINGS: Dependency2oCRF}.get(query.system, MatrixTree)
    answer = {LOG_PARTITION: "log_partition", MARGINALS: "marginals", BEST_TREE: "argmax"}[query.name]
    lengths = torch.full((len(scores),), scores.shape[-1] - 1)

    def run() -> Any:
        return getattr(crf(given, lengths, multiroot=query.system != SINGLE_ROOT), answer)

    def like_ours(result: Any) -> Any:
        found = (result[0] if isinstance(result, tuple) else result).detach().numpy()
        if query.name == MARGINALS:
            return found.swapaxes(1, 2)
        return found[:, 1:] if query.name == BEST_TREE else found

    return Work(lambda: run, like_ours)

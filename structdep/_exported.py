"""Results of queries that `jax.export` can write and read."""

from __future__ import annotations

from jax.export import register_namedtuple_serialization

from structdep.greedy.dual_subgradient import CertifiedTrees
from structdep.inference.distribution import Best, Labelled
from structdep.relaxations.sparsemap import SparseMap
from structdep.semirings.entropy import Entropies
from structdep.semirings.expectation import Moments
from structdep.transitions.configuration import Features
from structdep.transitions.runs import Parse
from structdep.transitions.sequences import Sequences

RESULTS = Best, CertifiedTrees, Entropies, Features, Labelled, Moments, Parse, Sequences, SparseMap


def register() -> None:
    """Tell `jax.export` the names of all results."""
    for result in RESULTS:
        register_namedtuple_serialization(result, serialized_name=f"structdep.{result.__name__}")

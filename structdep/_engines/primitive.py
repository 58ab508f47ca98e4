"""A request as a primitive of JAX: `ask` is how all queries reach an engine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad
from jax.sharding import AxisType, NamedSharding, PartitionSpec, reshard

from structdep._engines.choice import XLA, engine_for, wanted
from structdep._engines.derivative import derivative
from structdep._engines.query import Answer, Arguments, Query, Request, chosen
from structdep._engines.sentences import Leaves, primitive, type_of
from structdep.semirings import LogSum, MaxPlus, Semiring
from structdep.trees.classes import System


def ask(
    system: System,
    semiring: Semiring,
    query: Query,
    tables: dict[str, Any],
    lengths: jax.Array,
    cotangent: Any = None,
    key: jax.Array | None = None,
    heads: bool = False,
) -> Any:
    """The answer of an engine to a request: see `Request`, `Arguments` and `Answer`.

    Args:
        tables: semiring values `[batch, nodes, ..]`. Engines mask numbers: what lies behind a sentence, and arcs that
            no tree has.
        key: for a `SAMPLE`.
    """
    request = Request(chosen(system, semiring, tables), semiring, query, tuple(sorted(tables)), heads, wanted())
    seeds = None if key is None else jax.random.bits(key, (*lengths.shape, 2), jnp.uint32)
    return _asked(request, Arguments(tables, lengths, cotangent, seeds))


@partial(jax.jit, static_argnums=0)
def _asked(request: Request, arguments: Arguments) -> Any:
    """On a mesh with explicit axes, each device answers for its part of the batch."""
    leaves, tree = jax.tree.flatten(arguments)
    answer = partial(_bound, _Answering(request, tree))
    sharding = jax.typeof(leaves[0]).sharding
    if AxisType.Explicit in sharding.mesh.axis_types:
        rows = PartitionSpec(*sharding.spec[:1])  # type: ignore[no-untyped-call]
        leaves = [reshard(leaf, NamedSharding(sharding.mesh, rows)) for leaf in leaves]  # type: ignore[no-untyped-call]
        answer = jax.shard_map(answer, mesh=sharding.mesh, in_specs=rows, out_specs=rows, check_vma=False)
    return answer(*leaves)


@dataclass(frozen=True)
class _Answering:
    """See `structdep._engines.sentences.Program`."""

    request: Request
    tree: Any

    def arguments(self, leaves: Leaves) -> Arguments:
        found: Arguments = jax.tree.unflatten(self.tree, leaves)
        return found

    def types(self, axes: int, *types: Any) -> list[Any]:
        return jax.tree.leaves(_answer_types(self.request, self.tree, axes, *types))

    def run(self, platform: str, axes: int, *leaves: jax.Array) -> list[jax.Array]:
        return jax.tree.leaves(engine_for(self.request, platform).run(self.request, self.arguments(leaves), platform))


@lru_cache(maxsize=1024)
def _answer_types(request: Request, tree: Any, axes: int, *types: Any) -> Answer:
    """The types of an answer: known for numbers; of other values, those of XLA's program."""
    arguments: Arguments = jax.tree.unflatten(tree, types)
    if not isinstance(request.semiring, MaxPlus | LogSum):
        answer: Answer = jax.eval_shape(partial(XLA.run, request, platform=""), arguments)
        return answer
    batch = jnp.broadcast_shapes(*(leaf.shape[:axes] for leaf in types))
    dtype = jnp.result_type(*jax.tree.leaves(arguments.tables))
    own = {name: table.shape[axes:] for name, table in arguments.tables.items()}
    if request.heads:
        heads: jax.Array = type_of((*batch, own["arc"][0] - 1 - request.system.last), jnp.int32)
        return heads
    counts = {} if request.query is Query.VALUE else own
    return type_of(batch, dtype), {name: type_of((*batch, *shape), dtype) for name, shape in counts.items()}


def _bound(of: _Answering, *leaves: Any) -> Any:
    types = [type_of(leaf.shape, leaf.dtype) for leaf in leaves]
    structure = jax.tree.structure(_answer_types(of.request, of.tree, 1, *types))
    return jax.tree.unflatten(structure, _bind(*leaves, of=of, axes=1))


def _jvp(primals: Leaves, tangents: Leaves, *, of: _Answering, axes: int, **_: Any) -> tuple[Any, Any]:
    return _bind(*primals, of=of, axes=axes), derivative(of.request, of.tree, axes, primals, tangents)


_bind, _request = primitive("structdep_request")
ad.primitive_jvps[_request] = _jvp

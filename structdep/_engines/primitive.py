"""A request as a primitive of JAX: `ask` is how all queries reach an engine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad
from jax.sharding import AxisType, NamedSharding, PartitionSpec, reshard

from structdep._engines.answers import answer_types
from structdep._engines.choice import engine_for, wanted
from structdep._engines.derivative import derivative
from structdep._engines.query import Arguments, Query, Request, chosen
from structdep._engines.sentences import Leaves, primitive, type_of
from structdep.semirings import Semiring
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

    def types(self, axes: int, *types: Any) -> list[Any]:
        return jax.tree.leaves(answer_types(self.request, self.tree, *types))

    def run(self, platform: str, axes: int, *leaves: jax.Array) -> list[jax.Array]:
        arguments: Arguments = jax.tree.unflatten(self.tree, leaves)
        return jax.tree.leaves(engine_for(self.request, platform).run(self.request, arguments, platform))


def _bound(of: _Answering, *leaves: Any) -> Any:
    types = [type_of(leaf.shape, leaf.dtype) for leaf in leaves]
    structure = jax.tree.structure(answer_types(of.request, of.tree, *types))
    return jax.tree.unflatten(structure, _bind(*leaves, of=of, axes=1))


def _jvp(primals: Leaves, tangents: Leaves, *, of: _Answering, axes: int, **_: Any) -> tuple[Any, Any]:
    return _bind(*primals, of=of, axes=axes), derivative(of.request, of.tree, axes, primals, tangents)


_request, _bind = primitive("structdep_request")
ad.primitive_jvps[_request] = _jvp

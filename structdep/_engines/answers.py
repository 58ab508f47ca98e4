"""The types of answers, known before an engine is chosen."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp

from structdep._engines import root_counting
from structdep._engines.query import Answer, Arguments, Query, Request
from structdep._engines.sentences import type_of
from structdep._engines.xla import answer
from structdep._engines.xla.chart import by_xla
from structdep.semirings import LogSum, MaxPlus


@lru_cache(maxsize=1024)
def answer_types(request: Request, tree: Any, *types: jax.ShapeDtypeStruct) -> Answer:
    """The types of an answer to arguments of these types, the leaves of `tree`.

    Where values are no numbers, they are those that XLA's program returns.
    """
    arguments: Arguments = jax.tree.unflatten(tree, types)
    if root_counting.of_numbers(request):
        of_one = arguments._replace(tables={name: table[0] for name, table in arguments.tables.items()})
        value, counts = number_types(request, of_one)
        return (value, value), {name: (table, table) for name, table in counts.items()}
    if not isinstance(request.semiring, MaxPlus | LogSum):
        types_of_xla: Answer = jax.eval_shape(lambda own: answer(request, own, by_xla), arguments)
        return types_of_xla
    value, counts = number_types(request, arguments)
    return counts if request.heads else (value, counts)


def number_types(request: Request, arguments: Arguments) -> tuple[Any, Any]:
    """Where values are numbers: the type of the value, and those of the counts by name, or that of the heads."""
    axes = arguments.lengths.ndim
    batch = jnp.broadcast_shapes(*(leaf.shape[:axes] for leaf in jax.tree.leaves(arguments)))
    dtype = jnp.result_type(*jax.tree.leaves(arguments.tables))
    own = {name: table.shape[axes:] for name, table in arguments.tables.items()}
    value = type_of(batch, dtype)
    if request.heads:
        return value, type_of((*batch, own["arc"][0] - 1 - request.system.last), jnp.int32)
    counts = {} if request.query is Query.VALUE else own
    return value, {name: type_of((*batch, *shape), dtype) for name, shape in counts.items()}

"""All trees by second-order scores, in the place of a deduction system: the best one is sought greedily."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from structdep._engines import xla
from structdep._engines.masking import is_valid, nan_unless
from structdep._engines.query import Arguments, Query, Request
from structdep._engines.xla.chart import Fill
from structdep.greedy.parsers import parse
from structdep.greedy.parts import Parts, SecondOrder
from structdep.semirings import MaxPlus


@dataclass(frozen=True)
class GreedyTrees(SecondOrder):
    """All dependency trees, sought by `bgi_pp`; see `second_order`."""

    name: ClassVar[str] = "second_order"
    beta: float = 1.0
    gamma: float = 0.35
    beam: int = 1
    swaps: int = 5
    single_root: bool = False


def second_order(
    *, beta: float = 1.0, gamma: float = 0.35, beam: int = 1, swaps: int = 5, single_root: bool = False
) -> GreedyTrees:
    """All trees, by second-order scores, in the place of a deduction system: for `inside`, `argmax` and the hinge loss.

    Its best tree is the one that `bgi_pp` finds, and improves by so many swaps: there may be better ones, so that a
    hinge loss is a lower bound. `MaxPlus` and `CostAugmented` alone have an algorithm, no sum over all trees has.
    Scores are those of `structdep.greedy.parts`, the other arguments those of `bgi_pp`.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> chains = jnp.zeros((4, 4, 4)).at[0, 3, 2].set(5.0)
        >>> scores = {"arc": jnp.zeros((4, 4)).at[2, 1].set(1.0), "grandparent": chains}
        >>> sd.argmax(sd.greedy.second_order(), scores), sd.inside(sd.greedy.second_order(), scores)
        (Array([2, 3, 0], dtype=int32), Array(6., dtype=float32))
        >>> sd.losses.hinge(sd.greedy.second_order(), scores, jnp.array([2, 3, 0]))
        Array(0., dtype=float32)
    """
    return GreedyTrees(beta, gamma, beam, swaps, single_root)


@xla.run.register(GreedyTrees)
def run_greedily(system: GreedyTrees, request: Request, arguments: Arguments, fill: Fill) -> tuple[Any, dict[str, Any]]:
    """See `xla.run`."""
    tables, lengths = arguments.tables, arguments.lengths
    if not isinstance(request.semiring, MaxPlus):
        raise ValueError(
            "second-order scores have an algorithm for MaxPlus and CostAugmented alone, none for "
            f"{type(request.semiring).__name__}; for single roots write second_order(single_root=True)"
        )
    tuned = (jnp.asarray(system.beta, float), jnp.asarray(system.gamma, float))
    sought = Parts.of(jax.lax.stop_gradient(tables), lengths)
    heads = parse(sought, tuned, system.beam, system.swaps, system.single_root)

    def value_of(tables: dict[str, Any]) -> jax.Array:
        return nan_unless(is_valid(tables), Parts.of(tables, lengths).score(heads))

    if request.query is Query.VALUE:
        return value_of(tables), {}
    value, pull = jax.vjp(value_of, tables)
    return value, pull(jnp.ones_like(value))[0]

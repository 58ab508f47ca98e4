"""All trees by second-order scores, as a system: greedy search finds the best tree."""

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
    """All trees by second-order scores, as a system for `inside`, `argmax` and the hinge loss.

    The best tree is the one that `bgi_pp` finds. There may be better ones, so a hinge loss is a lower bound of the
    exact one. Only `MaxPlus` and `CostAugmented` have an algorithm: sums over all trees have none. Queries take
    second-order scores, `arc`, `grandparent` and `sibling`; see `structdep.greedy`.

    Args:
        beta: how peaked the probabilities are; see `bgi_pp`.
        gamma: the weight of losses against gains; see `bgi_pp`.
        beam: the number of partial trees that are kept, 1 or more.
        swaps: the largest number of swaps that improve the tree found; see `improve`.
        single_root: whether exactly one word depends on the root.

    Returns:
        A system, the first argument of queries. They raise `ValueError` for other semirings.

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
    tuned = (jnp.asarray(system.beta), jnp.asarray(system.gamma))
    sought = Parts.of(jax.lax.stop_gradient(tables), lengths)
    heads = parse(sought, tuned, system.beam, system.swaps, system.single_root)

    def value_of(tables: dict[str, Any]) -> jax.Array:
        return nan_unless(is_valid(tables), Parts.of(tables, lengths).score(heads))

    if request.query is Query.VALUE:
        return value_of(tables), {}
    value, pull = jax.vjp(value_of, tables)
    return value, pull(jnp.ones_like(value))[0]

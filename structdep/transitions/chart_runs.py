"""The runs of gold trees that score highest, from a chart."""

from __future__ import annotations

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from structdep import charts
from structdep.inference.losses import gold_score
from structdep.inference.scores import Tables, named
from structdep.semirings import MaxPlus
from structdep.transitions.arrays import Array
from structdep.transitions.configuration import Configuration
from structdep.transitions.gold import Gold, gold_trees, refuse_unless
from structdep.transitions.notation import TransitionSystem
from structdep.transitions.oracles import Oracle
from structdep.transitions.scorers import table_scorer
from structdep.transitions.sequences import Sequences, sequences
from structdep.transitions.static import are_right, last_alone
from structdep.transitions.systems import arc_eager, arc_hybrid, mh4

CHARTS = {
    arc_hybrid(): charts.arc_hybrid(transitions=True),
    arc_eager(): charts.arc_eager(transitions=True),
    mh4(): charts.mhk(4, transitions=True),
}


def best_sequences(
    system: TransitionSystem,
    heads: ArrayLike,
    lengths: ArrayLike | None = None,
    tables: Tables | None = None,
) -> Sequences:
    """The run with the best score for each gold tree, from the chart of the system; in numpy.

    The chart of MH_4 lacks some runs of the system, and therefore some trees; `static_oracle` may have a run for them.

    Args:
        system: `arc_hybrid()`, `arc_eager()` or `mh4()`.
        heads: the gold trees, int `[*batch, n]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        tables: arc scores, or a mapping from names to tables, as for `table_scorer`; default: all 0.

    Returns:
        `Sequences`, as by `sequences`.

    Raises:
        TypeError: heads or lengths that are not integers.
        ValueError: heads that are no trees, or trees that the chart lacks; a system without a chart.

    Example:
        >>> early = {"ra": jnp.zeros((5, 5)).at[1, 2].set(1.0)}  # 1 gets its head while 2 is in the buffer
        >>> best_sequences(arc_hybrid(), [0, 3, 0], tables=early).transitions.tolist()
        [0, 2, 0, 1, 0, 2]
        >>> best_sequences(arc_hybrid(), [0, 3, 0], tables={"ra": -early["ra"]}).transitions.tolist()
        [0, 0, 1, 2, 0, 2]
    """
    if system not in CHARTS:
        raise ValueError(f"{system.name} has no chart of its transitions, {', '.join(s.name for s in CHARTS)} have one")
    chart, gold = CHARTS[system], gold_trees(system, heads, lengths)
    names = (f"{t}:full" if f"{t}:full" in chart.declared else t for t in system.names)
    shape = (*gold.lengths.shape, *[gold.heads.shape[-1]] * 3)
    zeros = {name: jnp.zeros(shape[: gold.lengths.ndim + chart.declared[name][1]]) for name in names}
    given = {} if tables is None else named(tables)
    own = {name: jnp.asarray(given.get(name, zero)) for name, zero in zeros.items()}

    def score(own: Mapping[str, ArrayLike]) -> jax.Array:
        return gold_score(chart, {**given, **own}, heads, gold.lengths, MaxPlus())

    value, pull = jax.vjp(score, own)
    if np.isnan(value).any():
        raise ValueError("tables hold NaN or +inf: forbid transitions by -inf, and look where NaN comes from")
    refuse_unless(~np.isneginf(value), system, gold)
    (uses,) = pull(jnp.ones_like(value))
    used = table_scorer(system, uses)

    def costs(system: TransitionSystem, configuration: Configuration, gold: Gold) -> Array:
        return last_alone((np.asarray(used(configuration.features)) > 0) & are_right(system, configuration, gold))

    return sequences(Oracle(system, costs), heads, lengths)

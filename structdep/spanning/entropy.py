"""Entropies of all trees: those of the words' choices, as they are eliminated.

An arc's weight is that of the arc itself or of a detour: its entropy is that of this choice and, on average, of what
was chosen. A word's pivot is the choice of its head. The entropies of the pivots add up to that of the trees; they are
small numbers, whatever the scores.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import entr

from structdep.semirings import Entropies
from structdep.spanning.elimination import SUM, eliminate, share
from structdep.spanning.matrix_tree import without_best


def entropies(arcs: Entropies, lengths: jax.Array, single_root: bool) -> Entropies:
    """Log-partition and entropy, `[batch]`; -inf and 0 where there is no tree.

    `arcs` are masked scores `[batch, n+1, n+1]`, and the entropies of the arcs' labels. Time and space O(n^3).
    """
    scores, best = without_best(arcs.log_partition, single_root)
    found = eliminate(SUM, scores, lengths, single_root, note=share)
    exists = found.exists()
    choices = share(found.heads_of_leaves(), found.pivots.T[:, None])

    def step(of_arcs: jax.Array, row: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        word, choice, detour = row
        into = lax.dynamic_index_in_dim(of_arcs, word - 1, 2, False)
        out = lax.dynamic_index_in_dim(of_arcs, word, 1, False)
        pivot = jnp.sum(_of_choice(choice) + choice * into, 1)
        through = into[:, :, None] - pivot[:, None, None] + out[:, None]
        of_arcs = (1 - detour) * of_arcs + detour * through + _of_choice(detour) + _of_choice(1 - detour)
        return of_arcs, pivot

    rows = (jnp.arange(1, scores.shape[2] + 1), jnp.moveaxis(choices, 2, 0), found.notes)
    _, pivots = lax.scan(step, arcs.entropy[:, :, 1:], rows, reverse=True)
    return Entropies(
        jnp.where(exists, found.pivots.sum(0) + best, -jnp.inf),
        jnp.where(exists, jnp.maximum(pivots.sum(0), 0), 0),
    )


def _of_choice(p: jax.Array) -> jax.Array:
    """-p log p, with finite derivatives."""
    return entr(jnp.where(p > 0, p, 1))

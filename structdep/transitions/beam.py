"""Beam search, in all sentences at once."""

from __future__ import annotations

from functools import partial
from numbers import Integral
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from numpy.typing import ArrayLike

from structdep.transitions.configuration import Configuration, apply, legal, start
from structdep.transitions.notation import TransitionSystem
from structdep.transitions.runs import Parse, checked, checked_scores, ranks, tree
from structdep.transitions.scorers import Scorer


class Beam(NamedTuple):
    """Runs `[*batch, width]`, best first: where they are, scores, numbers of transitions, and which of them exist."""

    runs: Configuration
    totals: jax.Array
    steps: jax.Array
    exists: jax.Array


def beam_search(
    system: TransitionSystem, scorer: Scorer, lengths: ArrayLike, words: int, width: int, normalize: bool = False
) -> Parse:
    """Trees by beam search: the `width` runs with the best total scores are kept after each transition.

    A run that has ended waits for the others. Width 1 gives the trees of `greedy`, unless a run has to take a
    transition that scores -inf; a width of all runs gives the best run.

    Args:
        system: from `structdep.transitions`, or your own.
        scorer: a function from `Features` of int32 `[*batch, width]` to scores, float `[*batch, width, transitions]`.
        lengths: int `[*batch]`, the number of words of each sentence.
        words: the number of words of padded sentences, n.
        width: the number of runs that are kept, 1 or more.
        normalize: whether scores become log-probabilities over the legal transitions of each configuration. Needed for
            a scorer that was trained to compare transitions of one configuration only.

    Returns:
        `Parse(heads, scores, steps)` of the best run: int32 `[*batch, n]`, float and int32 `[*batch]`.

    Raises:
        TypeError, ValueError: as by `greedy`; `width` is not a whole number of 1 or more.

    Example:
        >>> from structdep.transitions import arc_hybrid, table_scorer
        >>> arcs = jnp.zeros((4, 4)).at[1, 2].set(1.0).at[0, 3].set(9.0)
        >>> scorer = table_scorer(arc_hybrid(), {"arc": arcs})
        >>> [float(beam_search(arc_hybrid(), scorer, jnp.array(3), 3, width).scores) for width in (1, 2)]
        [1.0, 10.0]
        >>> beam_search(arc_hybrid(), scorer, jnp.array(3), 3, 2, normalize=True).scores.round(4)
        Array(-2.1972, dtype=float32)
    """
    if not isinstance(width, Integral) or width < 1:
        raise ValueError(f"a beam needs a whole width >= 1, not {width!r}")
    return _beam_search(system, *checked(system, scorer, lengths, words), words, width, normalize)


@partial(jax.jit, static_argnames=("system", "words", "width", "normalize"))
def _beam_search(
    system: TransitionSystem, scorer: Scorer, lengths: jax.Array, words: int, width: int, normalize: bool
) -> Parse:
    shape = (*lengths.shape, width)
    moves = len(system.transitions)

    def step(state: tuple[Beam, jax.Array]) -> tuple[Beam, jax.Array]:
        beam, _ = state
        scores = checked_scores(scorer(beam.runs.features), system, shape)
        allowed = legal(system, beam.runs)
        if normalize:
            scores = jax.nn.log_softmax(scores, where=allowed)
        ended = beam.runs.is_final[..., None]
        waits = ended & (jnp.arange(moves) == 0)
        totals = (beam.totals[..., None] + jnp.where(ended, 0, scores)).reshape(*lengths.shape, width * moves)
        allowed = beam.exists[..., None] & (allowed | waits)
        rank, best = lax.top_k(ranks(totals, allowed.reshape(totals.shape)), width)
        parents: Beam = jax.tree.map(lambda leaf: _rows(leaf, best // moves), beam)
        exists = rank > -jnp.inf
        goes_on = exists & ~parents.runs.is_final
        runs = apply(system, parents.runs, jnp.where(goes_on, best % moves, -1))
        found = Beam(runs, jnp.take_along_axis(totals, best, -1), parents.steps + goes_on, exists)
        is_stuck = ~exists.any(-1)  # all of its runs: the beam stays as it is

        def kept(new: jax.Array, old: jax.Array) -> jax.Array:
            return jnp.where(jnp.expand_dims(is_stuck, range(is_stuck.ndim, new.ndim)), old, new)

        return jax.tree.map(kept, found, beam), (exists & ~runs.is_final & (found.steps < system.most(words))).any(-1)

    runs = start(system, jnp.broadcast_to(lengths[..., None], shape), words)
    exists = jnp.broadcast_to(jnp.arange(width) == 0, shape)
    beam = Beam(runs, jnp.zeros(shape), jnp.zeros(shape, jnp.int32), exists)
    beam, _ = lax.while_loop(lambda state: state[1].any(), step, (beam, lengths > 0))
    return Parse(tree(beam.runs)[..., 0, :], beam.totals[..., 0], beam.steps[..., 0])


def _rows(leaf: jax.Array, index: jax.Array) -> jax.Array:
    """The rows `[*batch, width, ..]` at an index `[*batch, width]`."""
    index_axes = index.reshape(*index.shape, *[1] * (leaf.ndim - index.ndim))
    return jnp.take_along_axis(leaf, index_axes, axis=index.ndim - 1)

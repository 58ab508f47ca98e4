"""Greedy parsers of second-order scores, batched and compiled."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from structdep.greedy.improvement import improved
from structdep.greedy.partial_trees import basic, partial_predictions
from structdep.greedy.parts import Parts, Scores, parts
from structdep.greedy.search import search
from structdep.inference.constraints import Constraints
from structdep.trees.heads import check_trees_unless_traced


def bgi(
    scores: Scores,
    lengths: ArrayLike | None = None,
    constraints: Constraints | None = None,
    *,
    beam: int = 1,
    swaps: int = 0,
    single_root: bool = False,
) -> jax.Array:
    """Basic greedy inference: a part counts, in full, when it is lost or complete. See `bgi_pp`.

    Example:
        >>> import jax.numpy as jnp
        >>> from structdep import greedy
        >>> greedy.bgi(jnp.zeros((3, 3)).at[[2, 0], [1, 2]].set(1.0))
        Array([2, 0], dtype=int32)
    """
    return parse(parts(scores, lengths, constraints), None, beam, swaps, single_root)


def bgi_pp(
    scores: Scores,
    lengths: ArrayLike | None = None,
    constraints: Constraints | None = None,
    *,
    beta: float | jax.Array = 1.0,
    gamma: float | jax.Array = 0.35,
    beam: int = 1,
    swaps: int = 0,
    single_root: bool = False,
) -> jax.Array:
    """Basic greedy inference with partial part predictions: `heads` int32 `[*batch, n]`, 0 in padding.

    Adds the arc with the least `gamma · loss - (1 - gamma) · gain`, n times; a part counts with the probability that it
    will be complete, by which each word chooses its head with p ∝ exp(beta · score). Tuned ranges: `beta` in [0, 2.5],
    `gamma` in [0.2, 0.5]. No tree is found where forbidden arcs lead into a dead end: its heads are -1.

    Args:
        scores: tables named `arc`, `grandparent` and `sibling`; see `structdep.greedy.parts`.
        lengths, constraints: as in `inside`.
        beam: how many partial trees are kept.
        swaps: how often the tree is improved afterwards; see `improve`.
        single_root: whether exactly one word depends on the root.

    Raises:
        TypeError, ValueError: as `inside`; a `beam` below 1, or `swaps` below 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from structdep import greedy
        >>> chains = jnp.zeros((4, 4, 4)).at[0, 3, 2].set(5.0)
        >>> greedy.bgi_pp({"arc": jnp.zeros((4, 4)).at[2, 1].set(1.0), "grandparent": chains}, beam=3)
        Array([2, 3, 0], dtype=int32)
    """
    tuned = (jnp.asarray(beta, float), jnp.asarray(gamma, float))
    return parse(parts(scores, lengths, constraints), tuned, beam, swaps, single_root)


def improve(
    scores: Scores,
    heads: ArrayLike,
    lengths: ArrayLike | None = None,
    swaps: int = 5,
    *,
    single_root: bool = False,
) -> jax.Array:
    """The tree after up to `swaps` times the best swap of a word's head: int32 `[*batch, n]`.

    If the new head lies below the word, the word's dependent on the way there gets the word's old head. With
    `single_root`, that alone can be the root.

    Example:
        >>> import jax.numpy as jnp
        >>> from structdep import greedy
        >>> greedy.improve(jnp.zeros((3, 3)).at[[2, 0], [1, 2]].set(1.0), jnp.array([0, 1]))
        Array([2, 0], dtype=int32)
    """
    check_trees_unless_traced(heads, lengths)
    made = parts(scores, lengths)
    heads = made.checked(heads)
    return _shaped(made, _improve(made.flat(), heads.reshape(-1, heads.shape[-1]), swaps, single_root))


def parse(
    made: Parts, tuned: tuple[jax.Array, jax.Array] | None, beam: int, swaps: int, single_root: bool
) -> jax.Array:
    """The heads that are found; with partial predictions where there are their `beta` and `gamma`."""
    if beam < 1:
        raise ValueError(f"a beam holds at least one tree, not {beam}")
    flat = made.flat()
    return _shaped(made, _improve(flat, _search(flat, tuned, beam, single_root), swaps, single_root))


@partial(jax.jit, static_argnums=(2, 3))
def _search(made: Parts, tuned: tuple[jax.Array, jax.Array] | None, beam: int, single_root: bool) -> jax.Array:
    def of_sentence(own: Parts) -> jax.Array:
        return search(own, basic(own) if tuned is None else partial_predictions(own, *tuned), beam, single_root)

    return jax.vmap(of_sentence)(made)


@partial(jax.jit, static_argnums=(2, 3))
def _improve(made: Parts, heads: jax.Array, swaps: int, single_root: bool) -> jax.Array:
    if swaps < 0:
        raise ValueError(f"a tree is improved by no swap or more, not by {swaps}")
    return jax.vmap(partial(improved, swaps=swaps, single_root=single_root))(made, heads)


def _shaped(made: Parts, heads: jax.Array) -> jax.Array:
    heads = heads.reshape(*made.lengths.shape, heads.shape[-1])
    return jnp.where(jnp.arange(heads.shape[-1]) < made.lengths[..., None], heads, 0)

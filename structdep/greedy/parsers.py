"""Greedy parsers with second-order scores, batched and compiled."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from structdep._engines.masking import is_valid
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
    """Basic greedy inference (BGI): arcs are added one by one, each time the one with the least loss minus gain.

    The score of a part, an arc or a pair of arcs, counts as a gain when the added arc completes the part, and as a loss
    when the added arc makes the part impossible. `bgi_pp` also counts incomplete pairs, and usually finds better trees.

    Args:
        scores: second-order scores, `arc`, `grandparent` and `sibling`; see `structdep.greedy`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        constraints: known heads and forbidden arcs.
        beam: the number of partial trees that are kept, 1 or more.
        swaps: the largest number of swaps that improve the tree found; see `improve`.
        single_root: whether exactly one word depends on the root.

    Returns:
        The head of each word, int32 `[*batch, n]`: 0 is the root, and padding. -1 for all words of a sentence if no
        tree is found, because the arcs that were added leave only forbidden arcs, or if a score is NaN or +inf.

    Raises:
        TypeError: as by `structdep.inside`.
        ValueError: as by `structdep.inside`; `beam` below 1, or `swaps` below 0.

    References:
        Tchernowitz, Yedidsion and Reichart 2016, Effective greedy inference for graph-based non-projective dependency
        parsing.

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
    """Basic greedy inference with partial part predictions (BGI-PP).

    Arcs are added one by one, each time the one with the least `gamma · loss - (1 - gamma) · gain`. The score of a pair
    of arcs counts with the probability that its other arc will be in the tree: 1 if it is there, 0 if it has become
    impossible, else the probability of a softmax of `beta · arc` over the heads of its dependent.

    Args:
        scores: second-order scores, `arc`, `grandparent` and `sibling`; see `structdep.greedy`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        constraints: known heads and forbidden arcs.
        beta: how peaked the probabilities are; tuned values are in [0, 2.5].
        gamma: the weight of losses against gains; tuned values are in [0.2, 0.5].
        beam: the number of partial trees that are kept, 1 or more.
        swaps: the largest number of swaps that improve the tree found; see `improve`.
        single_root: whether exactly one word depends on the root.

    Returns:
        The head of each word, int32 `[*batch, n]`, as by `bgi`.

    Raises:
        TypeError, ValueError: as by `bgi`.

    References:
        Tchernowitz, Yedidsion and Reichart 2016, Effective greedy inference for graph-based non-projective dependency
        parsing.

    Example:
        >>> import jax.numpy as jnp
        >>> from structdep import greedy
        >>> chains = jnp.zeros((4, 4, 4)).at[0, 3, 2].set(5.0)
        >>> greedy.bgi_pp({"arc": jnp.zeros((4, 4)).at[2, 1].set(1.0), "grandparent": chains}, beam=3)
        Array([2, 3, 0], dtype=int32)
    """
    tuned = (jnp.asarray(beta), jnp.asarray(gamma))
    return parse(parts(scores, lengths, constraints), tuned, beam, swaps, single_root)


def improve(
    scores: Scores,
    heads: ArrayLike,
    lengths: ArrayLike | None = None,
    swaps: int = 5,
    *,
    single_root: bool = False,
) -> jax.Array:
    """Improve a tree by swaps: each swap is the one that raises the score the most.

    A swap gives a word another head. If the new head is a descendant of the word, the dependent of the word on the way
    to the new head gets the old head of the word. Swaps end when none raises the score.

    Args:
        scores: second-order scores, `arc`, `grandparent` and `sibling`; see `structdep.greedy`.
        heads: the trees, int `[*batch, n]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        swaps: the largest number of swaps.
        single_root: whether exactly one word depends on the root; `heads` has to obey it.

    Returns:
        The head of each word in the improved tree, int32 `[*batch, n]`, 0 in padding; -1 if a score is NaN or +inf.

    Raises:
        TypeError: as by `structdep.inside`.
        ValueError: as by `structdep.inside`; heads of a wrong shape, or that are no trees (not inside of `jax.jit`);
            `swaps` below 0.

    References:
        Tchernowitz, Yedidsion and Reichart 2016, Effective greedy inference for graph-based non-projective dependency
        parsing.

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
    if tuned is not None:
        tuned = (tuned[0].astype(flat.arc.dtype), tuned[1].astype(flat.arc.dtype))
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
    heads = jnp.where(is_valid(made.flat()[:3])[:, None], heads, -1).reshape(*made.lengths.shape, heads.shape[-1])
    return jnp.where(jnp.arange(heads.shape[-1]) < made.lengths[..., None], heads, 0)

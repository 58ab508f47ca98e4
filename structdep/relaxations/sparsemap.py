"""SparseMAP: the point of the convex hull of the trees that is nearest to the scores, a mean of few trees.

The algorithm is Wolfe's for the nearest point of a polytope (1976). It keeps an active set of trees: the best tree of
the gradient enters, and trees whose weight would be negative leave.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient
from numpy.typing import ArrayLike

from structdep.inference.constraints import Constraints
from structdep.relaxations.trees import BestHeads, Trees, as_scores, inner
from structdep.trees.classes import System


class SparseMap(NamedTuple):
    """The result of `sparsemap`: the nearest point, and the trees whose mean it is.

    Args:
        arcs: the point, float `[*batch, n+1, n+1]`.
        heads: the trees, int32 `[*batch, max_trees, n]`.
        weights: the weight of each tree, float `[*batch, max_trees]`; 0 for unused entries of `heads`.
    """

    arcs: jax.Array
    heads: jax.Array
    weights: jax.Array


class ActiveSet(NamedTuple):
    """Trees, their weights, and which places are taken; `is_done` where no tree can enter."""

    heads: jax.Array
    weights: jax.Array
    is_used: jax.Array
    is_done: jax.Array
    rounds: jax.Array


def sparsemap(
    system: System | BestHeads,
    scores: ArrayLike,
    lengths: ArrayLike | None = None,
    constraints: Constraints | None = None,
    *,
    max_trees: int | None = None,
    max_rounds: int | None = None,
    tolerance: float = 1e-4,
    single_root: bool = False,
) -> SparseMap:
    """SparseMAP: the point y in the convex hull of the trees' arcs with the least ½‖y - scores‖².

    The point is a mean of few trees. Divide the scores by a temperature for sparser (below 1) or denser (above 1)
    results. Derivatives of `arcs` and `weights` are exact, given the trees that are found: first derivatives, forward
    and reverse.

    Args:
        system: a class of trees, which may be ambiguous, or a function from scores and lengths to heads.
        scores: arc scores, float `[*batch, n+1, n+1]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        constraints: known heads and forbidden arcs; only with a system.
        max_trees: the largest number of trees of one sentence (default: 2 n + 2). A sentence that needs more gets the
            best mean of this number of trees.
        max_rounds: the largest number of best trees that are searched for each sentence (default: 10 times
            `max_trees`).
        tolerance: the search ends if no tree's score by `scores - y` exceeds that of y by more than this.
        single_root: whether exactly one word depends on the root; only with a system.

    Returns:
        `SparseMap(arcs, heads, weights)`: float `[*batch, n+1, n+1]`, int32 `[*batch, max_trees, n]` and float
        `[*batch, max_trees]`. All zeros for a sentence without any tree.

    Raises:
        TypeError: `scores` is a mapping, or as by `structdep.inside`.
        ValueError: `constraints` or `single_root` with a function, or as by `structdep.inside`.

    References:
        Niculae, Martins, Blondel and Cardie 2018, SparseMAP: differentiable sparse structured inference. Wolfe 1976,
        Finding the nearest point in a polytope.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> found = sd.relaxations.sparsemap(sd.charts.eisner(), jnp.zeros((3, 3)).at[2, 1].set(0.5))
        >>> found.weights[found.weights > 0].round(2)
        Array([0.62, 0.38], dtype=float32)
        >>> found.arcs.round(2)
        Array([[0.  , 0.38, 0.62],
               [0.  , 0.  , 0.38],
               [0.  , 0.62, 0.  ]], dtype=float32)
    """
    given, trees = as_scores(scores), Trees(system, lengths, constraints, single_root)
    words = given.shape[-1] - 1
    places = max(1, 2 * words + 2 if max_trees is None else max_trees)
    rounds = 10 * places if max_rounds is None else max_rounds
    found = _active_set(trees, _relative(trees, stop_gradient(given)), places, rounds, tolerance)
    heads = jnp.where(found.is_used[..., None], found.heads, 0)
    change = _scores_of(trees, given, heads)
    change = jnp.where(found.is_used, change - stop_gradient(change), 0)
    weights = found.weights + jnp.einsum("...ij,...j->...i", _slopes(trees, heads, found.is_used, given.dtype), change)
    return SparseMap(_mean(trees, heads, weights), heads, weights)


def _active_set(trees: Trees, scores: jax.Array, places: int, rounds: int, tolerance: float) -> ActiveSet:
    *batch, nodes, _ = scores.shape
    start = ActiveSet(
        jnp.zeros((*batch, places, nodes - 1), jnp.int32),
        jnp.zeros((*batch, places), scores.dtype),
        jnp.zeros((*batch, places), bool),
        jnp.zeros(batch, bool),
        jnp.zeros((), jnp.int32),
    )

    def goes_on(now: ActiveSet) -> jax.Array:
        return ~now.is_done.all() & (now.rounds < rounds)

    def enter(now: ActiveSet) -> ActiveSet:
        mean = _mean(trees, now.heads, now.weights)
        best = trees.heads(scores - mean)
        exists = (best >= 0).all(-1)
        best = jnp.maximum(best, 0)
        gain = _scores_of(trees, scores - mean, best[..., None, :])[..., 0] - inner(scores - mean, mean)
        is_first = ~now.is_used.any(-1)
        is_there = (now.is_used & (now.heads == best[..., None, :]).all(-1)).any(-1)  # its gain is a rounding error
        enters = ~now.is_done & exists & (is_first | (gain > tolerance)) & ~is_there & ~now.is_used.all(-1)
        place = (jnp.arange(places) == jnp.argmin(now.is_used, -1)[..., None]) & enters[..., None]
        heads = jnp.where(place[..., None], best[..., None, :], now.heads)
        used, weights = _reweighed(trees, scores, heads, now.is_used | place, now.weights, enters)
        stays = enters & (used & place).any(-1)  # else rounding errors are larger than the gain
        return ActiveSet(heads, weights, used, ~stays, now.rounds + 1)

    return jax.lax.while_loop(goes_on, enter, start)


def _relative(trees: Trees, scores: jax.Array) -> jax.Array:
    """The scores of arcs less the best score of a possible arc to the same word, which all trees have in common."""
    best = jnp.where(trees.possible(scores), scores, -jnp.inf).max(-2, keepdims=True)
    return scores - jnp.where(jnp.isneginf(best), 0, best)


def _reweighed(
    trees: Trees, scores: jax.Array, heads: jax.Array, used: jax.Array, weights: jax.Array, enters: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The best weights of trees that are in use, some of which leave, where a tree enters."""
    values = _scores_of(trees, scores, heads)
    values -= jnp.max(values, -1, keepdims=True, initial=-jnp.inf, where=used)  # the weights sum to 1
    shared = _shared_arcs(trees, heads, scores.dtype)
    tiny = 8 * float(jnp.finfo(scores.dtype).eps)  # type: ignore[no-untyped-call]

    def reweigh(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        used, weights, moves = state
        both = jnp.stack([jnp.where(used, values, 0), used.astype(values.dtype)], -1)
        free, one = jnp.moveaxis(_solved(shared, used, both), -1, 0)
        price = (free.sum(-1) - 1) / jnp.where(one.sum(-1) > 0, one.sum(-1), 1)
        wanted = jnp.where(used, free - price[..., None] * one, 0)
        falls = used & (wanted <= tiny)
        ratio = jnp.where(falls, weights / jnp.maximum(weights - wanted, tiny), 1).min(-1, keepdims=True)
        moved = jnp.clip(weights + ratio * (wanted - weights), 0, None)
        kept = used & ((moved > tiny) | ~falls.any(-1, keepdims=True))
        moved = jnp.where(kept, moved, 0)
        moved /= jnp.maximum(moved.sum(-1, keepdims=True), tiny)
        return (
            jnp.where(moves[..., None], kept, used),
            jnp.where(moves[..., None], moved, weights),
            moves & falls.any(-1),
        )

    used, weights, _ = jax.lax.while_loop(lambda state: state[2].any(), reweigh, (used, weights, enters))
    return used, weights


def _solved(shared: jax.Array, used: jax.Array, right: jax.Array) -> jax.Array:
    """The solutions of linear equations with the trees' products, `[*batch, trees, equations]`; refined once."""
    inverse = _inverse(shared, used)
    products = jnp.where(used[..., :, None] & used[..., None, :], shared + 1, 0)
    found = inverse @ right
    return found + inverse @ (right - jnp.matmul(products, found, precision=jax.lax.Precision.HIGHEST))


def _slopes(trees: Trees, heads: jax.Array, used: jax.Array, dtype: jnp.dtype) -> jax.Array:
    """The derivatives of the weights by the trees' scores, `[*batch, trees, trees]`."""
    inverse = _inverse(_shared_arcs(trees, heads, dtype), used)
    one = inverse.sum(-1)
    total = jnp.where(one.sum(-1) > 0, one.sum(-1), 1)[..., None, None]
    return stop_gradient(inverse - one[..., :, None] * one[..., None, :] / total)


def _inverse(shared: jax.Array, used: jax.Array) -> jax.Array:
    """The inverse of the trees' products, 0 where not in use.

    One is added to each product: this changes nothing where weights sum to 1.
    """
    both = used[..., :, None] & used[..., None, :]
    inverse = jnp.linalg.inv(jnp.where(both, shared + 1, jnp.eye(used.shape[-1], dtype=shared.dtype)))
    return jnp.where(both, inverse, 0)


def _shared_arcs(trees: Trees, heads: jax.Array, dtype: jnp.dtype) -> jax.Array:
    """How many arcs each two of a sentence's trees share, `[*batch, trees, trees]`."""
    same = heads[..., :, None, :] == heads[..., None, :, :]
    return jnp.sum(same & trees.is_word(heads.shape[-1])[..., None, None, :], -1).astype(dtype)


def _scores_of(trees: Trees, scores: jax.Array, heads: jax.Array) -> jax.Array:
    """The score of each tree, `[*batch, trees]`."""
    of_words = jnp.take_along_axis(scores[..., 1:], heads, axis=-2)
    return jnp.sum(jnp.where(trees.is_word(heads.shape[-1])[..., None, :], of_words, 0), -1)


def _mean(trees: Trees, heads: jax.Array, weights: jax.Array) -> jax.Array:
    """The arcs of the weighted mean of trees."""
    nodes = heads.shape[-1] + 1
    is_head = heads[..., None, :] == jnp.arange(nodes)[:, None]
    arcs = jnp.sum(jnp.where(is_head, weights[..., None, None], 0), -3)
    arcs = jnp.where(trees.is_word(heads.shape[-1])[..., None, :], arcs, 0)
    return jnp.pad(arcs, [(0, 0)] * (arcs.ndim - 1) + [(1, 0)])

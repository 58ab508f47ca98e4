"""Approximate marginals with second-order scores, by mean-field inference."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from structdep.greedy.parts import Scores, parts
from structdep.inference.constraints import Constraints
from structdep.inference.queries import marginals
from structdep.semirings import LogSum, SingleRoot
from structdep.trees.classes import System


def mean_field(
    scores: Scores,
    lengths: ArrayLike | None = None,
    constraints: Constraints | None = None,
    *,
    system: System | None = None,
    iterations: int = 3,
    single_root: bool = False,
) -> jax.Array:
    """Scores of arcs to which the expected scores of pairs of arcs are added, for approximate marginals.

    Each iteration computes, for all arcs: the score of the arc, plus the sum over all pairs with the arc of the score
    of the pair times the probability of the other arc. Probabilities are the marginals of `system` by the scores of the
    last iteration. The result serves every query, as an approximation: `sd.marginals(system, ..)`, samples, entropies,
    losses. An iteration takes O(n^3) time in addition to the marginals.

    Args:
        scores: second-order scores, `arc`, `grandparent` and `sibling`; see `structdep.greedy`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        constraints: known heads and forbidden arcs.
        system: the class of trees, `sd.spanning.all_trees()` or a chart. Without a system, each word chooses its head
            alone: the probabilities of an iteration are a softmax over the heads of each word.
        iterations: the number of iterations. They need not converge if the scores of pairs are large.
        single_root: whether exactly one word depends on the root, in the system's trees.

    Returns:
        Scores of arcs, float `[*batch, n+1, n+1]`; -inf where no arc is possible.

    Raises:
        TypeError: as by `structdep.inside`.
        ValueError: as by `structdep.inside`; `iterations` below 0, or `single_root` without a system.

    References:
        Wang and Tu 2020, Second-order neural dependency parsing with message passing and end-to-end training (without a
        system). Smith and Eisner 2008, Dependency parsing by belief propagation (trees as one factor).

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> chains = jnp.zeros((4, 4, 4)).at[0, 3, 2].set(5.0)
        >>> arcs = sd.greedy.mean_field({"arc": jnp.zeros((4, 4)), "grandparent": chains}, system=sd.charts.eisner())
        >>> print(f"{sd.marginals(sd.charts.eisner(), arcs)[3, 2]:.2f}")
        0.99
    """
    if iterations < 0:
        raise ValueError(f"mean field takes no iteration or more, not {iterations}: write iterations=3")
    if single_root and system is None:
        raise ValueError("a single root is a property of trees: write system=sd.spanning.all_trees()")
    made = parts(scores, lengths, constraints)
    arcs = jnp.where(made.allowed, made.arc, -jnp.inf)
    if system is None:
        return refined(arcs, made.others, choice_of_heads, iterations)
    semiring = SingleRoot(LogSum()) if single_root else LogSum()
    of_trees = partial(marginals, system, lengths=made.lengths, semiring=semiring)
    return refined(arcs, made.others, of_trees, iterations)


def refined(
    arcs: jax.Array,
    messages: Callable[[jax.Array], jax.Array],
    probabilities: Callable[[jax.Array], jax.Array],
    iterations: int,
) -> jax.Array:
    """Arc scores `[*batch, n+1, n+1]` after some iterations: each adds messages to `arcs`.

    `probabilities` maps the scores of the iteration before to probabilities of arcs, `messages` maps these to what is
    added; both take and return tables of that shape.
    """
    return jax.lax.fori_loop(0, iterations, lambda _, scores: arcs + messages(probabilities(scores)), arcs)


def choice_of_heads(scores: jax.Array) -> jax.Array:
    """The probability of each arc where each word chooses its head alone; 0 for words that have none."""
    allowed = ~jnp.isneginf(scores)
    exists = allowed.any(-2, keepdims=True)
    return jnp.where(exists, jax.nn.softmax(jnp.where(exists, scores, 0), -2), 0)

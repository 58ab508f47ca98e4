"""The best tree by second-order scores, with a certificate, by dual decomposition and subgradient steps."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.lax import stop_gradient
from numpy.typing import ArrayLike

from structdep._engines.masking import is_valid, nan_unless
from structdep.greedy.dual_bound import Dual, Multipliers
from structdep.greedy.improvement import improved
from structdep.greedy.parts import Parts, Scores, parts
from structdep.inference.constraints import Constraints

ROUNDING = 1e-5
"""The gap between bound and value that is rounding, relative to the value or the highest score."""
RELAXATION = 1.8
"""Steps are this long to begin with, in Polyak's; they converge below 2."""
PATIENCE = 20
"""After as many steps without a lower bound, steps are halved."""
SWAPS = 5
"""By how many swaps the first tree, and the last, are improved."""


class CertifiedTrees(NamedTuple):
    """The result of `dual_decomposition`: trees, and a bound on the score of all trees.

    Args:
        heads: the tree found, int32 `[*batch, n]`: 0 is the root, and padding; -1 if there is no tree, or a score is
            NaN.
        value: the score of the tree, float `[*batch]`.
        bound: float `[*batch]`; no tree has a higher score.
        optimal: bool `[*batch]`, whether the bound equals the value up to rounding: the tree is then the best.
    """

    heads: jax.Array
    value: jax.Array
    bound: jax.Array
    optimal: jax.Array


def dual_decomposition(
    scores: Scores,
    lengths: ArrayLike | None = None,
    constraints: Constraints | None = None,
    *,
    steps: int = 200,
    single_root: bool = False,
) -> CertifiedTrees:
    """The best tree found by second-order scores, with a bound that may prove that no tree is better.

    The search is NP-hard. The bound is that of a linear relaxation. It often proves that the tree is the best if the
    scores of pairs are small compared with those of arcs, as in trained parsers, and seldom if all scores are noise.
    Each step takes O(n^3) time and space. Derivatives are those of `value` alone, with the tree held fixed.

    Args:
        scores: second-order scores, `arc`, `grandparent` and `sibling`; see `structdep.greedy`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        constraints: known heads and forbidden arcs.
        steps: the largest number of subgradient steps; the search ends when all trees are proved to be the best.
        single_root: whether exactly one word depends on the root.

    Returns:
        `CertifiedTrees(heads, value, bound, optimal)`: int32 `[*batch, n]`, float, float and bool `[*batch]`.

    Raises:
        TypeError: as by `structdep.inside`.
        ValueError: as by `structdep.inside`; `steps` below 0.

    References:
        Koo, Rush, Collins, Jaakkola and Sontag 2010, Dual decomposition for parsing with non-projective head automata.
        They score adjacent siblings. Scores of all pairs of siblings, as in Martins, Almeida and Smith 2013, have no
        automaton.

    Example:
        >>> import jax.numpy as jnp
        >>> from structdep.greedy import dual_decomposition
        >>> chains = jnp.zeros((4, 4, 4)).at[0, 3, 2].set(5.0)
        >>> found = dual_decomposition({"arc": jnp.zeros((4, 4)).at[2, 1].set(1.0), "grandparent": chains})
        >>> found.heads, found.value, found.optimal
        (Array([2, 3, 0], dtype=int32), Array(6., dtype=float32), Array(True, dtype=bool))
    """
    if steps < 0:
        raise ValueError(f"dual decomposition takes no step or more, not {steps}: write steps=200")
    given = parts(scores, lengths, constraints)
    made = given.flat()
    heads, bound = _solve(stop_gradient(made), steps, single_root)
    valid, value = is_valid(made[:3]), made.score(heads)
    optimal = valid & ~_is_gap(value, bound, _highest(made))
    heads = jnp.where((valid & ~jnp.isneginf(value))[:, None], heads, -1)
    heads = jnp.where(jnp.arange(heads.shape[1]) < made.lengths[:, None], heads, 0)
    value, bound = nan_unless(valid, (value, jnp.maximum(bound, stop_gradient(value))))
    batch = given.lengths.shape
    return CertifiedTrees(
        heads.reshape(*batch, heads.shape[1]), value.reshape(batch), bound.reshape(batch), optimal.reshape(batch)
    )


class State(NamedTuple):
    """Where a sentence's search has come to.

    Args:
        point: multipliers; `slope` is that of the bound there, `height` the bound there.
        heads: the best tree so far; `value` is its score.
        bound: the lowest so far.
        length: of steps, in Polyak's; `patience` counts down to where it is halved.
    """

    point: Multipliers
    slope: Multipliers
    height: jax.Array
    heads: jax.Array
    value: jax.Array
    bound: jax.Array
    length: jax.Array
    patience: jax.Array


@partial(jax.jit, static_argnums=2)
def _solve(made: Parts, steps: int, single_root: bool) -> tuple[jax.Array, jax.Array]:
    """The heads of the best trees that were found, and the lowest bounds."""
    dual, highest = Dual.of(made, single_root), _highest(made)

    def is_open(state: State) -> jax.Array:
        return _is_gap(state.value, state.bound, highest)

    def advance(carry: tuple[jax.Array, State]) -> tuple[jax.Array, State]:
        number, state = carry
        return number + 1, _step(made, dual, state, is_open(state), single_root)

    def goes_on(carry: tuple[jax.Array, State]) -> jax.Array:
        number, state = carry
        return (number < steps) & is_open(state).any()

    state = _start(made, dual, single_root)
    _, state = jax.lax.while_loop(goes_on, advance, (jnp.zeros((), int), state))
    return _improved(made, state.heads, single_root), state.bound


def _start(made: Parts, dual: Dual, single_root: bool) -> State:
    point = dual.start()
    height, slope, heads = dual.bound(point, single_root)
    heads = _improved(made, heads, single_root)
    length = jnp.full_like(height, RELAXATION)
    patience = jnp.full(height.shape, PATIENCE)
    return State(point, slope, height, heads, made.score(heads), height, length, patience)


def _step(made: Parts, dual: Dual, state: State, is_open: jax.Array, single_root: bool) -> State:
    """One step against the slope, as long as would close the gap if the bound were linear, times `length`.

    Sentences that are not open stay where they are.
    """
    slope = dual.feasible(state.point, state.slope)
    squared = sum(jnp.sum(leaf**2, range(1, leaf.ndim)) for leaf in slope)
    size = jnp.where(is_open, state.length * (state.height - state.value) / jnp.maximum(squared, 1), 0)
    point = dual.clipped(
        jax.tree.map(lambda x, dx: x - size.reshape(-1, *[1] * (dx.ndim - 1)) * dx, state.point, slope)
    )
    height, slope, heads = dual.bound(point, single_root)
    value = made.score(heads)
    heads = jnp.where((value > state.value)[:, None], heads, state.heads)
    patience = jnp.where(height < state.bound, PATIENCE, state.patience - 1)
    length = jnp.where(patience > 0, state.length, state.length / 2)
    patience = jnp.where(patience > 0, patience, PATIENCE)
    value, bound = jnp.maximum(value, state.value), jnp.minimum(height, state.bound)
    return State(point, slope, height, heads, value, bound, length, patience)


def _improved(made: Parts, heads: jax.Array, single_root: bool) -> jax.Array:
    return jax.vmap(partial(improved, swaps=SWAPS, single_root=single_root))(made, heads)


def _highest(made: Parts) -> jax.Array:
    """The highest score of each sentence, `[batch]`: very low ones, as those of masks are, are in no good tree."""
    return jnp.stack([table.max(range(1, table.ndim)) for table in made[:3]]).max(0)


def _is_gap(value: jax.Array, bound: jax.Array, highest: jax.Array) -> jax.Array:
    """Whether the bound lies above the value by more than rounding."""
    return bound - value > ROUNDING * jnp.maximum(highest, jnp.abs(value))

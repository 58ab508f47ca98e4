"""The best tree by second-order scores, with a certificate: dual decomposition, solved by subgradient steps."""

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
"""The gap between bound and value that is rounding, relative to the value or the largest score."""
RELAXATION = 1.8
"""Steps are this long to begin with, in Polyak's; they converge below 2."""
PATIENCE = 20
"""After as many steps without a lower bound, steps are halved."""
SWAPS = 5
"""By how many swaps the first tree, and the last, are improved."""


class CertifiedTrees(NamedTuple):
    """Trees and how good they are at most; see `dual_decomposition`.

    Args:
        heads: int32 `[*batch, n]`, 0 in padding; -1 if there is no tree, or a score is NaN.
        value: `[*batch]`, the score of the tree.
        bound: `[*batch]`, no tree has a higher score.
        optimal: bool `[*batch]`, whether bound and value are equal, to rounding: then no tree is better.
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
    """The best tree by second-order scores that is found, a bound on all trees, and whether that proves it the best.

    The search is NP-hard; the tree is proved optimal where the bound, a linear relaxation, is tight: often if
    second-order scores are small beside those of arcs, as in trained parsers, seldom if all scores are noise. Each step
    takes O(n^3) time and space. Derivatives are those of the value alone, with the tree held fixed.

    Args:
        scores: tables named `arc`, `grandparent` and `sibling`; see `structdep.greedy.parts`.
        lengths, constraints: as in `inside`.
        steps: how many at most; a sentence stops when its tree is proved optimal.
        single_root: whether exactly one word depends on the root.

    Raises:
        TypeError, ValueError: as `inside`; `steps` below 0.

    References:
        Koo, Rush, Collins, Jaakkola, Sontag 2010, Dual decomposition for parsing with non-projective head automata.
        They score adjacent siblings; scores of all pairs, as in Martins, Almeida and Smith 2013, have no automaton.

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
    optimal = valid & ~_is_gap(value, bound, _largest(made))
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
    dual, largest = Dual.of(made, single_root), _largest(made)

    def is_open(state: State) -> jax.Array:
        return _is_gap(state.value, state.bound, largest)

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


def _largest(made: Parts) -> jax.Array:
    """The largest score of each sentence, `[batch]`."""
    return jnp.stack([jnp.abs(table).max(range(1, table.ndim)) for table in made[:3]]).max(0)


def _is_gap(value: jax.Array, bound: jax.Array, largest: jax.Array) -> jax.Array:
    """Whether the bound lies above the value by more than rounding."""
    return bound - value > ROUNDING * jnp.maximum(largest, jnp.abs(value))

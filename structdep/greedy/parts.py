"""Second-order scores: of arcs, and of pairs of arcs. The docstring of `structdep.greedy` defines them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from structdep.deduction import Score
from structdep.inference.constraints import Constraints
from structdep.inference.scores import problem
from structdep.trees import heads_to_arcs

Scores = ArrayLike | Mapping[str, ArrayLike]
"""Tables by name. `arc`: `[*batch, n+1, n+1]`, `[head, dependent]`, row 0 the root, -inf where there is no arc.
`grandparent`: `[*batch, n+1, n+1, n+1]`, `[g, h, d]`, for arcs g→h and h→d. `sibling`: `[*batch, n+1, n+1, n+1]`,
`[h, d, e]`, d < e, for arcs h→d and h→e. The last two are finite, and score 0 where absent. An array means `arc`."""


@dataclass(frozen=True)
class SecondOrder:
    """What the boundary asks of a class of trees: all, here, by scores of parts."""

    name: ClassVar[str] = "second-order parts"
    trees: ClassVar[str] = "all"
    unambiguous: ClassVar[bool] = True
    last: ClassVar[int] = 0
    declared: ClassVar[dict[str, tuple[Score, int]]] = {
        name: (Score(name), arity) for name, arity in (("arc", 2), ("grandparent", 3), ("sibling", 3))
    }


class Parts(NamedTuple):
    """Checked tables `[*batch, n+1, ..]`, 0 where there is no part, `sibling` symmetric; `lengths` `[*batch]`.

    `allowed` says which arcs there are.
    """

    arc: jax.Array
    grandparent: jax.Array
    sibling: jax.Array
    allowed: jax.Array
    lengths: jax.Array

    @classmethod
    def of(cls, tables: Mapping[str, jax.Array], lengths: jax.Array) -> Parts:
        """From tables that are checked and masked: -inf in padding."""
        arc = tables["arc"]
        allowed = ~jnp.isneginf(arc)
        nodes = arc.shape[-1]
        g, h, d = jnp.indices((nodes,) * 3, sparse=True)
        chain = (g != h) & (h != d) & (g != d) & (h > 0) & (d > 0)
        pair = (g != h) & (g != d) & (0 < h) & (h < d)

        def table(name: str, exists: jax.Array) -> jax.Array:
            if name not in tables:
                return jnp.zeros((*arc.shape, nodes), arc.dtype)
            return jnp.where(exists & ~jnp.isneginf(tables[name]), tables[name], 0)

        siblings = table("sibling", pair)
        siblings += siblings.swapaxes(-2, -1)
        return cls(jnp.where(allowed, arc, 0), table("grandparent", chain), siblings, allowed, lengths)

    def flat(self) -> Parts:
        """With one batch axis."""
        batch_axes = self.lengths.ndim
        return Parts(*(table.reshape(-1, *table.shape[batch_axes:]) for table in self))

    def checked(self, heads: ArrayLike) -> jax.Array:
        """Heads of the right shape, `[*batch, n]`."""
        heads = jnp.asarray(heads)
        expected = (*self.lengths.shape, self.arc.shape[-1] - 1)
        if heads.shape != expected:
            raise ValueError(f"heads have shape {heads.shape}, expected {expected}: one head for each word")
        if not jnp.issubdtype(heads.dtype, jnp.integer):
            raise TypeError(f"heads must be integers, not {heads.dtype}")
        return heads.astype(jnp.int32)

    def score(self, heads: jax.Array) -> jax.Array:
        """The score of a tree, `[*batch]`; -inf where it has forbidden arcs, or words without head."""
        tree = heads_to_arcs(heads, self.lengths)
        uses = tree.astype(self.arc.dtype)
        total = jnp.sum(self.arc + self.above(uses) + self.beside(uses) / 2, (-2, -1), where=tree)
        return jnp.where((tree & self.allowed).sum((-2, -1)) == self.lengths, total, -jnp.inf)

    def above(self, uses: jax.Array) -> jax.Array:
        """For each arc h→d, the sum over g of its part with g→h times the uses of that, `[*batch, n+1, n+1]`."""
        return _sum("...ghd,...gh->...hd", self.grandparent, uses)

    def below(self, uses: jax.Array) -> jax.Array:
        """For each arc h→d, the sum over c of its part with d→c times the uses of that."""
        return _sum("...hdc,...dc->...hd", self.grandparent, uses)

    def beside(self, uses: jax.Array) -> jax.Array:
        """For each arc h→d, the sum over e of its part with h→e times the uses of that."""
        return _sum("...hde,...he->...hd", self.sibling, uses)

    def others(self, uses: jax.Array) -> jax.Array:
        """For each arc, the sum of its parts, each times the uses of its other arc."""
        return self.above(uses) + self.below(uses) + self.beside(uses)


def _sum(subscripts: str, *tables: jax.Array) -> jax.Array:
    return jnp.einsum(subscripts, *tables, precision=jax.lax.Precision.HIGHEST)


def parts(scores: Scores, lengths: ArrayLike | None = None, constraints: Constraints | None = None) -> Parts:
    """The tables, checked: errors as in `inside`."""
    given = problem(SecondOrder(), scores, lengths, constraints)
    return Parts.of(given.tables, given.lengths)


def score(scores: Scores, heads: ArrayLike, lengths: ArrayLike | None = None) -> jax.Array:
    """The second-order score of a tree: the sum of the scores of its arcs, chains of two arcs, and pairs of siblings.

    Args:
        scores: second-order scores, `arc`, `grandparent` and `sibling`; see `structdep.greedy`.
        heads: the trees, int `[*batch, n]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.

    Returns:
        float `[*batch]`; -inf if an arc is forbidden.

    Raises:
        TypeError: as by `structdep.inside`.
        ValueError: as by `structdep.inside`; heads of a wrong shape.

    Example:
        >>> import jax.numpy as jnp
        >>> from structdep import greedy
        >>> tables = {"arc": jnp.ones((4, 4)), "grandparent": jnp.full((4, 4, 4), 10.0)}
        >>> greedy.score(tables | {"sibling": jnp.full((4, 4, 4), 100.0)}, jnp.array([2, 0, 2]))
        Array(123., dtype=float32)
    """
    made = parts(scores, lengths)
    return made.score(made.checked(heads))


def favour(
    scores: Scores, heads: ArrayLike, lengths: ArrayLike | None = None, first: float = 1.0, second: float = 0.25
) -> dict[str, jax.Array]:
    """Second-order scores that favour the tree of another parser, for an ensemble of the two.

    `bgi_pp` of these scores is the ensemble of Tchernowitz et al.

    Args:
        scores: second-order scores, `arc`, `grandparent` and `sibling`; see `structdep.greedy`.
        heads: the trees of the other parser, int `[*batch, n]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        first: added to the score of each arc of these trees; tuned values are in [0.5, 1.5].
        second: added to the score of each pair of their arcs, chains and siblings; tuned values are in [0.2, 0.3].

    Returns:
        Tables `arc`, `grandparent` and `sibling`, as in `structdep.greedy`.

    Raises:
        TypeError, ValueError: as by `score`.

    References:
        Tchernowitz, Yedidsion and Reichart 2016, Effective greedy inference for graph-based non-projective dependency
        parsing.

    Example:
        >>> import jax.numpy as jnp
        >>> from structdep import greedy
        >>> greedy.bgi_pp(greedy.favour(jnp.zeros((4, 4)), jnp.array([2, 0, 2])))
        Array([2, 0, 2], dtype=int32)
    """
    made = parts(scores, lengths)
    tree = heads_to_arcs(made.checked(heads), lengths)
    chains = tree[..., :, :, None] & tree[..., None, :, :]
    pairs = tree[..., :, :, None] & tree[..., :, None, :]
    return {
        "arc": jnp.where(made.allowed, made.arc + first * tree, -jnp.inf),
        "grandparent": made.grandparent + second * chains,
        "sibling": made.sibling + second * pairs,
    }

"""Short forms of `inside`: one function for each system, which selects the variant that reads the given scores."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from structdep import charts
from structdep.deduction import LABEL
from structdep.inference.inside import inside
from structdep.inference.scores import Tables, named
from structdep.semirings import MaxPlus, Semiring

Kind = Semiring | type[Semiring]


def eisner(
    scores: Tables, lengths: ArrayLike | None = None, semiring: Kind = MaxPlus, *, single_root: bool = False
) -> Any:
    """The value of all projective trees, by Eisner's system; see `charts.eisner`.

    Scores named `sibling` or `grandparent` select `charts.eisner(siblings=True)`, `charts.eisner(grandparents=True)`,
    or both.

    Args:
        scores: arc scores, float `[*batch, n+1, n+1]`, or a mapping with `arc`, `label`, `sibling[h, m, s]` (m and s
            are adjacent dependents of h) and `grandparent[g, h, m]`, the last two `[*batch, n+1, n+1, n+1]`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        semiring: what is computed, a class or an instance.
        single_root: whether exactly one word depends on the root.

    Returns:
        As `inside`: `[*batch]` for most semirings.

    Raises:
        TypeError, ValueError: as by `inside`.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> arcs = jnp.zeros((5, 5))
        >>> jnp.exp(sd.eisner(arcs, semiring=sd.LogSum, single_root=True)).round()
        Array(30., dtype=float32)
        >>> sd.eisner({"arc": arcs, "sibling": jnp.ones((5, 5, 5)), "grandparent": jnp.ones((5, 5, 5))})
        Array(8., dtype=float32)
    """
    given = named(scores).keys()
    system = charts.eisner(single_root, siblings="sibling" in given, grandparents="grandparent" in given)
    return inside(system, scores, lengths, semiring)


def arc_standard(scores: Tables, lengths: ArrayLike | None = None, semiring: Kind = MaxPlus) -> Any:
    """The value of all projective trees, by the transitions of arc-standard; see `charts.arc_standard`.

    Sums over derivations count a tree several times. Other names of scores than `arc` and `label` select
    `charts.arc_standard(transitions=True)`.

    Args:
        scores: arc scores, float `[*batch, n+1, n+1]`, or a mapping from names to tables; see `inside`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        semiring: what is computed, a class or an instance.

    Returns:
        As `inside`: `[*batch]` for most semirings.

    Raises:
        TypeError, ValueError: as by `inside`.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.arc_standard({"shift": jnp.ones((4, 4))})
        Array(2., dtype=float32)
    """
    return inside(charts.arc_standard(_scores_more(scores)), scores, lengths, semiring)


def arc_hybrid(scores: Tables, lengths: ArrayLike | None = None, semiring: Kind = MaxPlus) -> Any:
    """The value of all projective trees, by the transitions of arc-hybrid; see `charts.arc_hybrid`.

    Sums over derivations count a tree several times. Other names of scores than `arc` and `label` select
    `charts.arc_hybrid(transitions=True)`.

    Args:
        scores: arc scores, float `[*batch, n+1, n+1]`, or a mapping from names to tables; see `inside`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        semiring: what is computed, a class or an instance.

    Returns:
        As `inside`: `[*batch]` for most semirings.

    Raises:
        TypeError, ValueError: as by `inside`.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.arc_hybrid(jnp.zeros((3, 3)).at[2, 1].set(1.0))
        Array(1., dtype=float32)
    """
    return inside(charts.arc_hybrid(_scores_more(scores)), scores, lengths, semiring)


def arc_eager(scores: Tables, lengths: ArrayLike | None = None, semiring: Kind = MaxPlus) -> Any:
    """The value of all projective trees, by the transitions of arc-eager; see `charts.arc_eager`.

    Sums over derivations count a tree several times. Other names of scores than `arc` and `label` select
    `charts.arc_eager(transitions=True)`.

    Args:
        scores: arc scores, float `[*batch, n+1, n+1]`, or a mapping from names to tables; see `inside`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        semiring: what is computed, a class or an instance.

    Returns:
        As `inside`: `[*batch]` for most semirings.

    Raises:
        TypeError, ValueError: as by `inside`.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> sd.arc_eager({"reduce": jnp.ones((4, 4)), "arc": jnp.zeros((3, 3))})
        Array(2., dtype=float32)
    """
    return inside(charts.arc_eager(_scores_more(scores)), scores, lengths, semiring)


def mhk(scores: Tables, k: int = 4, lengths: ArrayLike | None = None, semiring: Kind = MaxPlus) -> Any:
    """The value of all trees of MH_k, mildly non-projective for k > 3; see `charts.mhk`.

    Sums over derivations count a tree several times. Other names of scores than `arc` and `label` select `charts.mhk(k,
    transitions=True)`.

    Args:
        scores: arc scores, float `[*batch, n+1, n+1]`, or a mapping from names to tables; see `inside`.
        k: the largest number of heads of an item, 3 or more.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        semiring: what is computed, a class or an instance.

    Returns:
        As `inside`: `[*batch]` for most semirings.

    Raises:
        TypeError, ValueError: as by `inside` and `charts.mhk`.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> crossing = jnp.full((5, 5), -jnp.inf).at[[3, 4, 0, 3], [1, 2, 3, 4]].set(1.0)
        >>> sd.mhk(crossing, k=3), sd.mhk(crossing, k=4)
        (Array(-inf, dtype=float32), Array(4., dtype=float32))
    """
    return inside(charts.mhk(k, _scores_more(scores)), scores, lengths, semiring)


def one_endpoint_crossing(scores: Tables, lengths: ArrayLike | None = None, semiring: Kind = MaxPlus) -> Any:
    """The value of all 1-Endpoint-Crossing trees; see `charts.one_endpoint_crossing`.

    Other names of scores than `arc` and `label` select `charts.crossing_sensitive()`, which scores pairs of arcs, too.

    Args:
        scores: arc scores, float `[*batch, n+1, n+1]`, or a mapping from names to tables; see `inside`.
        lengths: int `[*batch]`, the number of words of each sentence; default: n.
        semiring: what is computed, a class or an instance.

    Returns:
        As `inside`: `[*batch]` for most semirings.

    Raises:
        TypeError, ValueError: as by `inside`.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> crossing = jnp.full((5, 5), -jnp.inf).at[[3, 4, 0, 3], [1, 2, 3, 4]].set(1.0)
        >>> sd.one_endpoint_crossing(crossing), sd.one_endpoint_crossing({"crossed": jnp.ones((5, 5)), "arc": crossing})
        (Array(4., dtype=float32), Array(7., dtype=float32))
    """
    system = charts.crossing_sensitive() if _scores_more(scores) else charts.one_endpoint_crossing()
    return inside(system, scores, lengths, semiring)


def _scores_more(scores: Tables) -> bool:
    """Whether more than arcs and their labels is scored."""
    return not named(scores).keys() <= {"arc", LABEL}

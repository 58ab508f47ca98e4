"""One function a system: `inside` with the chart that its name says, and with what is scored beyond arcs."""

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
    """Projective trees by Eisner's system, each derived once; see `inside`.

    Scores `sibling` and `grandparent` select a system of second or third order; see `charts.eisner`.

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
    """Projective trees by arc-standard's transitions; see `inside`."""
    return inside(charts.arc_standard(_scores_more(scores)), scores, lengths, semiring)


def arc_hybrid(scores: Tables, lengths: ArrayLike | None = None, semiring: Kind = MaxPlus) -> Any:
    """Projective trees by arc-hybrid's transitions; see `inside`."""
    return inside(charts.arc_hybrid(_scores_more(scores)), scores, lengths, semiring)


def arc_eager(scores: Tables, lengths: ArrayLike | None = None, semiring: Kind = MaxPlus) -> Any:
    """Projective trees by arc-eager's transitions; see `inside`."""
    return inside(charts.arc_eager(_scores_more(scores)), scores, lengths, semiring)


def mhk(scores: Tables, k: int = 4, lengths: ArrayLike | None = None, semiring: Kind = MaxPlus) -> Any:
    """Mildly non-projective trees by MH_k, k >= 3; see `inside`.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> crossing = jnp.full((5, 5), -jnp.inf).at[[3, 4, 0, 3], [1, 2, 3, 4]].set(1.0)
        >>> sd.mhk(crossing, k=3), sd.mhk(crossing, k=4)
        (Array(-inf, dtype=float32), Array(4., dtype=float32))
    """
    return inside(charts.mhk(k, _scores_more(scores)), scores, lengths, semiring)


def one_endpoint_crossing(scores: Tables, lengths: ArrayLike | None = None, semiring: Kind = MaxPlus) -> Any:
    """1-Endpoint-Crossing trees, each derived once: crossing-sensitive where more than arcs is scored; see `inside`.

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

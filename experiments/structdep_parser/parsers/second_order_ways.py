"""Ways of decoding a trained parser with second-order scores (or arc scores), beside the trees of another parser."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp

import structdep as sd
from structdep import greedy
from structdep.spanning import all_trees

Tables = dict[str, jax.Array]
Way = Callable[[Tables, jax.Array, jax.Array], jax.Array]
"""Heads from scores, numbers of words, and the other parser's heads."""


def of_arcs(scores: Tables, lengths: jax.Array, other: jax.Array) -> jax.Array:
    """The best tree by the scores of arcs alone."""
    return sd.argmax(all_trees(), scores["arc"], lengths)


def searched(scores: Tables, lengths: jax.Array, other: jax.Array, beam: int = 1, swaps: int = 0) -> jax.Array:
    return greedy.bgi_pp(scores, lengths, beam=beam, swaps=swaps)


def ensemble(scores: Tables, lengths: jax.Array, other: jax.Array) -> jax.Array:
    """Found and improved by scores that lean towards the other tree."""
    return greedy.bgi_pp(greedy.favour(scores, other, lengths), lengths, swaps=5)


def better(scores: Tables, lengths: jax.Array, other: jax.Array) -> jax.Array:
    """The one with the higher score of two improved trees: that of the search, and the other parser's."""
    found, given = greedy.bgi_pp(scores, lengths, swaps=5), greedy.improve(scores, other, lengths)
    is_better = greedy.score(scores, given, lengths) > greedy.score(scores, found, lengths)
    return jnp.where(is_better[:, None], given, found)


WAYS: dict[str, Way] = {
    "arcs alone": of_arcs,
    "arcs alone, +i": lambda scores, lengths, other: greedy.improve(scores, of_arcs(scores, lengths, other), lengths),
    "BGI": lambda scores, lengths, other: greedy.bgi(scores, lengths),
    "BGI-PP": searched,
    "BGI-PP +i": partial(searched, swaps=5),
    "BGI-PP +i +b": partial(searched, beam=3, swaps=5),
    "dual decomposition": lambda scores, lengths, other: greedy.dual_decomposition(scores, lengths).heads,
}
WITH_OTHER: dict[str, Way] = {
    "the other": lambda scores, lengths, other: other,
    "better of +i and the other +i": better,
    "BGI-PP +i +e": ensemble,
}

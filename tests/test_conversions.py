"""Scores in the layouts of other libraries, against what these document."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import structdep as sd
from structdep.spanning import all_trees
from structdep.trees import all_trees as every_tree
from structdep.trees import heads_to_arcs
from structdep.trees.conversions import Converted, from_supar, from_synjax, from_torch_struct

WORDS = 4
RNG = np.random.default_rng(0)
Score = Callable[[NDArray[np.float32], list[int]], float]


def of_torch_struct(table: NDArray[np.float32], heads: list[int]) -> float:
    """`phi(i, j)`, head i and child j, counted from 0; `phi(i, i)` is (root, i). Heads 0..N, "indexing is +1"."""
    return sum(table[head - 1 if head else child, child] for child, head in enumerate(heads))


def of_supar(table: NDArray[np.float32], heads: list[int]) -> float:
    """ "Scores of all possible dependent-head pairs", the root first; `arcs` has an entry for it, too."""
    arcs = [0, *heads]
    return sum(table[dependent, arcs[dependent]] for dependent in range(1, len(arcs)))


def of_synjax(table: NDArray[np.float32], heads: list[int]) -> float:
    """ "0th column will be ignored because 0th node will be treated as the root node"; a tree is a matrix."""
    tree = np.asarray(heads_to_arcs(np.array(heads)))
    return float((table[: len(tree), : len(tree)] * tree).sum())


LIBRARIES = {
    "torch-struct": (from_torch_struct, WORDS, of_torch_struct),
    "SuPar": (from_supar, WORDS + 1, of_supar),
    "SynJax": (from_synjax, WORDS + 1, of_synjax),
}
libraries = pytest.mark.parametrize(("convert", "size", "score"), LIBRARIES.values(), ids=LIBRARIES.keys())


@libraries
def test_trees_have_the_same_scores(convert: Callable[..., Converted], size: int, score: Score) -> None:
    table = RNG.normal(size=(2, size, size)).astype(np.float32)
    scores, lengths = convert(table)
    assert lengths is None and scores.shape == (2, WORDS + 1, WORDS + 1)
    trees = every_tree(WORDS)
    converted = np.asarray(scores)[:, trees, np.arange(1, WORDS + 1)].sum(-1)
    expected = [[score(own, heads) for heads in trees.tolist()] for own in table]
    np.testing.assert_allclose(converted, expected, rtol=1e-5, atol=1e-5)
    best = trees[np.argmax(expected, axis=1)]
    assert jnp.array_equal(sd.argmax(all_trees(), scores, lengths), best)


@libraries
def test_padding_and_derivatives(convert: Callable[..., Converted], size: int, score: Score) -> None:
    """Of two sentences, the second has two words; SynJax counts the root as well."""
    table = RNG.normal(size=(2, size, size)).astype(np.float32)
    counted = np.array([WORDS, 2]) + (convert is from_synjax)

    def log_partition(table: jax.Array) -> jax.Array:
        scores, lengths = convert(table, counted)
        assert lengths is not None and lengths.tolist() == [WORDS, 2]
        return sd.inside(all_trees(), scores, lengths, sd.LogSum).sum()

    value, slope = jax.value_and_grad(log_partition)(jnp.asarray(table))
    words = (WORDS, 2)
    totals = [[score(own, heads) for heads in every_tree(n).tolist()] for own, n in zip(table, words, strict=True)]
    np.testing.assert_allclose(value, sum(np.logaddexp.reduce(total) for total in totals), rtol=1e-5)
    missing = WORDS - 2
    assert not np.asarray(slope)[1, size - missing :].any() and not np.asarray(slope)[1, :, size - missing :].any()
    np.testing.assert_allclose(slope.sum(), sum(words), rtol=1e-5)


def test_other_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"scores of SuPar have shape \(2, 3\), expected \[\*batch, n\+1, n\+1\]"):
        from_supar(np.zeros((2, 3)))
    with pytest.raises(TypeError, match="lengths must be integers, not float32"):
        from_synjax(np.zeros((3, 3)), np.array(2.0))

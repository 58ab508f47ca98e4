"""Expected attachment, minimum risk and covariances against the enumerated trees."""

import enumeration
import jax
import jax.numpy as jnp
import numpy as np
from cases import LENGTHS, N
from distributions import GOLD, by_trees, cases, close, listed, some_arcs
from numpy.typing import NDArray

import structdep as sd
from structdep.charts import eisner
from structdep.deduction import DeductionSystem


@cases
def test_expected_attachment_and_minimum_risk(system: DeductionSystem, single_root: bool) -> None:
    scores = some_arcs(42)
    trees = sd.TreeDistribution(system, scores, LENGTHS, single_root=single_root)
    found, risk = trees.expected_attachment(GOLD), np.asarray(trees.minimum_risk())
    for row, (every, totals) in enumerate(listed(system, single_root, scores)):
        if not len(every):
            continue
        is_word = np.arange(N) < LENGTHS[row]
        in_common = (every[:, None] == every)[..., is_word].sum(-1)
        attachment = (every == GOLD[row])[:, is_word].sum(-1)
        close(found[row], enumeration.expected(totals, attachment), atol=1e-4)
        expected = np.asarray(enumeration.expected(totals, in_common))
        (place,) = np.flatnonzero((every == risk[row]).all(-1))
        assert np.isclose(expected[place], expected[np.isfinite(totals)].max(), atol=1e-4)
    slope = jax.grad(
        lambda s: sd.TreeDistribution(system, s, LENGTHS, single_root=single_root).expected_attachment(GOLD).sum()
    )(scores)
    hits = jnp.asarray(GOLD[:, None, :] == np.arange(N + 1)[:, None]) & (np.arange(N) < LENGTHS[:, None])[:, None]
    close(slope, trees.covariance(jnp.pad(hits, [(0, 0), (0, 0), (1, 0)]).astype(jnp.float32)), atol=2e-4)


def test_the_tree_of_minimum_risk_has_no_forbidden_arc() -> None:
    scores = some_arcs(43).at[1, :, 2].set(-jnp.inf)
    heads = sd.TreeDistribution(eisner(), scores, LENGTHS).minimum_risk()
    assert heads[1].tolist() == [-1, -1, -1, 0]
    assert np.isfinite(sd.TreeDistribution(eisner(), scores, LENGTHS).score(heads)).tolist() == [1, 0, 1, 1, 1, 1]


@cases
def test_covariances(system: DeductionSystem, single_root: bool) -> None:
    scores, direction = some_arcs(44), jnp.asarray(np.random.default_rng(44).normal(size=(6, N + 1, N + 1)))
    found = sd.TreeDistribution(system, scores, LENGTHS, single_root=single_root).covariance(
        direction.astype(jnp.float32)
    )

    def of_one(arcs: NDArray[np.bool_], totals: jax.Array, along: jax.Array) -> jax.Array:
        mean = enumeration.expected(totals, along)
        return enumeration.expected(totals, (along - mean)[:, None, None] * arcs)

    close(found, by_trees(of_one, system, single_root, scores, direction), atol=2e-4)


def test_scores_that_are_no_numbers_have_no_risk() -> None:
    scores = jnp.zeros((2, 3, 3)).at[0, 0, 1].set(jnp.nan)
    gold = jnp.array([[0, 1], [0, 1]])
    for found in (
        sd.losses.risk(eisner(), scores, gold),
        sd.TreeDistribution(eisner(), scores).expected_attachment(gold),
    ):
        assert jnp.isnan(found).tolist() == [True, False]

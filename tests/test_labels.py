"""Distributions over labelled trees against their enumeration."""

from itertools import product
from typing import Any

import enumeration
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import LENGTHS, N
from distributions import DRAWS, ROWS, K, cases, chi_square_is_low, close, some_arcs

import structdep as sd
from structdep.charts import eisner
from structdep.deduction import DeductionSystem

LABELS = 3


def labelled(system: DeductionSystem, row: int, tables: dict[str, Any], single_root: bool) -> tuple[Any, Any, Any]:
    """Heads, labels and scores of a sentence's labelled trees, padded."""
    length = int(LENGTHS[row])
    trees = enumeration.trees(system, length, single_root)
    choices = np.array(list(product(range(LABELS), repeat=length)), np.int32)
    heads, labels = np.repeat(trees, len(choices), 0), np.tile(choices, (len(trees), 1))
    words = np.arange(1, length + 1)
    scores = (tables["arc"][row][heads, words] + tables["label"][row][heads, words, labels]).sum(-1)
    padding = [(0, 0), (0, N - length)]
    return np.pad(heads, padding), np.pad(labels, padding), scores.astype(np.float64)


@cases
def test_labelled_trees(system: DeductionSystem, single_root: bool) -> None:
    rng = np.random.default_rng(48)
    tables = {"arc": np.asarray(some_arcs(48)), "label": rng.normal(size=(6, N + 1, N + 1, LABELS)).astype(np.float32)}
    tables["label"][0, 1, 2, 0] = -np.inf
    trees = sd.TreeDistribution(system, tables, LENGTHS, single_root=single_root)
    log_partition, best, chosen = trees.log_partition(), trees.max(), trees.argmax()
    marginals, entropy, k_best = trees.marginals(), trees.entropy(), trees.k_best(K)
    drawn = trees.sample(jax.random.key(6), DRAWS)
    assert isinstance(chosen, sd.Labelled) and isinstance(drawn, sd.Labelled)
    some = sd.Labelled(drawn.heads[:20], drawn.labels[:20])
    scored = trees.score(some)
    assert k_best.labels is not None and marginals["label"].shape == tables["label"].shape
    close(marginals["label"].sum(-1), marginals["arc"], atol=1e-4)
    for row in ROWS:
        heads, labels, scores = labelled(system, row, tables, single_root)
        if not len(heads):
            continue
        probabilities = np.exp(scores - np.logaddexp.reduce(scores))
        order = np.argsort(-scores, kind="stable")[:K]
        own = {(*h, *m): score for h, m, score in zip(heads.tolist(), labels.tolist(), scores, strict=True)}
        close(
            scored[:, row],
            [own[*h, *m] for h, m in zip(some.heads[:, row].tolist(), some.labels[:, row].tolist(), strict=True)],
        )
        close(log_partition[row], np.logaddexp.reduce(scores))
        close(best[row], scores.max())
        close(entropy[row], -(probabilities * np.log(np.where(probabilities > 0, probabilities, 1))).sum(), atol=2e-4)
        assert (chosen.heads[row].tolist(), chosen.labels[row].tolist()) == (
            heads[order[0]].tolist(),
            labels[order[0]].tolist(),
        )
        close(k_best.scores[: len(order), row], scores[order])
        assert np.asarray(k_best.heads[: len(order), row]).tolist() == heads[order].tolist()
        assert np.asarray(k_best.labels[: len(order), row]).tolist() == labels[order].tolist()
        expected = np.zeros((N + 1, N + 1, LABELS))
        for word in range(1, LENGTHS[row] + 1):
            np.add.at(expected, (heads[:, word - 1], word, labels[:, word - 1]), probabilities)
        close(marginals["label"][row], expected, atol=1e-4)
    assert drawn.heads.shape == drawn.labels.shape == (DRAWS, 6, N)
    first = np.asarray(tables["label"])[3, 0, 1]
    counts = np.bincount(np.asarray(drawn.labels)[:, 3, 0], minlength=LABELS)
    assert chi_square_is_low(counts, DRAWS * np.exp(first) / np.exp(first).sum())
    assert np.isfinite(
        jax.grad(lambda t: sd.TreeDistribution(system, t, LENGTHS).entropy().sum())(tables)["label"]
    ).all()


def test_labels_alone_and_scores_of_labels_without_batch() -> None:
    labels = jnp.zeros((3, 3, 4)).at[2, 1, 3].set(1.0).at[0, 2, 1].set(1.0)
    trees = sd.TreeDistribution(eisner(), {"label": labels})
    heads, chosen = trees.argmax()
    assert heads.tolist() == [2, 0] and chosen.tolist() == [3, 1]
    assert sd.best_labels(labels, heads).tolist() == [3, 1]
    close(sd.TreeDistribution(eisner(), {"label": jnp.zeros((3, 3, 4))}).log_partition(), np.log(3 * 4**2))
    with pytest.raises(ValueError, match=r"expected .* labels"):
        sd.TreeDistribution(eisner(), {"label": jnp.zeros((3, 4, 2))}).log_partition()


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_labels_of_few_bits_are_drawn_exactly(dtype: Any) -> None:
    tables = {"arc": jnp.zeros((2, 2), dtype), "label": jnp.zeros((2, 2, 50), dtype)}
    drawn = sd.TreeDistribution(eisner(), tables).sample(jax.random.key(0), 20_000)
    assert isinstance(drawn, sd.Labelled)
    assert chi_square_is_low(np.bincount(np.asarray(drawn.labels)[:, 0], minlength=50), np.full(50, 400.0))


def test_labels_of_double_precision_lose_nothing() -> None:
    with jax.enable_x64(True):
        label = jnp.full((2, 2, 1), 1 + 1e-12)
        value = sd.inside(eisner(), {"arc": jnp.zeros((2, 2), jnp.float32), "label": label})
        assert value.dtype == jnp.float64 and abs(float(value) - 1 - 1e-12) < 1e-15

"""Errors of float32 are as small as docs/explanation/numerics.md says."""

import pytest

from benchmarks.numerics import measure

MARGINALS = {"spread 1": 2e-6, "spread 10": 2e-4, "spread 100": 1e-3, "masked": 5e-6, "offset of 10^6": 2e-6}


@pytest.mark.parametrize("system", ["eisner", "mh4_trees"])
def test_errors_of_systems_that_derive_each_tree_once(system: str) -> None:
    for row in measure(system, "cpu", 8, sentences=2, draws=50):
        assert row.errors.log_partition < 3 and row.errors.best_tree < 6, row
        assert row.errors.marginals < MARGINALS.get(row.scores, 1e-2), row

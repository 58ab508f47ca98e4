"""How good trees are: scores, comparisons, calibration, reports."""

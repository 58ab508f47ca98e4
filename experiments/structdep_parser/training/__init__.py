"""Runs: training, checkpoints, devices."""

"""A model with latent trees on a generated language: the experiment `experiments/latent_trees.py`."""

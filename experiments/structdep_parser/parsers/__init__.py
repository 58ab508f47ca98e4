"""Parsing algorithms, and what is done with trained weights."""

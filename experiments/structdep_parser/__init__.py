"""Parsers trained on treebanks: data, model, training and evaluation around structdep."""

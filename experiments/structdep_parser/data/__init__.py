"""Treebanks: reading and writing CoNLL-U, vocabularies, batches."""

"""Treebanks with pseudo-projective trees, and back (Nivre, Nilsson 2005)."""

from collections.abc import Sequence
from dataclasses import replace

from structdep.trees.pseudo_projective import decode, encode
from structdep_parser.choices import Scheme
from structdep_parser.data.conllu import Heads, Sentence
from structdep_parser.data.relations import fitted


def encoded(sentences: Sequence[Sentence], scheme: Scheme) -> list[Sentence]:
    """The sentences with projective trees, and relations that tell what was lifted.

    Raises:
        ValueError: relations that could be taken for such.
    """
    return [_encoded(sentence, scheme) for sentence in sentences]


def _encoded(sentence: Sentence, scheme: Scheme) -> Sentence:
    try:
        tree = encode(sentence.heads, sentence.deprels, scheme)
    except ValueError as error:
        raise ValueError(f"{sentence.where}: {error}") from None
    return replace(sentence, heads=tree.heads, deprels=tree.deprels)


def decoded(heads: Heads, deprels: Sequence[tuple[str, ...]], scheme: Scheme) -> tuple[Heads, list[tuple[str, ...]]]:
    """Heads and relations, which fit, of the trees that projective ones with such relations stand for."""
    trees = [decode(*tree, scheme) for tree in zip(heads, deprels, strict=True)]
    return [tree.heads for tree in trees], [fitted(tree.heads, tree.deprels) for tree in trees]

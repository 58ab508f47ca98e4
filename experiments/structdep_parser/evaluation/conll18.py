"""Attachment scores by the rules of the CoNLL 2018 shared task, for the words of the gold standard.

UAS is about heads; LAS about heads and relations without their subtypes, so that `nsubj:pass` is `nsubj`; CLAS is LAS
of content words alone: those that do not have a functional relation, or `punct`. What is a content word in the gold
standard may be none in the prediction, so that CLAS is an F1 score. Sentences with several roots, which the shared
task's own script refuses, count like all others.

Zeman, D. et al. 2018. CoNLL 2018 Shared Task: Multilingual Parsing from Raw Text to Universal Dependencies.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

METRICS = ("UAS", "LAS", "CLAS")
# fmt: off
CONTENT = frozenset((
    "acl", "advcl", "advmod", "amod", "appos", "ccomp", "compound", "conj", "csubj", "dep", "discourse", "dislocated",
    "expl", "fixed", "flat", "goeswith", "iobj", "list", "nmod", "nsubj", "nummod", "obj", "obl", "orphan", "parataxis",
    "reparandum", "root", "vocative", "xcomp",
))
# fmt: on
"""The relations of content words: neither functional (aux, case, cc, clf, cop, det, mark) nor punct."""


def outcomes(
    gold_heads: ArrayLike, gold_deprels: Iterable[str], heads: ArrayLike, deprels: Iterable[str]
) -> NDArray[np.bool_]:
    """For each of `METRICS`, the words that are right, that count in the gold tree, and in the predicted one.

    `[3, 3, n]`. Raises ValueError where the numbers of words differ.

    Example:
        >>> outcomes([2, 0], ["det", "root"], [2, 0], ["amod", "root"])[:, 0].astype(int).tolist()
        [[1, 1], [0, 1], [0, 1]]
    """
    gold_heads, heads = np.asarray(gold_heads), np.asarray(heads)
    gold_universal, universal = (np.array([d.split(":")[0] for d in given]) for given in (gold_deprels, deprels))
    sizes = [len(given) for given in (gold_heads, gold_universal, heads, universal)]
    if len(set(sizes)) > 1:
        raise ValueError(f"gold heads and relations, heads and relations have {sizes} entries, expected one a word")
    attached = gold_heads == heads
    labeled = attached & (gold_universal == universal)
    gold_content, content = (np.isin(found, list(CONTENT)) for found in (gold_universal, universal))
    every = np.ones_like(attached)
    return np.stack(
        [[attached, every, every], [labeled, every, every], [labeled & gold_content, gold_content, content]]
    )


def percentages(counts: NDArray[np.number]) -> NDArray[np.float64]:
    """F1 scores `[.., metrics]` from the numbers of right, gold and predicted words, `[.., metrics, 3]`.

    Example:
        >>> percentages(outcomes([2, 0], ["det", "root"], [2, 0], ["amod", "root"]).sum(-1)).round(2).tolist()
        [100.0, 50.0, 66.67]
    """
    return 200 * counts[..., 0] / np.maximum(counts[..., 1] + counts[..., 2], 1)

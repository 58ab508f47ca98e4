"""Trees without what is projective in them: small problems in the place of whole sentences.

A word without dependents that stands beside its head costs nothing in any class of trees that allows

* a new word beside its head, without dependents: its arc crosses none, and
* two neighbours to be merged: their arcs are then those of one node, and no two cross that did not before.

For the first, the best tree of the rest gains a right head. For the second, merging the word with its head in the best
tree of the whole loses one right head at most: the word's own, or, if the word stands above its head there, and has
the wrong one itself, that of its head. So as many heads are lost in the whole as in the rest. Projective trees,
1-Endpoint-Crossing trees and MH_k allow both (a derivation of MH_k stays one when neighbouring heads are merged), and
of a projective tree nothing is left.
"""

from collections import Counter
from collections.abc import Sequence


def nonprojective_core(heads: Sequence[int]) -> list[int]:
    """The heads that are left when words without dependents beside their heads are taken out, one after the other.

    Example:
        >>> [nonprojective_core(heads) for heads in ([2, 0, 2, 3], [3, 4, 0, 3], [4, 4, 5, 0, 4])]
        [[], [3, 4, 0, 3], [4, 4, 5, 0, 4]]
    """
    above = [0, *heads]
    dependents = Counter(heads)
    kept = [0]
    for word in range(1, len(above)):
        kept.append(word)
        while leaf := _leaf(kept[-2:], above, dependents):
            kept.remove(leaf)
            dependents[above[leaf]] -= 1
    places = {word: place for place, word in enumerate(kept)}
    return [places[above[word]] for word in kept[1:]]


def _leaf(neighbours: Sequence[int], above: Sequence[int], dependents: Counter[int]) -> int:
    """Which of the two is a dependent of the other, and has none; 0 for neither."""
    pairs = ((word, other) for word in neighbours for other in neighbours if word and word != other)
    return next((word for word, other in pairs if above[word] == other and not dependents[word]), 0)

"""What a parser gives for a sentence."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structdep_parser.data.conllu import Sentence
from structdep_parser.data.writing import with_tree
from structdep_parser.parsers.prediction import Tags, Tree


@dataclass(frozen=True)
class Parsed:
    """A sentence with the trees that were found for it, best first; none where no tree has the known heads.

    `heads`, `relations`, `tags` and probabilities are those of the best tree; numbers of words are from 1, and 0 is
    the root. `tags` and probabilities are None where they were not asked for.
    """

    sentence: Sentence
    trees: tuple[Tree, ...]
    ranked: bool = False

    @property
    def heads(self) -> NDArray[np.int32]:
        return self._best.heads

    @property
    def relations(self) -> tuple[str, ...]:
        return self._best.relations

    @property
    def tags(self) -> Tags | None:
        return self._best.tags

    @property
    def probability(self) -> float | None:
        """Of the tree."""
        return None if self._best.confidence is None else self._best.confidence.tree

    @property
    def arc_probabilities(self) -> NDArray[np.float32] | None:
        return None if self._best.confidence is None else self._best.confidence.arcs

    @property
    def relation_probabilities(self) -> NDArray[np.float32] | None:
        """Of each relation, given its arc."""
        return None if self._best.confidence is None else self._best.confidence.relations

    @property
    def problem(self) -> str:
        """Why there is no tree."""
        roots = int((self.sentence.heads == 0).sum())
        why = f": HEAD is 0 in {roots} words, but a tree with a single root has one such word" if roots > 1 else ""
        return f"{self.sentence.where}: no tree has the heads of the input{why}"

    def to_conllu(self) -> str:
        """The sentence as CoNLL-U, once for each tree, with all other columns and comments as they were."""
        return "".join(
            with_tree(
                self.sentence,
                tree.heads,
                tree.relations,
                None if tree.confidence is None else tree.confidence.misc(),
                [f"# tree = {rank} of {len(self.trees)}"] * self.ranked,
                tree.tags,
            )
            for rank, tree in enumerate(self.trees, start=1)
        )

    @property
    def _best(self) -> Tree:
        if not self.trees:
            raise ValueError(self.problem)
        return self.trees[0]

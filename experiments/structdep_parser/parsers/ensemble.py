"""Several trained parsers as one: the sum of what each says of all arcs, and the best tree by that sum."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from structdep.trees import heads_to_arcs
from structdep_parser.data.batch import TreeBatch
from structdep_parser.data.batches import tree_batches
from structdep_parser.data.conllu import Heads, Sentence
from structdep_parser.data.corpus import rows
from structdep_parser.nn.compiled import Compiled
from structdep_parser.parsers.chart_decoding import ChartDecoder
from structdep_parser.parsers.chart_parsers import ChartParser
from structdep_parser.parsers.charts import CHARTS
from structdep_parser.parsers.decoding import Decoding
from structdep_parser.parsers.one_root import best
from structdep_parser.parsers.prediction import Predictions, Predictor
from structdep_parser.parsers.reading import Reading
from structdep_parser.parsers.trained_model import TrainedModel

FIRST = 1e-4
"""How much more an earlier member counts, which breaks ties of votes."""


class Member:
    """A trained parser among others.

    Raises:
        ValueError: its relations stand for lifted arcs.
    """

    def __init__(self, name: str, model: TrainedModel) -> None:
        if model.config.pseudo_projective:
            raise ValueError(
                f"{name} is pseudo-projective: its relations stand for arcs, and cannot be summed with others"
            )
        self.name, self.model = name, model
        self.predictor = Predictor(model.merged, model.parser.decoder(), model.reader)

    def reading(self, sentences: Sequence[Sentence]) -> Reading:
        """What it reads of them."""
        return self.model.reader(self.model.arrays, sentences)

    def scores(self, reading: Reading, batch: TreeBatch) -> Any:
        """Of a batch, those of its kind of parser."""
        return self.predictor.score(self.model.arrays, reading.of_trees(batch), batch.lengths)

    def heads(self, scores: Any, batch: TreeBatch) -> jax.Array:
        """Its own trees."""
        return self.predictor.decoder(scores, batch.lengths, Decoding())[0].heads

    def arcs(self, scores: Any, batch: TreeBatch, by: str) -> jax.Array:
        """The probability of each arc, or 1 for those of its tree, where it gives votes: f32 `[B, n+1, n+1]`."""
        parser, decoder = self.model.parser, self.predictor.decoder
        sums = isinstance(parser, ChartParser) and parser.chart.has_probabilities
        if by == "marginals" and sums and isinstance(decoder, ChartDecoder):
            return decoder.marginals(scores, batch.lengths)
        return heads_to_arcs(self.heads(scores, batch), batch.lengths).astype(np.float32)

    def relations(self, reading: Reading, heads: Heads) -> list[NDArray[np.float32]]:
        """The probabilities of the relations of each sentence's arcs, `[n, relations]`."""
        return self.predictor.relations(self.model.arrays, reading, heads)


class Ensemble:
    """Several parsers as one.

    Args:
        members: the parsers, of one treebank.
        by: what is summed: ["marginals"], ["votes"] or ["scores"]; or one of the first two for each member.
        trees: a parser with a chart, whose trees are searched; default: mst, or for scores that of the members.
        weights: how much each counts; 1 where there are none.

    Raises:
        ValueError: parsers that cannot be summed so, a chart that lacks some of their scores, or weights that are not
            positive, one for each.
    """

    def __init__(
        self,
        members: Sequence[Member],
        by: Sequence[str],
        trees: str | None,
        weights: Sequence[float] | None = None,
    ) -> None:
        self.members, self.by = members, [*by] * (len(members) if len(by) == 1 else 1)
        self.weights = weights or [1.0] * len(members)
        self.sums_scores = "scores" in by
        if len(self.by) != len(members) or (self.sums_scores and set(by) != {"scores"}):
            told = f"{len(members)} parsers take one way for all, or marginals or votes for each"
            raise ValueError(f"--by {' '.join(by)}: {told}")
        if len(self.weights) != len(members) or not all(0 < weight < inf for weight in self.weights):
            told = " ".join(f"{weight:g}" for weight in self.weights)
            raise ValueError(f"--weights {told}: {len(members)} parsers take {len(members)} numbers above 0")
        if len({member.model.vocabulary.deprels for member in members}) > 1:
            raise ValueError("these parsers do not know the same relations: train them on the same treebank")
        self.trees = trees or (members[0].model.config.parser if self.sums_scores else "mst")
        if self.sums_scores:
            check_tables(members, self.trees)
        chart = CHARTS[self.trees]
        sought = chart.best if self.sums_scores else chart.arcs
        one_root = any(member.model.config.single_root for member in members)
        self.search = Compiled(lambda scores, lengths: best(sought, scores, lengths, None, one_root))

    @classmethod
    def of(
        cls,
        models: Mapping[str, TrainedModel],
        by: Sequence[str],
        trees: str | None = None,
        weights: Sequence[float] | None = None,
    ) -> "Ensemble":
        """Of models, by name."""
        return cls([Member(name, model) for name, model in models.items()], by, trees, weights)

    def __str__(self) -> str:
        return f"{len(self.members)} parsers by {self.ways}, trees of {self.trees}"

    @property
    def ways(self) -> str:
        """What is summed, such as "marginals" or "marginals-votes"."""
        return "-".join(dict.fromkeys(self.by))

    def __call__(self, sentences: Sequence[Sentence]) -> Predictions:
        """The trees of all together."""
        return self._trees(sentences, ())[0]

    def beside_members(self, sentences: Sequence[Sentence]) -> tuple[Predictions, dict[str, Predictions]]:
        """The trees of all together, and those of each member alone, by name."""
        return self._trees(sentences, self.members)

    def _trees(
        self, sentences: Sequence[Sentence], alone: Sequence[Member]
    ) -> tuple[Predictions, dict[str, Predictions]]:
        readings = {member.name: member.reading(sentences) for member in self.members}
        nothing = [np.zeros(0, np.int32)] * len(sentences)
        heads: Heads = [*nothing]
        own: dict[str, Heads] = {member.name: [*nothing] for member in alone}
        for batch in tree_batches(sentences):
            scores = {member.name: member.scores(readings[member.name], batch) for member in self.members}
            _fill(heads, batch, self.search(self._sum([*scores.values()], batch), batch.lengths))
            for member in alone:
                _fill(own[member.name], batch, member.heads(scores[member.name], batch))
        relations = [member.relations(readings[member.name], heads) for member in self.members]
        together = self._labelled(heads, [self._weighted(same) for same in zip(*relations, strict=True)])
        return together, {
            member.name: self._labelled(found, member.relations(readings[member.name], found))
            for member, found in zip(alone, own.values(), strict=True)
        }

    def _sum(self, each: Sequence[Any], batch: TreeBatch) -> Any:
        if self.sums_scores:
            return jax.tree.map(lambda *same: self._weighted(same) / sum(self.weights), *each)
        arcs = [member.arcs(own, batch, by) for member, own, by in zip(self.members, each, self.by, strict=True)]
        return {"arc": self._weighted([table * (1 - FIRST * place) for place, table in enumerate(arcs)])}

    def _labelled(self, heads: Heads, relations: Sequence[NDArray[np.float32]]) -> Predictions:
        vocabulary = self.members[0].model.vocabulary
        return Predictions(heads, [vocabulary.relations(*pair) for pair in zip(heads, relations, strict=True)])

    def _weighted(self, tables: Sequence[Any]) -> Any:
        return sum(table * weight for table, weight in zip(tables, self.weights, strict=True))


def check_tables(members: Sequence[Member], trees: str) -> None:
    """Raise ValueError unless the members score the same tables, which the chart of `trees` has."""
    kinds = {member.model.config.parser for member in members}
    if len(kinds) > 1:
        raise ValueError(
            f"--by scores takes parsers of one kind, not {', '.join(sorted(kinds))}: their scores do not compare; "
            "write --by marginals"
        )
    (kind,) = kinds
    if kind not in CHARTS:
        raise ValueError(f"--by scores takes parsers with charts, not {kind}: write --by votes")
    if trees not in CHARTS or not CHARTS[kind].tables.keys() <= CHARTS[trees].best.declared.keys():
        raise ValueError(f"--trees {trees}: the chart of {trees} lacks some scores of {kind}: leave --trees out")


def _fill(heads: Heads, batch: TreeBatch, found: jax.Array) -> None:
    for place, tree in rows(batch, np.asarray(found)):
        heads[place] = tree

"""The parsers of an ensemble: what each says of a batch (scores, arcs that it believes in, relations), and all do."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from structdep.trees import heads_to_arcs
from structdep_parser.config import member_folders
from structdep_parser.data.batches import TreeBatch, tree_batches
from structdep_parser.data.corpus import rows
from structdep_parser.data.sentences import Sentence
from structdep_parser.nn.compiled import Compiled
from structdep_parser.parsers.chart_decoding import ChartDecoder
from structdep_parser.parsers.chart_parsers import CHARTS, ChartParser
from structdep_parser.parsers.decoding import Decoding
from structdep_parser.parsers.one_root import best
from structdep_parser.parsers.prediction import Predictions, Predictor, Tree
from structdep_parser.parsers.reading import Reading
from structdep_parser.parsers.trained_model import TrainedModel
from structdep_parser.parsers.trained_parser import BEST, TrainedParser, Warn

Scored = tuple[NDArray[np.float32], Any]
"""Vectors in context, and a parser's scores."""


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

        def relations(arrays: Any, states: jax.Array, heads: jax.Array) -> jax.Array:
            return jax.nn.softmax(model.merged(arrays).labeler(states, heads))

        self._relations, self._vote = Compiled(relations), Compiled(heads_to_arcs)

    @property
    def chart(self) -> ChartDecoder | None:
        """Its decoder, if that sums over trees."""
        parser, decoder = self.model.parser, self.predictor.decoder
        sums = isinstance(parser, ChartParser) and parser.chart.has_probabilities
        return decoder if sums and isinstance(decoder, ChartDecoder) else None

    def read(self, sentences: Sequence[Sentence]) -> Reading:
        """Their vectors in context."""
        return self.model.reader(self.model.arrays, sentences)

    def scores(self, reading: Reading, batch: TreeBatch) -> Scored:
        """What it says of a batch."""
        states = reading.states(batch)
        return states, self.predictor.score(self.model.arrays, states, batch.lengths)

    def heads(self, scores: Any, lengths: jax.Array) -> jax.Array:
        """Its own trees."""
        return self.predictor.decoder(scores, lengths, Decoding())[0].heads

    def arcs(self, scores: Any, lengths: jax.Array, by: str) -> jax.Array:
        """The probability of each arc, or 1 for those of its tree, where it gives votes: f32 `[B, n+1, n+1]`."""
        if by == "marginals" and self.chart is not None:
            return self.chart.marginals(scores, lengths)
        votes: jax.Array = self._vote(self.heads(scores, lengths), lengths)
        return votes.astype(jnp.float32)

    def relations(self, states: NDArray[np.float32], heads: jax.Array) -> jax.Array:
        """The probabilities of the relations of these arcs, `[B, n, relations]`."""
        found: jax.Array = self._relations(self.model.arrays, states, heads)
        return found


class Ensemble:
    """Several parsers as one.

    Args:
        members: the parsers, of one treebank.
        by: what is summed: ["marginals"], ["votes"] or ["scores"]; or one of the first two for each member.
        system: a name of CHARTS, whose trees are sought.
        weights: how much each counts; 1 where there are none.

    Raises:
        ValueError: parsers that cannot be summed so, a system that does not know the tables, or weights that are not
            positive, one for each.
    """

    def __init__(
        self,
        members: Sequence[Member],
        by: Sequence[str],
        system: str | None,
        weights: Sequence[float] | None = None,
    ) -> None:
        self.members, self.by = members, [*by] * (len(members) if len(by) == 1 else 1)
        if len(self.by) != len(members) or (self._by_scores and set(by) != {"scores"}):
            told = f"{len(members)} parsers take one way for all, or marginals or votes for each"
            raise ValueError(f"--by {' '.join(by)}: {told}")
        self.weights = weights or [1.0] * len(members)
        if len(self.weights) != len(members) or not all(0 < weight < inf for weight in self.weights):
            told = " ".join(f"{weight:g}" for weight in self.weights)
            raise ValueError(f"--weights {told}: {len(members)} parsers take {len(members)} numbers above 0")
        if len({member.model.vocabulary.deprels for member in members}) > 1:
            raise ValueError("these parsers do not know the same relations: train them on the same treebank")
        own = members[0].model.config.parser
        if self._by_scores:
            check_tables(members, system or own)
        self.system = system or (own if self._by_scores else "mst")
        chart = CHARTS[self.system]
        sought = chart.best if self._by_scores else chart.arcs
        one_root = any(member.model.config.single_root for member in members)
        self.search = Compiled(lambda scores, lengths: best(sought, scores, lengths, None, one_root))

    def __str__(self) -> str:
        return f"{len(self.members)} parsers by {self.ways}, {self.system}"

    @property
    def ways(self) -> str:
        """What is summed, such as "marginals" or "marginals-votes"."""
        return "-".join(dict.fromkeys(self.by))

    @property
    def _by_scores(self) -> bool:
        return "scores" in self.by

    def __call__(self, sentences: Sequence[Sentence]) -> Predictions:
        """The trees of all together."""
        made = _empty(sentences)
        for batch, scored in self._scored(sentences):
            self._join(made, batch, scored)
        return made

    def beside_members(self, sentences: Sequence[Sentence]) -> tuple[Predictions, dict[str, Predictions]]:
        """The trees of all together, and those of each alone, by name."""
        made, alone = _empty(sentences), {member.name: _empty(sentences) for member in self.members}
        for batch, scored in self._scored(sentences):
            self._join(made, batch, scored)
            for member, (states, scores) in zip(self.members, scored, strict=True):
                heads = member.heads(scores, batch.lengths)
                self._fill(alone[member.name], batch, heads, member.relations(states, heads))
        return made, alone

    def _scored(self, sentences: Sequence[Sentence]) -> Iterator[tuple[TreeBatch, list[Scored]]]:
        """Batches, and what each member says of them."""
        readings = [member.read(sentences) for member in self.members]
        for batch in tree_batches(sentences):
            yield batch, [m.scores(reading, batch) for m, reading in zip(self.members, readings, strict=True)]

    def _join(self, made: Predictions, batch: TreeBatch, scored: Sequence[Scored]) -> None:
        """Fill in the trees of all together."""
        heads = self.search(self._sum([scores for _, scores in scored], batch.lengths), batch.lengths)
        relations = [member.relations(states, heads) for member, (states, _) in zip(self.members, scored, strict=True)]
        self._fill(made, batch, heads, self._weighted(relations))

    def _sum(self, scores: Sequence[Any], lengths: jax.Array) -> Any:
        if self._by_scores:
            return jax.tree.map(lambda *tables: self._weighted(tables) / sum(self.weights), *scores)
        arcs = (m.arcs(own, lengths, by) for m, own, by in zip(self.members, scores, self.by, strict=True))
        # What decides between as many votes.
        return {"arc": self._weighted(table * (1 - FIRST * place) for place, table in enumerate(arcs))}

    def _weighted(self, tables: Iterable[jax.Array]) -> jax.Array:
        return sum(
            (table * weight for table, weight in zip(tables, self.weights, strict=True)),
            start=jnp.zeros((), jnp.float32),
        )

    def _fill(self, made: Predictions, batch: TreeBatch, heads: jax.Array, relations: jax.Array) -> None:
        vocabulary = self.members[0].model.vocabulary
        labels = rows(batch, np.asarray(relations.argmax(-1)))
        for (place, tree), (_, numbers) in zip(rows(batch, np.asarray(heads)), labels, strict=True):
            made.heads[place], made.deprels[place] = tree, vocabulary.relations(tree, numbers)


FIRST = 1e-4
"""How much more an earlier member counts."""


def check_tables(members: Sequence[Member], system: str) -> None:
    """Raise ValueError unless the members score the same tables, which the system knows."""
    kinds = {member.model.config.parser for member in members}
    if len(kinds) > 1:
        raise ValueError(
            f"--by scores takes parsers of one kind, not {', '.join(sorted(kinds))}: their scores do not compare; "
            "write --by marginals"
        )
    (kind,) = kinds
    if kind not in CHARTS:
        raise ValueError(f"--by scores takes parsers with charts, not {kind}: write --by votes")
    if system not in CHARTS or not CHARTS[kind].tables.keys() <= CHARTS[system].best.declared.keys():
        raise ValueError(f"--system {system} does not know all the scores of {kind}: leave --system out")


def _empty(sentences: Sequence[Sentence]) -> Predictions:
    return Predictions([np.zeros(0, np.int32)] * len(sentences), [()] * len(sentences))


class JointParser:
    """Trees with the most heads to be expected, in the mean over several models: see `Ensemble`.

    Args:
        models: what parses, by name.
        memory: bytes that finding the trees of a batch may take in any model: sentences that would take more are left
            to the first, as it parses such sentences alone.
        warn: is told where that is so.

    Raises:
        ValueError: models that cannot be summed.
    """

    def __init__(self, models: Mapping[str, TrainedModel], memory: float, warn: Warn) -> None:
        self.memory, self.warn = memory, warn
        self.alone = [TrainedParser(model, memory, warn) for model in models.values()]
        self.ensemble = Ensemble([Member(name, model) for name, model in models.items()], ["marginals"], None)

    def __call__(self, sentences: Sequence[Sentence], decoding: Decoding = BEST) -> list[list[Tree]]:
        """The tree of each sentence; ValueError where more than trees is asked for."""
        if decoding != BEST:
            options = ", ".join([*decoding.of_charts, *["--beam"] * (decoding.beam != 1), *["--tags"] * decoding.tags])
            raise ValueError(
                f"{len(self.alone)} models at once give one tree each sentence, and no {options}: give one model"
            )
        found: list[list[Tree]] = [[] for _ in sentences]
        usual = []
        for place, sentence in enumerate(sentences):
            if all(trained_parser.need(sentence, SUMS) <= self.memory for trained_parser in self.alone):
                usual.append(place)
            else:
                self.warn(
                    f"{sentence.where} has {len(sentence)} words, too many for all models at once: "
                    "parsed by the first alone (more: --memory)"
                )
                (found[place],) = self.alone[0]([sentence])
        if usual:
            made = self.ensemble([sentences[place] for place in usual])
            for place, heads, deprels in zip(usual, made.heads, made.deprels, strict=True):
                found[place] = [Tree(heads, deprels)]
        return found


SUMS = Decoding("mbr")
"""What models that parse together do: their marginals take more room than a best tree."""


def models_in(folders: Sequence[Path]) -> dict[str, TrainedModel]:
    """The models in these folders, or of these runs; of a run of several members, theirs.

    Raises:
        ValueError: one is given twice.
    """
    places = [place for folder in folders for place in member_folders(folder) or [folder]]
    if twice := next((place for number, place in enumerate(places) if place in places[:number]), None):
        raise ValueError(f"{twice} is given twice: models that parse together count once each")
    return {str(place): TrainedModel.load(place) for place in places}

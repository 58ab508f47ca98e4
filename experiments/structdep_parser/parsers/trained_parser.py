"""Parsing whatever comes, with one trained model or several: sentences of any length, with or without known heads."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from structdep_parser.data.conllu import Sentence
from structdep_parser.data.pseudo_projective import decoded
from structdep_parser.data.shapes import rung
from structdep_parser.nn.stored_programs import part
from structdep_parser.parsers.chart_decoding import ChartDecoder, WiderDecoder
from structdep_parser.parsers.decoding import Decoder, Decoding
from structdep_parser.parsers.ensemble import Ensemble
from structdep_parser.parsers.prediction import Predictor, Tree
from structdep_parser.parsers.registry import check
from structdep_parser.parsers.trained_model import TrainedModel

GIB = 2**30
BEST, SUMS = Decoding(), Decoding("mbr")
"""What one model does, and what several do that parse together: their marginals take more room than a best tree."""
Warn = Callable[[str], None]


class TrainedParser:
    """Trees of sentences; programs are compiled for a few lengths, when they are first needed.

    Args:
        model: what parses.
        memory: bytes that finding the trees of a batch may take: sentences that would take more are left to a cheaper
            system, by the same scores.
        warn: is told where the trees are not those of the parser's own system.
    """

    def __init__(self, model: TrainedModel, memory: float, warn: Warn) -> None:
        self.model, self.parser, self.memory, self.warn = model, model.parser, memory, warn
        self.usual = Stage(model, self.parser.decoder(), "usual")
        cheaper = self.parser.cheaper()
        self.cheaper = cheaper and Stage(model, cheaper.decoder, "cheaper", cheaper.tables)
        self.stand_in = cheaper.name if cheaper else ""

    def __call__(self, sentences: Sequence[Sentence], decoding: Decoding = BEST) -> list[list[Tree]]:
        """The trees of each sentence, best first: as many as asked for, or as there are; none has impossible heads.

        Known heads stay, and so do relations given with them. Raises ValueError where the parser cannot do what is
        asked for.
        """
        check(self.model.config, decoding)
        found: list[list[Tree]] = [[] for _ in sentences]
        is_long = [self._is_long(sentence, decoding) for sentence in sentences]
        for stage, long in ((self.usual, False), (self.cheaper, True)):
            places = [place for place, other in enumerate(is_long) if other is long]
            for place, trees in self._parsed(stage, sentences, places, decoding):
                found[place] = [self._finished(sentences[place], tree, decoding) for tree in trees]
        return found

    def need(self, sentence: Sentence, decoding: Decoding = BEST) -> float:
        """The bytes that finding its trees takes, where something cheaper could; else 0."""
        if self.cheaper is None:
            return 0
        shape = rung(len(sentence))
        return shape.sentences * self.parser.memory(shape.words, decoding)

    def _is_long(self, sentence: Sentence, decoding: Decoding) -> bool:
        need = self.need(sentence, decoding)
        if need <= self.memory:
            return False
        self.warn(
            f"{sentence.where} has {len(sentence)} words, for which {self.model.config.parser} takes about "
            f"{need / GIB:.1f} GiB: parsed by {self.stand_in} with the same scores (more: --memory)"
        )
        return True

    def _parsed(
        self, stage: "Stage | None", sentences: Sequence[Sentence], places: Sequence[int], decoding: Decoding
    ) -> list[tuple[int, list[Tree]]]:
        """The trees of the sentences at these places; those outside the class where known heads ask for them."""
        if stage is None or not places:
            return []

        def trees_of(predictor: Predictor, places: Sequence[int]) -> dict[int, list[Tree]]:
            found = predictor.trees(self.model.arrays, [sentences[place] for place in places], decoding)
            whole = ([tree for tree in trees if np.all(tree.heads >= 0)] for trees in found)
            return dict(zip(places, whole, strict=True))

        found = trees_of(stage.usual, places)
        if outside := [place for place, trees in found.items() if not trees]:
            found |= trees_of(stage.wider, outside)
            for place in outside:
                if found[place]:
                    self.warn(
                        f"{sentences[place].where}: {self.model.config.parser} has no tree with these heads: "
                        "parsed by all trees, with the probabilities of its arcs for scores"
                    )
        return list(found.items())

    def _finished(self, sentence: Sentence, tree: Tree, decoding: Decoding) -> Tree:
        if self.model.config.pseudo_projective:
            (heads,), (relations,) = decoded([tree.heads], [tree.relations], self.model.config.pseudo_projective)
            return tree._replace(heads=heads, relations=relations)
        if not decoding.known:
            return tree
        given = zip(sentence.heads.tolist(), sentence.deprels, tree.relations, strict=True)
        return tree._replace(relations=tuple(own if head >= 0 and own != "_" else new for head, own, new in given))


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
        self.ensemble = Ensemble.of(models, ["marginals"])

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


class Stage:
    """One way of finding trees, with the way out where it has none."""

    def __init__(self, model: TrainedModel, decoder: Decoder, name: str, tables: frozenset[str] | None = None) -> None:
        self.model, self.decoder, self.name, self.tables = model, decoder, name, tables

    @cached_property
    def usual(self) -> Predictor:
        """Finds trees of the decoder's class; none where it has none with the known heads."""
        return self._predictor(self.decoder, self.name)

    @cached_property
    def wider(self) -> Predictor:
        """Finds trees of any class."""
        assert isinstance(self.decoder, ChartDecoder)
        return self._predictor(WiderDecoder(self.decoder), f"{self.name} wider")

    def _predictor(self, decoder: Decoder, name: str) -> Predictor:
        def select(scores: Any) -> Any:
            return scores if self.tables is None else {name: scores[name] for name in self.tables}

        model = self.model
        return Predictor(model.merged, decoder, model.reader, select, part(model.identity, name))

"""Parsing whatever comes with a trained model: sentences of any length, with or without known heads."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from structdep_parser.data.pseudo_projective import decoded
from structdep_parser.data.sentences import Sentence
from structdep_parser.data.shapes import ladder
from structdep_parser.nn.stored_programs import part
from structdep_parser.parsers.chart_decoding import ChartDecoder, WiderDecoder
from structdep_parser.parsers.decoding import Decoder, Decoding
from structdep_parser.parsers.prediction import Predictor, Tree
from structdep_parser.parsers.registry import check
from structdep_parser.parsers.trained_model import TrainedModel

GIB = 2**30
BEST = Decoding()
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
        shape = next(shape for shape in ladder() if shape.words >= len(sentence))
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
        found = dict(zip(places, stage.usual([sentences[place] for place in places], decoding), strict=True))
        if outside := [place for place, trees in found.items() if not trees]:
            for place, trees in zip(
                outside, stage.wider([sentences[place] for place in outside], decoding), strict=True
            ):
                found[place] = trees
                if trees:
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


class Stage:
    """One way of finding trees, with the way out where it has none."""

    def __init__(self, model: TrainedModel, decoder: Decoder, name: str, tables: frozenset[str] | None = None) -> None:
        self.model, self.decoder, self.name, self.tables = model, decoder, name, tables

    def usual(self, sentences: Sequence[Sentence], decoding: Decoding) -> list[list[Tree]]:
        """Trees of the decoder's class; none where it has none with the known heads."""
        return self._trees(self._usual, sentences, decoding)

    def wider(self, sentences: Sequence[Sentence], decoding: Decoding) -> list[list[Tree]]:
        """Trees of any class."""
        return self._trees(self._wider, sentences, decoding)

    def _trees(self, predictor: Predictor, sentences: Sequence[Sentence], decoding: Decoding) -> list[list[Tree]]:
        found = predictor.trees(self.model.arrays, sentences, decoding)
        return [[tree for tree in trees if np.all(tree.heads >= 0)] for trees in found]

    @cached_property
    def _usual(self) -> Predictor:
        return self._predictor(self.decoder, self.name)

    @cached_property
    def _wider(self) -> Predictor:
        assert isinstance(self.decoder, ChartDecoder)
        return self._predictor(WiderDecoder(self.decoder), f"{self.name} wider")

    def _predictor(self, decoder: Decoder, name: str) -> Predictor:
        def select(scores: Any) -> Any:
            return scores if self.tables is None else {name: scores[name] for name in self.tables}

        model, identity = self.model, part(self.model.identity, name)
        return Predictor(model.merged, decoder, model.vocabulary, None, select, model.features, identity)

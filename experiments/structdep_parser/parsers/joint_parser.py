"""Parsing whatever comes with several trained models at once."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from structdep_parser.config import member_folders
from structdep_parser.data.sentences import Sentence
from structdep_parser.data.shapes import ladder
from structdep_parser.parsers.decoding import Decoding
from structdep_parser.parsers.ensemble import Ensemble, Member
from structdep_parser.parsers.prediction import Tree
from structdep_parser.parsers.trained_model import TrainedModel
from structdep_parser.parsers.trained_parser import TrainedParser, Warn


class JointParser:
    """Trees with the most heads to be expected, in the mean over several models: see `Ensemble`.

    Args:
        models: what parses, by name.
        decoding: what is asked for: nothing but trees.
        memory: bytes that finding the trees of a batch may take in any model: sentences that would take more are left
            to the first, as it parses such sentences alone.
        warn: is told where that is so.

    Raises:
        ValueError: models that cannot be summed, or more is asked for than trees.
    """

    def __init__(self, models: Mapping[str, TrainedModel], decoding: Decoding, memory: float, warn: Warn) -> None:
        if decoding != Decoding():
            options = ", ".join([*decoding.of_charts, *["--beam"] * (decoding.beam != 1)])
            raise ValueError(
                f"{len(models)} models at once give one tree each sentence, and no {options}: give one model"
            )
        self.memory, self.warn = memory, warn
        self.alone = [TrainedParser(model, decoding, memory, warn) for model in models.values()]
        self.ensemble = Ensemble([Member(name, model, ladder()) for name, model in models.items()], ["marginals"], None)

    def __call__(self, sentences: Sequence[Sentence]) -> list[list[Tree]]:
        """The tree of each sentence."""
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

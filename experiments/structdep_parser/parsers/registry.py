"""All parsing algorithms by name, and what the model, its training and its use need to know of one."""

from collections.abc import Sequence
from typing import Any, Protocol

import jax
from flax import nnx

from structdep_parser.choices import DECODERS, PARSERS
from structdep_parser.config import Config
from structdep_parser.data.batch import TreeBatch
from structdep_parser.data.conllu import Heads, Sentence
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.nn.scorers import Scorer
from structdep_parser.parsers.chart_parsers import ChartParser
from structdep_parser.parsers.charts import CHARTS
from structdep_parser.parsers.decoding import Cheaper, Decoder, Decoding
from structdep_parser.parsers.transition_parsers import SYSTEMS, TransitionParser


class Targets(Protocol):
    """From a batch of sentences with these trees to what a loss compares scores with, arrays of numpy."""

    def __call__(self, batch: TreeBatch) -> Any: ...

    def of(self, trees: Heads) -> "Targets":
        """The same of other trees, in arrays of the same shapes."""


class Algorithm(Protocol):
    """How to score sentences, what to train for and by what loss, and how to find trees."""

    projective: bool
    finds_all_trees: bool
    """Whether its class is that of all trees."""
    learns_parts: bool
    """Whether it learns from trees of which some heads are known."""
    growth: float
    """The power of the length with which the time of a batch grows."""

    def scorer(self, config: Config, *, rngs: nnx.Rngs) -> Scorer:
        """The module that makes scores of vectors in context."""

    def trees(self, sentences: Sequence[Sentence], vocabulary: Vocabulary) -> Heads:
        """The trees that it can learn: the sentences' own, or the nearest of its class; -1 where no head is known."""

    def targets(self, trees: Heads) -> Targets:
        """For `loss`, where these are the sentences' trees."""

    def loss(self, scores: Any, target: Any, lengths: jax.Array, rngs: nnx.Rngs) -> jax.Array:
        """f32 `[B]`."""

    def check(self, decoding: Decoding) -> None:
        """Raise ValueError for what it cannot be asked."""

    def decoder(self) -> Decoder:
        """What finds trees by the scores."""

    def memory(self, words: int, decoding: Decoding) -> int:
        """About how many bytes it takes to find the trees of a sentence."""

    def cheaper(self) -> Cheaper | None:
        """What takes less, if anything does."""


def algorithm_of(config: Config) -> Algorithm:
    """The parser that a configuration asks for.

    Raises:
        ValueError: choices that do not go together, with what to write instead.

    Example:
        >>> algorithm_of(Config(parser="greedy-mh4", positions=3)).projective
        False
        >>> algorithm_of(Config(parser="eisner", positions=3))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        ValueError: --positions is for greedy-mh4, ...; eisner has none to choose: leave it out
    """
    parser = _algorithm(config)
    if config.pseudo_projective and not parser.projective:
        raise ValueError(
            f"--pseudo-projective {config.pseudo_projective}: {config.parser} has crossing arcs of its own; "
            "write --parser eisner, mh3, arc-eager, greedy-mh3 or greedy-eager, or leave it out"
        )
    return parser


def check(config: Config, decoding: Decoding) -> None:
    """Raise ValueError for what does not go together: see `algorithm_of`, and `Algorithm.check`."""
    algorithm_of(config).check(decoding)
    if config.members > 1 and config.pseudo_projective:
        raise ValueError("--members with --pseudo-projective: relations that stand for arcs cannot be summed")
    if config.members > 1 and decoding != Decoding():
        raise ValueError(
            "--members takes the tree with the most heads to be expected by all of them: leave --decode, --confidence "
            "and --beam out (a member's own run can be asked for them)"
        )
    if decoding.decoder not in DECODERS:
        raise ValueError(f"--decode {decoding.decoder}: expected {' or '.join(DECODERS)}")
    if decoding.k_best < 1:
        raise ValueError(f"--k-best {decoding.k_best}: there is at least 1 tree to ask for")
    if decoding.decoder == "mbr" and decoding.k_best > 1:
        raise ValueError("--k-best with --decode mbr: one tree has the least risk; leave one of them out")
    if decoding.tags and config.tags == "off":
        raise ValueError("--tags: this parser was trained with --tags off, and predicts none; leave it out")
    asked = [option for option in decoding.of_charts if option in NOT_LIFTED]
    if config.pseudo_projective and asked:
        raise ValueError(
            f"{' and '.join(asked)} with --pseudo-projective: such parsers know projective trees, not those that their "
            "relations stand for; leave it out"
        )


NOT_LIFTED = ("--confidence", "--k-best", "--constraints")


def _algorithm(config: Config) -> Algorithm:
    if config.parser in SYSTEMS:
        return TransitionParser(config.parser, config.positions or 4, config.oracle, config.loss, config.single_root)
    for option in ("positions", "oracle"):
        if getattr(config, option) is not None:
            raise ValueError(
                f"--{option} is for {', '.join(SYSTEMS)}; {config.parser} has none to choose: leave it out"
            )
    if config.parser not in CHARTS:
        raise ValueError(f"there is no parser {config.parser!r}: it is one of {', '.join(PARSERS)}")
    return ChartParser(CHARTS[config.parser], config.loss, config.single_root)

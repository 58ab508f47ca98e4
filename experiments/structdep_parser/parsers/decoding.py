"""What may be asked of a trained parser, and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax

from structdep_parser.nn.compiled import Compiled


@dataclass(frozen=True)
class Decoding:
    """`decoder`: argmax for the best tree, mbr for the one with the most heads to be expected (minimum Bayes risk).

    With `confidence`, probabilities of the tree and its arcs, too: exact, among the trees of the parser's class. `beam`
    is how many runs a transition parser keeps: with 1 it is greedy. `k_best` trees are asked for, among those with the
    sentence's own heads where these are `known`. With `tags`, the words' tags, features and lemmas, too.

    Example:
        >>> Decoding().ending, Decoding("mbr").ending, Decoding(beam=8).ending
        ('', '-mbr', '-beam8')
    """

    decoder: str = "argmax"
    confidence: bool = False
    beam: int = 1
    k_best: int = 1
    known: bool = False
    tags: bool = False

    @property
    def of_charts(self) -> list[str]:
        """The options that only charts can answer."""
        asked = {
            "--decode mbr": self.decoder == "mbr",
            "--confidence": self.confidence,
            "--k-best": self.k_best > 1,
            "--constraints": self.known,
        }
        return [option for option, is_asked in asked.items() if is_asked]

    def __str__(self) -> str:
        return ", ".join([self.decoder, *[f"beam {self.beam}"] * (self.beam != 1)])

    @property
    def ending(self) -> str:
        """What the names of files end in, so that trees of other decoders stay."""
        changed = [self.decoder] * (self.decoder != "argmax") + [f"beam{self.beam}"] * (self.beam != 1)
        return "".join(f"-{name}" for name in changed)


class Decoded(NamedTuple):
    """Heads int32 `[B, n]`, and, where wanted, the probabilities of their arcs `[B, n]` and of the trees `[B]`."""

    heads: jax.Array
    arcs: jax.Array | None = None
    trees: jax.Array | None = None


class Decoder(Protocol):
    """Finds trees, from what a parser's scorer gives for a batch; its programs are compiled when first needed."""

    def __call__(
        self, scores: Any, lengths: jax.Array, decoding: Decoding, known: jax.Array | None = None
    ) -> list[Decoded]:
        """As many trees as asked for, best first, heads -1 where there is none; `known` heads are -1 where not."""

    @property
    def programs(self) -> Sequence[Compiled]: ...


class Cheaper(NamedTuple):
    """What stands in for a decoder that would take too much room: by the same scores, of those the tables it knows."""

    name: str
    decoder: Decoder
    tables: frozenset[str]

"""Parsers that take one transition after the other: a transition system each, trained by an oracle."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from structdep import charts
from structdep import transitions as tr
from structdep.spanning import all_trees
from structdep.trees.classes import System
from structdep_parser.choices import POSITIONS
from structdep_parser.config import Config
from structdep_parser.data.conllu import Heads, Sentence
from structdep_parser.data.corpus import nearest_trees
from structdep_parser.data.vocabulary import Vocabulary
from structdep_parser.nn.compiled import Compiled
from structdep_parser.nn.transition_scorer import TransitionScorer, TransitionScores
from structdep_parser.parsers.decoding import Cheaper, Decoded, Decoding
from structdep_parser.parsers.transition_targets import Exploration, Explorations, Runs

SYSTEMS = {
    "greedy-mh4": tr.mh4(),
    "greedy-mh3": tr.arc_hybrid(),
    "greedy-eager": tr.arc_eager(),
    "swap-hybrid": tr.arc_hybrid(swap=True),
    "swap-standard": tr.arc_standard(swap=True),
}
DYNAMIC = ("greedy-mh3", "greedy-eager", "swap-hybrid")
"""The parsers whose systems have dynamic oracles (static in swaps)."""
CLASSES: dict[str, Callable[[], System]] = {
    "projective": charts.eisner,
    "MH_4": partial(charts.mhk, 4),
    "single-root": all_trees,
    "all": all_trees,
}
LOSSES: dict[str, Callable[..., jax.Array]] = {"hinge": tr.losses.hinge, "nll": tr.losses.nll}


class TransitionParser:
    """A transition system with the places that its scorer sees, and the oracle and the loss that train it.

    A target are the runs of a static oracle; with a dynamic one, trees, and the parser makes runs itself.

    Raises:
        ValueError: positions, or an oracle, that it has not.
    """

    learns_parts = False

    def __init__(
        self, name: str, positions: int = 4, oracle: str | None = None, loss: str = "hinge", one_root: bool = True
    ) -> None:
        if positions not in POSITIONS:
            raise ValueError(f"--positions {positions}: a transition parser sees 2, 3 or 4 vectors, of {POSITIONS[4]}")
        if oracle == "dynamic" and name not in DYNAMIC:
            raise ValueError(
                f"--oracle dynamic: {name} has none, {', '.join(DYNAMIC)} have one; "
                "write --oracle static, or leave it out"
            )
        self.one_root = one_root
        self.system, self.places, self.sequence_loss = SYSTEMS[name], POSITIONS[positions], LOSSES[loss]
        self.explores = name in DYNAMIC if oracle is None else oracle == "dynamic"
        self.oracle = (tr.dynamic_oracle if self.explores else tr.static_oracle)(self.system)
        self.projective, self.growth = self.system.trees == "projective", 2.0
        self.finds_all_trees = CLASSES[self.system.trees] is all_trees

    def scorer(self, config: Config, *, rngs: nnx.Rngs) -> TransitionScorer:
        moves, hidden = len(self.system.transitions), config.scorer_features
        return TransitionScorer(self.places, moves, config.states, hidden, config.state_dropout, rngs=rngs)

    def trees(self, sentences: Sequence[Sentence], vocabulary: Vocabulary) -> Heads:
        one_root = self.one_root or self.system.trees == "single-root"
        return nearest_trees(sentences, vocabulary, CLASSES[self.system.trees](), one_root)

    def targets(self, trees: Heads) -> Runs | Explorations:
        return (Explorations if self.explores else Runs)(self.oracle, trees)

    def loss(
        self, scores: TransitionScores, target: tr.Sequences | Exploration, lengths: jax.Array, rngs: nnx.Rngs
    ) -> jax.Array:
        found = self._explored(scores, target, rngs) if isinstance(target, Exploration) else target
        return self.sequence_loss(scores(found.features), found)

    def _explored(self, scores: TransitionScores, target: Exploration, rngs: nnx.Rngs) -> tr.Sequences:
        fixed = jax.lax.stop_gradient(scores)
        return tr.explore(self.oracle, fixed, target.gold, rngs.dropout(), target.steps)

    def check(self, decoding: Decoding) -> None:
        if asked := decoding.of_charts:
            raise ValueError(
                f"{' and '.join(asked)}: that takes a search of all trees, which {self.system.name} does not make; "
                "leave it out, or write a --parser with a chart, such as mh3 or mh4-hybrid"
            )
        if decoding.beam < 1:
            raise ValueError(f"--beam {decoding.beam}: expected a width of at least 1")

    def decoder(self) -> "TransitionDecoder":
        return TransitionDecoder(self.system, self.one_root)

    def memory(self, words: int, decoding: Decoding) -> int:
        return 0

    def cheaper(self) -> Cheaper | None:
        return None


class TransitionDecoder:
    """Greedy parsing, and beams; with `one_root`, other words below the root are hung on the first of them."""

    def __init__(self, system: tr.TransitionSystem, one_root: bool) -> None:
        self.system, self.one_root = system, one_root
        self.searches: dict[int, Compiled] = {}

    def __call__(
        self, scores: TransitionScores, lengths: jax.Array, decoding: Decoding, known: jax.Array | None = None
    ) -> list[Decoded]:
        width = decoding.beam
        if width not in self.searches:
            self.searches[width] = Compiled(partial(_heads, self.system, width, self.one_root))
        return [Decoded(self.searches[width](scores, lengths))]

    @property
    def programs(self) -> tuple[Compiled, ...]:
        return tuple(self.searches.values())


def _heads(
    system: tr.TransitionSystem, width: int, one_root: bool, scores: TransitionScores, lengths: Any
) -> jax.Array:
    if width == 1:
        heads = tr.greedy(system, scores, lengths, scores.words).heads
    else:
        heads = tr.beam_search(system, scores, lengths, scores.words, width, normalize=True).heads
    return _with_one_root(heads, lengths) if one_root else heads


def _with_one_root(heads: jax.Array, lengths: jax.Array) -> jax.Array:
    """A projective tree stays projective."""
    word = jnp.arange(heads.shape[-1])
    first = jnp.argmax(heads == 0, axis=-1, keepdims=True)
    is_other = (heads == 0) & (word != first) & (word < jnp.asarray(lengths)[:, None])
    return jnp.where(is_other, first + 1, heads).astype(heads.dtype)

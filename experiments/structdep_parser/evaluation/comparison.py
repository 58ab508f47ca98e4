"""Two parsers' trees compared: by how much one is better, and whether the difference may be chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from structdep_parser.data.conllu import Sentence
from structdep_parser.evaluation.conll18 import METRICS, outcomes, percentages


@dataclass(frozen=True)
class Difference:
    """By how much B is better, in points, with an interval of 95 %; p is of the hypothesis that neither is.

    `only_a` and `only_b` are the words that one of the parsers alone has right, added up over `seeds`.
    """

    a: float
    b: float
    low: float
    high: float
    bootstrap: float
    only_a: int
    only_b: int
    seeds: int = 1

    @property
    def mcnemar(self) -> float:
        """NaN for several seeds, whose words are not independent of each other."""
        return mcnemar(self.only_a, self.only_b) if self.seeds == 1 else nan

    def cells(self) -> tuple[str, ...]:
        interval = f"{self.low:+.2f} .. {self.high:+.2f}"
        numbers = f"{self.a:.2f}", f"{self.b:.2f}", f"{self.b - self.a:+.2f}"
        return *numbers, interval, _p(self.bootstrap), str(self.only_a), str(self.only_b), _p(self.mcnemar)


def mcnemar(only_a: int, only_b: int) -> float:
    """The exact p, on both sides, that so few or fewer of the words on which two parsers differ are right in one.

    Example:
        >>> mcnemar(2, 8), mcnemar(3, 3), mcnemar(0, 0)
        (0.109375, 1.0, 1.0)
    """
    both = only_a + only_b
    return float(binomtest(only_a, both).pvalue) if both else 1.0


def compare(
    a: Sequence[Sequence[Sentence]],
    b: Sequence[Sequence[Sentence]],
    gold: Sequence[Sentence],
    samples: int = 10_000,
    seed: int = 1,
) -> dict[str, Difference]:
    """The difference in each of `METRICS` between the trees of two parsers, of one seed each or of several.

    Sentences and words must be the same. The bootstrap draws sentences, each with its trees of all seeds, and seeds,
    each with those of both parsers.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from structdep_parser.data.demo_treebank import write_demo_treebank
        >>> from structdep_parser.data.conllu import read
        >>> with TemporaryDirectory() as folder:
        ...     dev = read(write_demo_treebank(folder).dev)
        >>> compare([dev], [dev], dev, samples=10)["UAS"]
        Difference(a=100.0, b=100.0, low=0.0, high=0.0, bootstrap=1.0, only_a=0, only_b=0, seeds=1)
    """
    if samples < 1:
        raise ValueError(f"a bootstrap draws one sample or more, not {samples}")
    if seed < 0:
        raise ValueError(f"a seed is 0 or more, not {seed}")
    if len(a) != len(b):
        raise ValueError(f"A has {len(a)} seeds and B {len(b)}: give as many files of both")
    of_a, of_b = ([_outcomes(gold, trees) for trees in found] for found in (a, b))
    counts = np.array([[[each.sum(-1) for each in own] for own in found] for found in (of_a, of_b)])
    right_a, right_b = (
        np.concatenate([each for own in found for each in own], axis=-1)[:, 0] for found in (of_a, of_b)
    )
    scores = percentages(counts.sum((1, 2)))
    drawn = _drawn(counts, samples, np.random.default_rng(seed))
    found = {}
    for place, metric in enumerate(METRICS):
        low, high = np.quantile(drawn[:, place], (0.025, 0.975)).tolist()
        only_a, only_b = right_a[place] & ~right_b[place], right_b[place] & ~right_a[place]
        p = _both_sides(drawn[:, place])
        before, after = scores[:, place].tolist()
        found[metric] = Difference(before, after, low, high, p, int(only_a.sum()), int(only_b.sum()), len(a))
    return found


def _outcomes(gold: Sequence[Sentence], trees: Sequence[Sentence]) -> list[NDArray[np.bool_]]:
    return [outcomes(g.heads, g.deprels, s.heads, s.deprels) for g, s in zip(gold, trees, strict=True)]


def _drawn(counts: NDArray[np.int64], samples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """The differences `[samples, metrics]` in sentences and seeds that are drawn with replacement.

    From counts `[2, seeds, sentences, metrics, 3]`.
    """
    _, seeds, sentences, *_ = counts.shape
    found = []
    for _ in range(samples):
        times = _times(sentences, rng)
        of_seeds = np.tensordot(times, counts, (0, 2))
        first, second = percentages(np.tensordot(_times(seeds, rng), of_seeds, (0, 1)))
        found.append(second - first)
    return np.array(found)


def _times(number: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """How often each of some things is drawn, in as many draws."""
    return np.bincount(rng.integers(number, size=number), minlength=number)


def _both_sides(differences: NDArray[np.float64]) -> float:
    """Twice the share of draws on the rarer side of 0, which is never reported as none at all."""
    rarer = min((differences <= 0).sum(), (differences >= 0).sum())
    return min(1.0, 2 * (int(rarer) + 1) / (len(differences) + 1))


def _p(value: float) -> str:
    if isnan(value):
        return ""
    return f"{value:.4f}" if value >= 1e-4 else "< 0.0001"


def check_words(path: Path, sentences: Sequence[Sentence], gold_path: Path, gold: Sequence[Sentence]) -> None:
    """Raise ValueError where a file has other words than the gold standard: what is there, in which lines."""
    for number, (found, expected) in enumerate(zip(sentences, gold, strict=False), start=1):
        if found.forms != expected.forms:
            pairs = enumerate(zip(found.forms, expected.forms, strict=False))
            place = next((place for place, (one, other) in pairs if one != other), min(len(found), len(expected)))
            came, wanted = _word(found, place), _word(expected, place)
            raise ValueError(f"sentence {number} is not the same: {came}, but {wanted}; does one file lack a sentence?")
    if len(sentences) != len(gold):
        raise ValueError(
            f"{path} has {len(sentences)} sentences, but {gold_path} has {len(gold)}: "
            f"one of them ends too early, at lines {sentences[-1].line_of(-1)} and {gold[-1].line_of(-1)}"
        )


def _word(sentence: Sentence, place: int) -> str:
    """What stands at a place in a sentence, and where."""
    if place < len(sentence):
        return f"the word {sentence.forms[place]!r} in {sentence.source}, line {sentence.line_of(place)}"
    return f"its end in {sentence.source} behind line {sentence.line_of(-1)}"

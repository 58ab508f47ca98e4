"""Scores by the rules of CoNLL 2018, by hand, and whether two parsers differ."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from structdep_parser.cli import compare
from structdep_parser.data.conllu import Sentence, read
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.writing import write_predictions
from structdep_parser.evaluation import comparison
from structdep_parser.evaluation.conll18 import CONTENT, METRICS, outcomes, percentages

FUNCTIONAL = ("aux", "case", "cc", "clf", "cop", "det", "mark", "punct")
"""All other universal relations than those of content words (Nivre et al., 2020)."""


def scores(gold: str, predicted: str) -> list[float]:
    """From heads and relations as text."""
    trees = [[arc.split("/") for arc in text.split()] for text in (gold, predicted)]
    columns = [column for tree in trees for column in ([int(head) for head, _ in tree], [deprel for _, deprel in tree])]
    return percentages(outcomes(*columns).sum(-1)).round(2).tolist()


def test_a_bootstrap_has_samples() -> None:
    with pytest.raises(ValueError, match="draws one sample or more, not 0"):
        comparison.compare([[]], [[]], [], samples=0)


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        ("2/nsubj 0/root 2/punct", "2/nsubj 0/root 2/punct", [100, 100, 100]),
        ("2/nsubj:pass 0/root 2/obl:agent", "2/nsubj 0/root 2/obl:tmod", [100, 100, 100]),
        ("2/nsubj 0/root 2/punct", "2/nsubj 0/root 1/punct", [66.67, 66.67, 100]),
        ("2/nsubj 0/root 2/obj", "2/obj 0/root 2/obj", [100, 66.67, 66.67]),
        ("2/det 3/nsubj 0/root", "2/det 3/aux 0/root", [100, 66.67, 66.67]),  # two content words, one predicted
        ("2/det 0/root", "2/amod 0/root", [100, 50, 66.67]),  # one, two predicted
        ("2/det 0/root", "0/root 1/det", [0, 0, 0]),
        ("0/root 0/root", "0/root 0/root", [100, 100, 100]),
        ("2/case 0/mark", "2/case 0/cc", [100, 50, 0]),  # no content words
        ("2/det 0/root", "2/other 0/root", [100, 50, 100]),  # unknown relations are not of content words
    ],
)
def test_scores_by_hand(gold: str, predicted: str, expected: list[float]) -> None:
    assert scores(gold, predicted) == expected


def test_relations_are_of_content_words_or_functional() -> None:
    assert len(CONTENT) + len(FUNCTIONAL) == 37 and not CONTENT & set(FUNCTIONAL)


def test_numbers_of_words_must_fit() -> None:
    with pytest.raises(ValueError, match=r"have \[2, 2, 1, 2\] entries, expected one a word"):
        outcomes([0, 1], ["root", "obj"], [0], ["root", "obj"])


@pytest.mark.parametrize(("only_a", "only_b"), [(0, 0), (1, 6), (6, 1), (4, 4), (3, 9)])
def test_mcnemar_counts_all_ways(only_a: int, only_b: int) -> None:
    """Of all ways in which fair coins fall, how many are as far from the middle, or farther."""
    falls = [sum(fall) for fall in product((0, 1), repeat=only_a + only_b)]
    far = abs(2 * only_a - (only_a + only_b))
    share = np.mean([abs(2 * heads - (only_a + only_b)) >= far for heads in falls])
    assert comparison.mcnemar(only_a, only_b) == pytest.approx(share)


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo_treebank(tmp_path_factory.mktemp("treebank")).dev


def worse(sentences: list[Sentence], share: float, seed: int) -> list[Sentence]:
    """The relations of some words, drawn at random, are wrong, and the heads of half of these."""
    rng = np.random.default_rng(seed)
    found = []
    for sentence in sentences:
        wrong = rng.random(len(sentence)) < share
        deprels = tuple("dep" if w else d for w, d in zip(wrong, sentence.deprels, strict=True))
        root = wrong & (rng.random(len(sentence)) < 0.5)
        found.append(replace(sentence, heads=np.where(root, 0, sentence.heads), deprels=deprels))
    return found


def written(path: Path, sentences: list[Sentence]) -> Path:
    write_predictions(path, sentences, [s.heads for s in sentences], [s.deprels for s in sentences])
    return path


def test_a_clear_difference_and_none(gold: Path) -> None:
    sentences = read(gold)
    bad, better, as_good = (worse(sentences, share, seed) for share, seed in ((0.3, 1), (0.1, 2), (0.1, 4)))
    clear, none = (
        comparison.compare([one], [other], sentences, 500) for one, other in ((bad, better), (better, as_good))
    )
    for metric in METRICS:
        assert 0 < clear[metric].low < clear[metric].b - clear[metric].a < clear[metric].high
        assert clear[metric].bootstrap == pytest.approx(2 / 501) and clear[metric].mcnemar < 1e-6
        assert none[metric].low < 0 < none[metric].high and min(none[metric].bootstrap, none[metric].mcnemar) > 0.01
    words = sum(map(len, sentences))
    uas = clear["UAS"]
    assert (uas.only_b - uas.only_a) / words == pytest.approx((uas.b - uas.a) / 100)
    back = comparison.compare([better], [bad], sentences, 500)["UAS"]
    assert (back.a, back.only_a, back.mcnemar) == (uas.b, uas.only_b, uas.mcnemar) and back.high < 0


def test_intervals_are_those_of_normal_differences(gold: Path) -> None:
    """For so many sentences, 1.96 standard errors of the mean difference of a sentence, if all are of one length."""
    sentences = [s for s in read(gold) if len(s) == 7]
    a, b = worse(sentences, 0.3, 4), worse(sentences, 0.3, 5)
    per_sentence = [
        100 * ((y.heads == s.heads).mean() - (x.heads == s.heads).mean())
        for x, y, s in zip(a, b, sentences, strict=True)
    ]
    found = comparison.compare([a], [b], sentences, 2000)["UAS"]
    assert found.b - found.a == pytest.approx(np.mean(per_sentence))
    width = 2 * 1.96 * np.std(per_sentence) / np.sqrt(len(sentences))
    assert found.high - found.low == pytest.approx(width, rel=0.1)


def test_seeds_of_the_same_sentences_are_not_more_sentences(gold: Path) -> None:
    sentences = read(gold)
    a, b, c, d = (worse(sentences, share, seed) for share, seed in ((0.3, 6), (0.2, 7), (0.3, 8), (0.2, 9)))
    one, twice = (comparison.compare([a] * n, [b] * n, sentences, 2000)["UAS"] for n in (1, 2))
    assert (one.a, one.b) == (twice.a, twice.b) and twice.only_a == 2 * one.only_a and np.isnan(twice.mcnemar)
    assert twice.high - twice.low == pytest.approx(one.high - one.low, rel=0.1)
    assert twice.cells()[-1] == ""
    both = comparison.compare([a, c], [b, d], sentences, 2000)["UAS"]
    others = comparison.compare([c], [d], sentences, 10)["UAS"]
    assert both.a == pytest.approx((one.a + others.a) / 2) and both.b == pytest.approx((one.b + others.b) / 2)
    assert both.low < both.b - both.a < both.high
    with pytest.raises(ValueError, match="A has 1 seeds and B 2: give as many files of both"):
        comparison.compare([a], [b, d], sentences)


def test_command_line(
    gold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brackets in names are no markup, and a table may be wider than the terminal."""
    monkeypatch.setenv("COLUMNS", "60")
    a, b = (written(tmp_path / f"[{name}].conllu", worse(read(gold), 0.2, seed)) for seed, name in enumerate("ab"))
    command = [str(a), str(b), str(gold), "--samples", "100"]
    assert compare.main(command) == 0
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("UAS", "CLAS", "p (McNemar)", "only B right"))
    assert "[a].conllu" in printed and "…" not in printed
    assert compare.main(command) == 0 and capsys.readouterr().out == printed
    assert compare.main([*command, "--more-a", str(b), "--more-b", str(a)]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "UAS" in line)
    assert "+0.00" in row


def other_word(text: str) -> str:
    return text.replace("\tdurasa\t", "\tdurasu\t", 1)


def shorter_sentence(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not line.startswith("9\tbidune"))


def first_sentence(text: str) -> str:
    return text.split("\n\n")[0] + "\n\n"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            other_word,
            "sentence 1 is not the same: the word 'durasu' in BAD, line 6, but the word 'durasa' in GOLD, line 6",
        ),
        (
            shorter_sentence,
            "sentence 1 is not the same: its end in BAD behind line 11, but the word 'bidune' in GOLD, line 12",
        ),
        (first_sentence, "BAD has 1 sentences, but GOLD has 100: one of them ends too early, at lines 12 and"),
    ],
)
def test_other_words_are_told(
    change: Callable[[str], str], message: str, gold: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.conllu"
    bad.write_text(change(gold.read_text(encoding="utf-8")), encoding="utf-8")
    assert compare.main([str(gold), str(bad), str(gold)]) == 1
    assert message.replace("BAD", str(bad)).replace("GOLD", str(gold)) in capsys.readouterr().err

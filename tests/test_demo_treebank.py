"""The demonstration treebank: valid, reproducible, and non-projective where it says so."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.treebank import Sentence, Treebank, find_treebank, read

VOWELS = {"a", "o", "u"}


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Treebank:
    return write_demo_treebank(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def splits(treebank: Treebank) -> list[list[Sentence]]:
    assert treebank.test is not None
    return [read(path) for path in (treebank.train, treebank.dev, treebank.test)]


def crossing_words(sentence: Sentence) -> list[int]:
    """Words whose arc crosses another, the root's word aside."""
    arcs = [(min(head, word), max(head, word)) for word, head in enumerate(sentence.heads.tolist(), start=1)]
    crossed = [any(i < k < j < m or k < i < m < j for k, m in arcs) for i, j in arcs]
    return [word for word, (i, _) in enumerate(arcs, start=1) if i > 0 and crossed[word - 1]]


def is_mh4(heads: list[int]) -> bool:
    """Whether items of at most four heads derive this tree, by plain recursion over the published rules."""

    @cache
    def derived(item: tuple[int, ...]) -> bool:
        if len(item) == 2 and item[1] == item[0] + 1:
            return True
        if any(derived(item[:m]) and derived(item[m - 1 :]) for m in range(2, len(item))):
            return True
        return len(item) < 4 and any(
            derived(tuple(sorted((*item, word)))) for word in range(item[0] + 1, item[-1]) if linked(word, item)
        )

    def linked(word: int, item: tuple[int, ...]) -> bool:
        return word not in item and heads[word - 1] in item

    return derived((0, len(heads) + 1))


def test_recognizer_knows_the_smallest_tree_outside_mh4() -> None:
    assert is_mh4([2, 0, 2]) and is_mh4([3, 4, 0, 3]) and not is_mh4([3, 0, 5, 2, 4])


def test_sizes_and_lengths(splits: list[list[Sentence]]) -> None:
    assert list(map(len, splits)) == [600, 100, 100]
    lengths = [len(sentence) for split in splits for sentence in split]
    assert min(lengths) >= 4 and max(lengths) <= 16


def test_one_root_a_sentence(splits: list[list[Sentence]]) -> None:
    for sentence in (sentence for split in splits for sentence in split):
        roots = [word for word, head in enumerate(sentence.heads) if head == 0]
        assert len(roots) == 1 and sentence.deprels[roots[0]] == "root" and sentence.deprels.count("root") == 1


def test_a_quarter_to_a_third_is_non_projective_and_within_mh4(splits: list[list[Sentence]]) -> None:
    for split in splits:
        crossing = [sentence for sentence in split if crossing_words(sentence)]
        assert 0.25 <= len(crossing) / len(split) <= 0.35
        assert all(is_mh4(sentence.heads.tolist()) for sentence in crossing)


def test_crossing_arcs_follow_from_the_words(splits: list[list[Sentence]]) -> None:
    seen: Counter[str] = Counter()
    for sentence in (sentence for split in splits for sentence in split):
        for word in crossing_words(sentence):
            form, head, deprel = sentence.forms[word - 1], int(sentence.heads[word - 1]), sentence.deprels[word - 1]
            seen[deprel] += 1
            if deprel == "acl":
                agreeing = [
                    position
                    for position, (other, tag) in enumerate(zip(sentence.forms, sentence.upos, strict=True), start=1)
                    if tag == "NOUN" and other.removesuffix("m")[-1] == form[-1]
                ]
                assert agreeing == [head] and form[-1] in VOWELS
            elif deprel == "obj":
                assert form.endswith("m") and word < head and "ke" in sentence.forms[word : head - 1]
    assert min(seen["acl"], seen["obj"]) > 80 and set(seen) == {"acl", "obj", "obl"}


def test_the_whole_format_is_exercised(treebank: Treebank, splits: list[list[Sentence]]) -> None:
    kinds = Counter(
        mark for sentence in splits[0] for line in sentence.lines for mark in "-." if mark in line.split("\t")[0]
    )
    assert kinds["-"] > 10 and kinds["."] > 5
    assert treebank.train.read_text(encoding="utf-8").startswith(
        "# an invented language, seed 1\n# sent_id = demo-train-1\n"
    )
    assert all(len(sentence.comments) >= 2 for sentence in splits[0])
    assert {"nsubj", "obj", "obl", "case", "det", "amod", "acl", "ccomp", "mark", "orphan"} <= {
        deprel for sentence in splits[0] for deprel in sentence.deprels
    }


def test_same_seed_same_files(treebank: Treebank, tmp_path: Path) -> None:
    again, other = write_demo_treebank(tmp_path / "again"), write_demo_treebank(tmp_path / "other", seed=2)
    assert again.train.read_bytes() == treebank.train.read_bytes() != other.train.read_bytes()
    assert again == find_treebank("demo", tmp_path / "again")


def test_no_sentence_of_dev_or_test_is_in_train(splits: list[list[Sentence]]) -> None:
    train = {sentence.forms for sentence in splits[0]}
    assert not train & {sentence.forms for split in splits[1:] for sentence in split}

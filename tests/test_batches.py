"""Vocabulary and batches: nothing is lost, and shapes are few."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from structdep_parser.data.batch import Batch, padding_share
from structdep_parser.data.batches import batches, tree_batches
from structdep_parser.data.conllu import from_text
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.encoding import shortened
from structdep_parser.data.lines import begins, ends
from structdep_parser.data.shapes import plan, round_up
from structdep_parser.data.treebank import Sentence, read
from structdep_parser.data.vocabulary import RESERVED, Vocabulary, full_tags


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> list[Sentence]:
    return read(write_demo_treebank(tmp_path_factory.mktemp("demo")).train)


@pytest.fixture(scope="module")
def vocabulary(train: list[Sentence]) -> Vocabulary:
    return Vocabulary.of(train)


@pytest.fixture(scope="module")
def long_tailed(tmp_path_factory: pytest.TempPathFactory) -> list[Sentence]:
    """Sentences of geometric length about 10, and a few of 60 to 165 words, every word under the one before it."""
    rng = np.random.default_rng(0)
    lengths = [*np.minimum(rng.geometric(0.1, 1000), 60), 61, 94, 105, 165]
    blocks = (
        "".join(f"{w}\tw{rng.zipf(1.3) % 5000}\t_\tX\t_\t_\t{w - 1}\tx\t_\t_\n" for w in range(1, n + 1))
        for n in lengths
    )
    path: Path = tmp_path_factory.mktemp("long") / "a.conllu"
    path.write_text("\n".join(blocks))
    return read(path)


def spelled(batch: Batch, places: np.ndarray, vocabulary: Vocabulary) -> list[str]:
    """The forms at these places in lines, read from their characters."""
    forms, codes = batch.forms, batch.forms.characters.reshape(-1)
    rows = batch.lines.form.reshape(-1)[places]
    assert (forms.start.reshape(-1)[forms.first[rows]] == forms.first[rows]).all()
    assert (forms.start.reshape(-1)[forms.last[rows]] == forms.first[rows]).all()
    return [
        "".join(vocabulary.characters[int(code)] for code in codes[forms.first[row] : forms.last[row] + 1])
        for row in rows
    ]


def test_rare_words_are_unknown(train: list[Sentence], vocabulary: Vocabulary) -> None:
    counts = Counter(form for sentence in train for form in sentence.forms)
    assert set(vocabulary.words) == {*RESERVED, *(form for form, count in counts.items() if count >= 5)}
    rare = next(form for form, count in counts.items() if count < 5)
    assert vocabulary.word(rare) == 1 and vocabulary.words[vocabulary.word("ta")] == "ta"
    assert vocabulary.form("tß") == [vocabulary.characters.index("t"), 1]
    assert set("".join(counts)) == set(vocabulary.characters[2:])


def test_tags_that_training_lacks_equal_no_prediction(train: list[Sentence], vocabulary: Vocabulary) -> None:
    assert vocabulary.deprel("nowhere") == vocabulary.upos_tag("nowhere") == vocabulary.xpos_tag("nowhere") == -1
    assert "_\tCase=Acc|Gender=Fem" in vocabulary.xpos and "_\tCase=Acc|Gender=Fem" in {
        t for s in train for t in full_tags(s)
    }
    earlier = vocabulary.to_dict() | {"xpos": [tag.replace("\t", "|") for tag in vocabulary.xpos]}
    assert Vocabulary.from_dict(earlier) == vocabulary
    assert len(set(vocabulary.deprels)) == len(vocabulary.deprels) == len({d for s in train for d in s.deprels})


def test_vocabulary_survives_json(vocabulary: Vocabulary) -> None:
    again = Vocabulary.from_dict(json.loads(json.dumps(vocabulary.to_dict())))
    assert again == vocabulary and again.word("ta") == vocabulary.word("ta")


@pytest.mark.parametrize("seed", [None, 0])
@pytest.mark.parametrize("alone", [False, True])
def test_every_sentence_is_in_one_row_and_in_one_line(
    train: list[Sentence], vocabulary: Vocabulary, seed: int | None, alone: bool
) -> None:
    shapes = plan(train, 300, alone=alone)
    made = batches(train, vocabulary, rng=None if seed is None else np.random.default_rng(seed), shapes=shapes)
    found = np.concatenate([batch.trees.index for batch in made])
    assert sorted(found[found >= 0].tolist()) == list(range(len(train)))
    for batch in made:
        start, gold = batch.lines.start.reshape(-1), batch.gold
        for row, number in enumerate(batch.trees.index.tolist()):
            if number >= 0:
                sentence, n, root = train[number], int(batch.trees.lengths[row]), int(batch.root[row])
                assert n == len(sentence) and batch.trees.heads[row, :n].tolist() == sentence.heads.tolist()
                assert (np.flatnonzero(start == root) == np.arange(root, root + n + 2)).all()
                assert root // batch.lines.start.shape[1] == (root + n + 1) // batch.lines.start.shape[1]
                assert not alone or root == row * batch.lines.start.shape[1]
                words = np.arange(root + 1, root + 1 + n)
                assert spelled(batch, words, vocabulary) == list(sentence.forms)
                at = [table.reshape(-1)[words] for table in (gold.heads, gold.deprels, gold.upos, gold.xpos)]
                heads, deprels, upos, xpos = at
                assert (heads - root).tolist() == sentence.heads.tolist()
                assert [vocabulary.deprels[d] for d in deprels] == list(sentence.deprels)
                assert [vocabulary.upos[t] for t in upos] == list(sentence.upos)
                assert [vocabulary.xpos[t] for t in xpos] == list(full_tags(sentence))
                assert batch.lines.words.reshape(-1)[words].tolist() == list(map(vocabulary.word, sentence.forms))


def test_what_is_no_word_is_padding(long_tailed: list[Sentence]) -> None:
    fillers = 0
    for batch in batches(long_tailed, Vocabulary.of(long_tailed), 400, np.random.default_rng(0)):
        trees, start = batch.trees, batch.lines.start
        beyond = np.arange(trees.heads.shape[1]) >= trees.lengths[:, None]
        assert (
            trees.heads.dtype == np.int32 and not trees.heads[beyond].any() and not trees.heads[trees.index < 0].any()
        )
        assert (trees.lengths[trees.index < 0] == 1).all()
        is_word = np.asarray(~(begins(start) | ends(start)))
        assert is_word.sum() == batch.words
        assert (start[np.asarray(begins(start) & ends(start))] == np.flatnonzero(begins(start) & ends(start))).all()
        assert not batch.lines.words[~is_word].any() and not batch.lines.form[~is_word].any()
        assert all((table[~is_word] == -1).all() for table in jax.tree.leaves(batch.gold))
        fillers += int((trees.index < 0).sum())
    assert fillers > 0


def test_each_form_is_spelled_once(train: list[Sentence], vocabulary: Vocabulary) -> None:
    for batch in batches(train, vocabulary, 300):
        first = batch.forms.first[np.unique(batch.lines.form[batch.lines.form > 0])]
        forms = {form for number in batch.trees.index[batch.trees.index >= 0] for form in train[number].forms}
        assert len(set(first.tolist())) == len(first) == len(forms)


def test_shapes_are_few_and_padding_is_bounded(long_tailed: list[Sentence]) -> None:
    vocabulary, planned = Vocabulary.of(long_tailed), plan(long_tailed, 500)
    assert len(planned) <= 8 and planned[-1].words == 166
    assert len({(s.lines, s.width, s.types, s.form_lines) for s in planned}) == 2
    for seed in range(3):
        made = batches(long_tailed, vocabulary, rng=np.random.default_rng(seed), shapes=planned)
        shapes = {(b.lines.words.shape, b.forms.first.shape, b.trees.heads.shape) for b in made}
        assert shapes <= {((s.lines, s.width), (s.types,), (s.sentences, s.words)) for s in planned}
        assert 0 < padding_share(made) < 0.4
        words = sum(len(sentence) for sentence in long_tailed)
        assert padding_share(made) == pytest.approx(1 - words / sum(batch.lines.words.size for batch in made))


def test_long_sentences_are_in_small_batches(long_tailed: list[Sentence]) -> None:
    assert all(shape.lines * shape.width <= 600 for shape in plan(long_tailed, 500))
    (last,) = plan(long_tailed[-1:], 100)
    assert (last.words, last.sentences, last.lines, last.width) == (166, 1, 1, 168)
    assert [shape.words for shape in plan(list(from_text([b"a", b"b"], "words")), 100)] == [2]


def test_a_shape_has_room_for_other_sentences_of_its_length() -> None:
    """Of which each word may be another, as when subtrees are grafted."""
    texts = (" ".join(words).encode() for words in (["a"] * 40, map(str, range(40))))
    same, other = from_text(texts, "two sentences")
    shapes = plan([same], words_per_batch=1)
    (batch,) = batches([other], Vocabulary.of([same]), shapes=shapes)
    assert len(set(batch.lines.form.ravel().tolist()) - {0}) == 40


def test_shapes_follow_how_work_grows(long_tailed: list[Sentence]) -> None:
    def padded(growth: float, by: float) -> float:
        ends = np.array([shape.words for shape in plan(long_tailed, 250, 4, growth)])
        lengths = np.array([len(sentence) for sentence in long_tailed])
        return float(((ends[np.searchsorted(ends, lengths)] + 2.0) ** by).sum())

    assert padded(1, by=1) < padded(4, by=1) and padded(4, by=4) < padded(1, by=4)


def test_the_generator_alone_decides_the_order(train: list[Sentence], vocabulary: Vocabulary) -> None:
    first, again, other = (
        [batch.trees.index.tolist() for batch in batches(train, vocabulary, 300, np.random.default_rng(seed))]
        for seed in (1, 1, 2)
    )
    assert first == again != other
    in_order = [len(train[i]) for batch in batches(train, vocabulary, 300) for i in batch.trees.index if i >= 0]
    assert in_order == sorted(in_order)


def test_more_forms_than_room_close_a_batch_early(train: list[Sentence], vocabulary: Vocabulary) -> None:
    (shape,) = plan(train, 20_000, max_shapes=1)
    assert len(batches(train, vocabulary, shapes=[shape])) == 1
    for tight in (replace(shape, types=64), replace(shape, form_lines=12), replace(shape, lines=20)):
        made = batches(train, vocabulary, shapes=[tight])
        assert len(made) > 1 and sum(int((batch.trees.index >= 0).sum()) for batch in made) == len(train)


def test_what_fits_no_shape_raises(train: list[Sentence], long_tailed: list[Sentence], vocabulary: Vocabulary) -> None:
    with pytest.raises(ValueError, match=r"sentence 1003 has 165 words, the largest shape 14; write shapes=plan"):
        batches(long_tailed, vocabulary, shapes=plan(train))
    (shape,) = plan(train, max_shapes=1)
    with pytest.raises(ValueError, match=r"distinct forms, more than fit into Shape.*; write shapes=plan"):
        batches(train, vocabulary, shapes=[replace(shape, types=3)])
    with pytest.raises(ValueError, match="no sentences"):
        plan([])


def test_a_batch_goes_through_jit_as_a_pytree(train: list[Sentence], vocabulary: Vocabulary) -> None:
    traces = 0

    @jax.jit
    def real_words(batch: Batch) -> jax.Array:
        nonlocal traces
        traces += 1
        return ((batch.trees.index >= 0) * batch.trees.lengths).sum()

    made = batches(train, vocabulary, 300, np.random.default_rng(0))
    assert sum(int(real_words(batch)) for batch in made) == sum(map(len, train))
    assert traces == len({batch.trees.heads.shape for batch in made}) <= 8


def test_trees_alone_take_small_shapes(train: list[Sentence]) -> None:
    (one,) = tree_batches(train[:1])
    assert one.heads.shape == (1, 16)
    made = list(tree_batches(train * 30))
    found = sorted(int(number) for batch in made for number in batch.index if number >= 0)
    assert found == list(range(30 * len(train)))


def test_shortened_keeps_both_ends() -> None:
    assert [shortened("abcdefg", size) for size in (7, 6, 3)] == ["abcdefg", "abcefg", "abg"]
    assert [round_up(number, 4) for number in (1, 4, 5)] == [4, 4, 8]

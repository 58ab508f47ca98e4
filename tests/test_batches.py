"""Vocabulary and batches: nothing is lost, and shapes are few."""

import json
from collections import Counter
from pathlib import Path

import jax
import numpy as np
import pytest

from structdep.batching import padded_work
from structdep_parser.data.batches import Batch, batches, padding_share, shortened
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.sentences import from_text
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


def spelled(batch: Batch, row: int, vocabulary: Vocabulary) -> list[str]:
    """The forms of a row, read from its characters."""
    types = batch.word_types[row, : batch.lengths[row]]
    codes = [batch.type_chars[t, : batch.type_lengths[t]] for t in types]
    return ["".join(vocabulary.characters[int(code)] for code in form) for form in codes]


def test_rare_words_are_unknown(train: list[Sentence], vocabulary: Vocabulary) -> None:
    counts = Counter(form for sentence in train for form in sentence.forms)
    assert set(vocabulary.words) == {*RESERVED, *(form for form, count in counts.items() if count >= 5)}
    rare = next(form for form, count in counts.items() if count < 5)
    assert vocabulary.word(rare) == 1 and vocabulary.words[vocabulary.word("ta")] == "ta"
    assert vocabulary.form("tß") == [vocabulary.characters.index("t"), 1]
    assert set("".join(counts)) == set(vocabulary.characters[2:])


def test_tags_that_training_lacks_equal_no_prediction(train: list[Sentence], vocabulary: Vocabulary) -> None:
    assert vocabulary.deprel("nowhere") == vocabulary.upos_tag("nowhere") == vocabulary.xpos_tag("nowhere") == -1
    assert "_|Case=Acc|Gender=Fem" in vocabulary.xpos and "_|Case=Acc|Gender=Fem" in {
        t for s in train for t in full_tags(s)
    }
    assert len(set(vocabulary.deprels)) == len(vocabulary.deprels) == len({d for s in train for d in s.deprels})


def test_vocabulary_survives_json(vocabulary: Vocabulary) -> None:
    again = Vocabulary.from_dict(json.loads(json.dumps(vocabulary.to_dict())))
    assert again == vocabulary and again.word("ta") == vocabulary.word("ta")


@pytest.mark.parametrize("seed", [None, 0])
def test_every_sentence_is_in_one_row(train: list[Sentence], vocabulary: Vocabulary, seed: int | None) -> None:
    made = batches(train, vocabulary, 300, None if seed is None else np.random.default_rng(seed))
    places = np.concatenate([batch.index for batch in made])
    assert sorted(places[places >= 0].tolist()) == list(range(len(train)))
    for batch in made:
        for row, place in enumerate(batch.index.tolist()):
            if place >= 0:
                sentence, n = train[place], int(batch.lengths[row])
                assert n == len(sentence) and spelled(batch, row, vocabulary) == list(sentence.forms)
                assert batch.heads[row, :n].tolist() == sentence.heads.tolist()
                assert [vocabulary.deprels[d] for d in batch.deprels[row, :n]] == list(sentence.deprels)
                assert [vocabulary.upos[t] for t in batch.upos[row, :n]] == list(sentence.upos)
                assert [vocabulary.xpos[t] for t in batch.xpos[row, :n]] == list(full_tags(sentence))
                assert batch.words[row, :n].tolist() == [vocabulary.word(form) for form in sentence.forms]


def test_padding_is_zero_and_filler_rows_have_one_word(long_tailed: list[Sentence]) -> None:
    fillers = 0
    for batch in batches(long_tailed, Vocabulary.of(long_tailed), 400, np.random.default_rng(0)):
        beyond = np.arange(batch.words.shape[1]) >= batch.lengths[:, None]
        for table in (batch.words, batch.word_types, batch.upos, batch.xpos, batch.heads, batch.deprels):
            assert table.dtype == np.int32 and not table[beyond].any() and not table[batch.index < 0].any()
        assert (batch.lengths[batch.index < 0] == 1).all()
        assert not batch.type_chars[0].any() and batch.type_lengths.min() == 1
        fillers += int((batch.index < 0).sum())
    assert fillers > 0


def test_each_form_has_one_row_of_characters(train: list[Sentence], vocabulary: Vocabulary) -> None:
    for batch in batches(train, vocabulary, 300):
        used = [tuple(batch.type_chars[t].tolist()) for t in np.unique(batch.word_types[batch.word_types > 0])]
        forms = {form for place in batch.index[batch.index >= 0] for form in train[place].forms}
        assert len(set(used)) == len(used) == len(forms)


def test_shapes_are_few_and_padding_is_bounded(long_tailed: list[Sentence]) -> None:
    vocabulary, planned = Vocabulary.of(long_tailed), plan(long_tailed, 500)
    assert len(planned) <= 8 and planned[-1].words == 168
    for seed in range(3):
        made = batches(long_tailed, vocabulary, rng=np.random.default_rng(seed), shapes=planned)
        shapes = {(b.words.shape, b.type_chars.shape) for b in made}
        assert shapes <= {((s.sentences, s.words), (s.types, s.characters)) for s in planned}
        assert 0 < padding_share(made) < 0.3
        words = sum(len(sentence) for sentence in long_tailed)
        assert padding_share(made) == pytest.approx(1 - words / sum(batch.words.size for batch in made))


def test_long_sentences_are_in_small_batches(long_tailed: list[Sentence]) -> None:
    assert all(shape.words * shape.sentences <= max(500, shape.words) for shape in plan(long_tailed, 500))
    alone = plan(long_tailed[-1:], 100)
    assert [(shape.words, shape.sentences) for shape in alone] == [(168, 1)]


def test_a_shape_has_room_for_other_sentences_of_its_length() -> None:
    """Of which each word may be another, as when subtrees are grafted."""
    texts = (" ".join(words).encode() for words in (["a"] * 40, map(str, range(40))))
    same, other = from_text(texts, "two sentences")
    shapes = plan([same], words_per_batch=1)
    (batch,) = batches([other], Vocabulary.of([same]), shapes=shapes)
    assert len(set(batch.word_types[0].tolist())) == 40


def test_shapes_follow_how_work_grows(long_tailed: list[Sentence]) -> None:
    lengths = [len(sentence) for sentence in long_tailed]
    quadratic, cubic = (plan(long_tailed, 250, 4, growth) for growth in (2, 3))
    assert padded_work(lengths, quadratic, 2) < padded_work(lengths, cubic, 2)
    assert padded_work(lengths, cubic, 4) < padded_work(lengths, quadratic, 4)


def test_the_generator_alone_decides_the_order(train: list[Sentence], vocabulary: Vocabulary) -> None:
    first, again, other = (
        [batch.index.tolist() for batch in batches(train, vocabulary, 300, np.random.default_rng(seed))]
        for seed in (1, 1, 2)
    )
    assert first == again != other
    in_order = [len(train[i]) for batch in batches(train, vocabulary, 300) for i in batch.index if i >= 0]
    assert in_order == sorted(in_order)


def test_more_forms_than_room_close_a_batch_early(train: list[Sentence], vocabulary: Vocabulary) -> None:
    (shape,) = plan(train, 10**6, max_shapes=1)
    assert shape.sentences == len(train)
    tight = type(shape)(shape.words, shape.sentences, types=64, characters=shape.characters)
    made = batches(train, vocabulary, shapes=[tight])
    assert len(made) > 1 and sum(int((batch.index >= 0).sum()) for batch in made) == len(train)


def test_what_fits_no_shape_raises(train: list[Sentence], long_tailed: list[Sentence], vocabulary: Vocabulary) -> None:
    with pytest.raises(ValueError, match=r"sentence 1003 has 165 words, the largest shape 16; write shapes=plan"):
        batches(long_tailed, vocabulary, shapes=plan(train))
    (shape,) = plan(train, max_shapes=1)
    with pytest.raises(ValueError, match=r"distinct forms, .* has room for 2; write shapes=plan"):
        batches(train, vocabulary, shapes=[type(shape)(16, 4, types=3, characters=8)])
    with pytest.raises(ValueError, match="no sentences"):
        plan([])


def test_a_batch_goes_through_jit_as_a_pytree(train: list[Sentence], vocabulary: Vocabulary) -> None:
    traces = 0

    @jax.jit
    def real_words(batch: Batch) -> jax.Array:
        nonlocal traces
        traces += 1
        return ((batch.index >= 0) * batch.lengths).sum()

    made = batches(train, vocabulary, 300, np.random.default_rng(0))
    assert sum(int(real_words(batch)) for batch in made) == sum(map(len, train))
    assert traces == len({batch.words.shape for batch in made}) <= 8
    assert len(jax.tree.leaves(made[0])) == 13


def test_shortened_keeps_both_ends() -> None:
    assert [shortened("abcdefg", size) for size in (7, 6, 3)] == ["abcdefg", "abcefg", "abg"]
    assert [round_up(number, 4) for number in (1, 4, 5)] == [4, 4, 8]

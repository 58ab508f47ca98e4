"""Forms of the model against their definitions, word by word: distances of pairs, losses of tags."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from structdep_parser.data.batches import batches
from structdep_parser.data.demo_treebank import write_demo_treebank
from structdep_parser.data.treebank import Sentence, read
from structdep_parser.data.vocabulary import Vocabulary, full_tags
from structdep_parser.nn.distances import LIMITS, Distances
from structdep_parser.nn.tag_scorer import TagScorer, TagScores


def randomized(module: nnx.Module, seed: int = 0) -> None:
    """Random values for all of its parameters, which may begin as zeros."""
    rng, state = np.random.default_rng(seed), nnx.state(module)
    nnx.update(module, jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape), leaf.dtype), state))


def test_distances_are_classes_on_both_sides() -> None:
    rng, form = np.random.default_rng(1), Distances(5, 2)
    randomized(form)
    x, y = rng.normal(size=(2, 20, 5)).astype(np.float32), rng.normal(size=(2, 17, 5)).astype(np.float32)
    found = form.pairs(*form.of_each(x, y))
    bias, one, other = (np.asarray(p[...]) for p in (form.bias, form.one, form.other))
    assert found.shape == (2, 2, 20, 17)
    for i, j in [(0, 1), (1, 0), (0, 5), (0, 6), (16, 2), (19, 0), (3, 16), (7, 7)]:
        begun = [limit for limit in LIMITS if limit <= abs(j - i)]
        c = len(begun) - 1 + len(LIMITS) * (j < i)
        wanted = bias[:, None, c] + one[:, c] @ x[:, i].T + other[:, c] @ y[:, j].T if begun else np.zeros((2, 2))
        np.testing.assert_allclose(found[:, :, i, j], wanted, rtol=1e-4, atol=1e-5)


def test_losses_of_tags_are_those_of_each_class(tmp_path_factory: pytest.TempPathFactory) -> None:
    sentences = read(write_demo_treebank(tmp_path_factory.mktemp("demo")).train)[:7]
    vocabulary = Vocabulary.of(sentences)
    rng, scorer = np.random.default_rng(2), TagScorer(6, vocabulary, rngs=nnx.Rngs(0))

    def loss(logits: TagScores, sentence: Sentence, word: int) -> float:
        tag = full_tags(sentence)[word]
        p = 1 / (1 + np.exp(-np.asarray(logits.features)))
        has = np.array([name in tag.replace("\t", "|").split("|") for name in vocabulary.features])
        classes = (
            (logits.upos, vocabulary.upos.index(sentence.upos[word])),
            (logits.xpos, vocabulary.xpos.index(tag)),
            (logits.lemmas, vocabulary.lemmas.index(sentence.lemmas[word])),
        )
        of_classes = sum(float(np.logaddexp.reduce(each) - each[gold]) for each, gold in classes)
        return of_classes - float(np.log(np.where(has, p, 1 - p)).sum())

    for batch in batches(sentences, vocabulary):
        states = jnp.asarray(rng.normal(size=(*batch.lines.words.shape, 6)), jnp.float32)
        found, scores = scorer.loss(states, batch.gold).ravel(), scorer(states)
        for row, number in enumerate(np.asarray(batch.trees.index).tolist()):
            for word in range(len(sentences[number]) if number >= 0 else 0):
                place = int(batch.root[row]) + 1 + word
                logits = TagScores(*(np.asarray(t.reshape(-1, t.shape[-1])[place], np.float64) for t in scores))
                np.testing.assert_allclose(found[place], loss(logits, sentences[number], word), rtol=1e-4)

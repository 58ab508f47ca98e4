"""Transition parsers that are trained: what they score, what they aim at, how they decode, and what they refuse."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from training_cases import TINY, experiment, losses, scores_of, small_treebank

from structdep import transitions as tr
from structdep.trees import is_tree
from structdep_parser.choices import PARSERS
from structdep_parser.config import Config
from structdep_parser.data.treebank import Treebank, read
from structdep_parser.nn.transition_scorer import TransitionScorer
from structdep_parser.parsers.decoding import Decoding
from structdep_parser.parsers.registry import algorithm_of, check
from structdep_parser.parsers.transition_parsers import DYNAMIC, POSITIONS, SYSTEMS, TransitionParser
from structdep_parser.parsers.transition_targets import Exploration, Runs


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Treebank:
    return small_treebank(tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("part"))


QUICK = {("swap-hybrid", "dynamic", "hinge"), ("swap-standard", "static", "nll")}
TRAINED = [
    pytest.param(*choices, marks=[pytest.mark.slow] * (choices not in QUICK))
    for choices in itertools.product(SYSTEMS, ("static", "dynamic"), ("hinge", "nll"))
    if choices[1] == "static" or choices[0] in DYNAMIC
]


@pytest.mark.parametrize(("parser", "oracle", "loss"), TRAINED)
def test_a_few_steps_lower_the_loss(parser: str, oracle: str, loss: str, treebank: Treebank, tmp_path: Path) -> None:
    found = losses(treebank, tmp_path, replace(TINY, parser=parser, oracle=oracle, loss=loss), steps=16)
    assert np.isfinite(found).all() and found[-1] < 0.8 * found[0]


@pytest.mark.parametrize("features", POSITIONS)
def test_a_configuration_is_scored_by_a_layer_over_its_vectors(features: int) -> None:
    """The shares of the places add up to the layer over all of them."""
    places = POSITIONS[features]
    scorer = TransitionScorer(places, 7, 6, 5, 0.5, rngs=nnx.Rngs(0))
    states = jax.random.normal(jax.random.key(1), (2, 4, 6))
    nodes = jax.random.randint(jax.random.key(2), (5, 2, 3), 0, 4)
    seen = jnp.concatenate(
        [states[jnp.arange(2)[:, None], tr.Features(*nodes)._asdict()[place]] for place in places], axis=-1
    )
    kernel = scorer.shares.kernel[...].reshape(6, features, 5).transpose(1, 0, 2).reshape(-1, 5)
    hidden = seen @ kernel + scorer.shares.bias[...].reshape(features, 5).sum(0)
    expected = scorer.last(nnx.leaky_relu(hidden, 0.1))
    scores = scores_of(scorer, states, jnp.arange(len(states)))
    assert scores.words == 2
    np.testing.assert_allclose(scores(tr.Features(*nodes)), expected, atol=1e-5)
    np.testing.assert_allclose(scores(tr.Features(*nodes[..., 0])), expected[:, 0], atol=1e-5)


def test_dropout_is_the_same_in_all_configurations_of_a_sentence() -> None:
    scorer = TransitionScorer(("s0", "b0"), 3, 6, 50, 0.5, rngs=nnx.Rngs(0))
    scores = scores_of(scorer, jnp.ones((2, 4, 6)), jnp.array([2, 2]), nnx.Rngs(dropout=1))
    given = scores(tr.Features(*jnp.zeros((5, 2, 3), int)))
    assert (given == given[:, :1]).all() and (given[0] != given[1]).any()


@pytest.mark.parametrize("parser", ["greedy-mh4", "swap-standard"])
def test_targets_are_the_runs_of_the_sentences(treebank: Treebank, tmp_path: Path, parser: str) -> None:
    """Each row has the run of its sentence, as far as there is room; rows that fill the batch have none."""
    trainer = experiment(treebank, tmp_path, replace(TINY, parser=parser, words_per_batch=90, graft=0.5)).trainer
    system = SYSTEMS[parser]
    batches, targets = trainer.material(1)
    assert trainer.grafts
    _, trees = trainer.grafts(np.random.default_rng([TINY.seed, 1]))
    assert sorted(int(index) for batch in batches for index in batch.trees.index if index >= 0) == list(range(40))
    for batch in batches:
        target = targets(batch.trees)
        room = target.transitions.shape[1]
        for row, index in enumerate(np.asarray(batch.trees.index).tolist()):
            steps = 0
            if index >= 0:
                own = tr.sequences(tr.static_oracle(system), trees[index])
                steps = min(len(own.transitions), room)
                assert steps == len(own.transitions) or parser == "swap-standard"
                assert np.array_equal(target.transitions[row, :steps], own.transitions[:steps])
                assert np.array_equal(target.features.s1[row, :steps], own.features.s1[:steps])
                assert np.array_equal(target.best[row, :steps], own.best[:steps])
            assert not target.legal[row, steps:].any() and not target.best[row, steps:].any()


def test_explorations_have_room_for_every_run(treebank: Treebank) -> None:
    sentences = read(treebank.train)
    parser = TransitionParser("swap-hybrid")
    trees = parser.trees(sentences, None)  # type: ignore[arg-type]
    assert all(tree is sentence.heads for tree, sentence in zip(trees, sentences, strict=True))
    runs = Runs(tr.static_oracle(parser.system), trees)
    longest = max(map(len, sentences))
    assert runs.room(longest) == max(len(run.transitions) for run in runs.each) > 2 * longest
    assert runs.of(trees[:1]).room(longest) == runs.room(longest)
    assert runs.room(0) == 0 and list(map(runs.room, range(30))) == sorted(map(runs.room, range(30)))


def test_exploring_follows_the_scorer_and_leaves_no_gradient_there() -> None:
    parser = TransitionParser("greedy-mh3", positions=2)
    scorer = parser.scorer(TINY, rngs=nnx.Rngs(0))
    graph, parameters = nnx.split(scorer)
    heads = np.array([[2, 0, 2, 3]])
    target = Exploration(parser.oracle.gold(heads), 8)
    states = 5 * jax.random.normal(jax.random.key(0), (1, 6, TINY.states))

    def loss(parameters: nnx.State) -> jax.Array:
        scores = scores_of(nnx.merge(graph, parameters), states, jnp.array([4]))
        return parser.loss(scores, target, jnp.array([4]), nnx.Rngs(dropout=0)).sum()

    value, gradient = jax.jit(jax.value_and_grad(loss))(parameters)
    scores = scores_of(scorer, states, jnp.array([4]))
    found = parser._explored(scores, target, nnx.Rngs(dropout=0))
    expected = tr.losses.hinge(scores(found.features), found).sum()
    assert value == pytest.approx(float(expected), rel=1e-5) and value > 0
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


@pytest.mark.parametrize("parser", ["greedy-mh3", "swap-hybrid"])
def test_decoding_is_greedy_or_by_a_beam(parser: str) -> None:
    made, one = (TransitionParser(parser, positions=3, one_root=one_root) for one_root in (False, True))
    states = jax.random.normal(jax.random.key(0), (8, 9, TINY.states))
    lengths = jnp.arange(8)
    scores = scores_of(made.scorer(TINY, rngs=nnx.Rngs(0)), states, lengths)
    decoder = made.decoder()
    best = [decoder(scores, lengths, Decoding(beam=width))[0].heads for width in (1, 8)]
    assert np.array_equal(best[0], tr.greedy(made.system, scores, lengths, 7).heads)
    assert np.array_equal(best[1], tr.beam_search(made.system, scores, lengths, 7, 8, normalize=True).heads)
    assert (best[0] != best[1]).any() and is_tree(best[1], np.arange(8)).all() and len(decoder.programs) == 2
    for width, heads in zip((1, 8), best, strict=True):
        found = one.decoder()(scores, lengths, Decoding(beam=width))[0].heads
        assert (
            is_tree(found, lengths, single_root=True)[1:].all() and not found[lengths[:, None] <= jnp.arange(7)].any()
        )
        assert ((found == heads) | (heads == 0)).all()


@pytest.mark.parametrize("parser", PARSERS)
def test_projective_parsers_say_so(parser: str) -> None:
    assert algorithm_of(Config(parser=parser)).projective == (
        parser in ("eisner", "eisner2", "eisner2-grandparents", "mh3", "arc-eager", "greedy-mh3", "greedy-eager")
    )


def refused(wrong: Callable[[], object], *parts: str) -> None:
    with pytest.raises(ValueError) as error:
        wrong()
    assert all(part in str(error.value) for part in parts), str(error.value)


def test_what_does_not_go_together_is_refused() -> None:
    chart, greedy = Config(parser="mh3"), Config(parser="greedy-mh4")
    refused(
        lambda: algorithm_of(replace(chart, positions=3)),
        "--positions is for greedy-mh4",
        "mh3 has none",
        "leave it out",
    )
    refused(lambda: algorithm_of(replace(chart, oracle="static")), "--oracle is for greedy-mh4", "leave it out")
    refused(
        lambda: algorithm_of(replace(greedy, oracle="dynamic")), "greedy-mh4 has none, greedy-mh3", "--oracle static"
    )
    refused(lambda: algorithm_of(replace(greedy, positions=5)), "--positions 5", "2, 3 or 4")
    refused(lambda: algorithm_of(replace(greedy, pseudo_projective="head")), "greedy-mh4 has crossing arcs", "eisner")
    refused(lambda: check(chart, Decoding(beam=8)), "--beam 8", "leave --beam out")
    refused(
        lambda: check(greedy, Decoding(confidence=True)), "--confidence: that takes", "mh4 does not make", "mh4-hybrid"
    )
    refused(lambda: check(greedy, Decoding("mbr", True)), "--decode mbr and --confidence")
    refused(lambda: check(greedy, Decoding(known=True, k_best=2)), "--k-best and --constraints")
    refused(lambda: check(chart, Decoding(k_best=0)), "--k-best 0", "at least 1")
    refused(lambda: check(chart, Decoding("mbr", k_best=2)), "--k-best with --decode mbr", "leave one of them out")
    refused(lambda: check(greedy, Decoding(beam=0)), "--beam 0", "at least 1")
    lifted = replace(chart, pseudo_projective="head")
    refused(lambda: check(lifted, Decoding(confidence=True)), "--confidence with --pseudo-projective")
    check(lifted, Decoding("mbr"))
    check(greedy, Decoding(beam=8))


def test_a_sentence_with_two_roots_is_refused_where_there_may_be_one() -> None:
    targets = Runs(tr.static_oracle(SYSTEMS["swap-hybrid"]), [np.array([0, 0])])
    refused(lambda: targets.room(2), "one word must have head 0")

"""The boundary: what is refused, with what came, what was expected and what to write; types; what compiles when."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import LENGTHS, each_chart, some_tables

import structdep as sd
from structdep._engines import primitive
from structdep.charts import arc_eager, arc_hybrid, eisner, mhk, one_endpoint_crossing
from structdep.deduction import DeductionSystem
from structdep.spanning import all_trees
from structdep.testing import LOG, value
from structdep.trees.classes import System

ARCS = np.zeros((2, 4, 4), np.float32)
TRANSITIONS = arc_hybrid(transitions=True)
PAIRS = np.zeros((2, 5, 5), np.float32)
LABELLED = {"arc": ARCS, "label": np.zeros((2, 4, 4, 2), np.float32)}
HEADS = np.array([[2, 0, 2], [0, 1, 1]])
NO_TREE = np.array([[2, 0, 2], [2, 1, 0]])


def inside(scores: Any, lengths: Any = None, system: System = eisner(), kind: Any = sd.MaxPlus) -> Any:  # noqa: B008
    return sd.inside(system, scores, lengths, kind)


REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "scores for a system": (
        lambda: sd.inside(ARCS, eisner()),  # type: ignore[arg-type]
        TypeError,
        "ndarray is no class of trees: give a system from structdep.charts",
    ),
    "a constructor for a system": (
        lambda: sd.argmax(sd.charts.arc_hybrid, ARCS),  # type: ignore[arg-type]
        TypeError,
        r"arc_hybrid is a function, no class of trees: write structdep.charts.arc_hybrid\(\)",
    ),
    "no square": (
        lambda: inside(ARCS[..., :3]),
        ValueError,
        r"scores 'arc' have shape \(2, 4, 3\), expected \[\*batch, n\+1, n\+1\] with n >= 1 words: .*row 0 the root",
    ),
    "a vector": (lambda: inside(ARCS[0, 0]), ValueError, r"have shape \(4,\), expected \[\*batch, n\+1, n\+1\]"),
    "a number": (lambda: inside(1.0), ValueError, r"have shape \(\), expected \[\*batch, n\+1, n\+1\]"),
    "no words": (lambda: inside(ARCS[:, :1, :1]), ValueError, r"have shape \(2, 1, 1\), expected .* n >= 1 words"),
    "integers": (
        lambda: inside(ARCS.astype(int)),
        TypeError,
        r"scores 'arc' must be floating point, not int32: write scores.astype\(jnp.float32\)",
    ),
    "no tables": (lambda: inside({}), ValueError, r"eisner: no scores given: give an array .* some of \['arc'\]"),
    "an unknown table": (
        lambda: inside({"arcs": ARCS}),
        ValueError,
        r"eisner has no score 'arcs', it declares \['arc'\]$",
    ),
    "transitions without transitions": (
        lambda: inside({"arc": ARCS, "shift": PAIRS}, system=arc_hybrid()),
        ValueError,
        r"arc_hybrid has no score 'shift', it declares \['arc'\]: build the system with transitions=True",
    ),
    "an unknown transition": (
        lambda: inside({"la2": PAIRS}, system=TRANSITIONS),
        ValueError,
        r"arc_hybrid_transitions has no score 'la2', it declares \['arc', 'la', 'la:full', 'la:s1', .*'shift'\]",
    ),
    "a table without sentinel": (
        lambda: inside({"arc": ARCS, "shift": ARCS}, system=TRANSITIONS),
        ValueError,
        r"scores 'arc' \(2, 4, 4\) and 'shift' \(2, 4, 4\) do not fit: .* tables of transitions have n\+2 positions",
    ),
    "a table of another batch": (
        lambda: inside({"shift": PAIRS, "la": PAIRS[0]}, system=TRANSITIONS),
        ValueError,
        r"scores 'shift' \(2, 5, 5\) and 'la' \(5, 5\) do not fit: batch and words are \(\(2,\), 3\) and \(\(\), 3\)",
    ),
    "a full table that is none": (
        lambda: inside({"la:full": PAIRS}, system=TRANSITIONS),
        ValueError,
        r"scores 'la:full' have shape \(2, 5, 5\), expected \[\*batch, n\+2, n\+2, n\+2\]",
    ),
    "lengths beyond the scores": (
        lambda: inside(ARCS, np.array([3, 4])),
        ValueError,
        r"lengths go from 3 to 4, but scores have room for 0 to 3 words \(the root does not count\)",
    ),
    "negative lengths": (lambda: inside(ARCS, [-1, 2]), ValueError, "lengths go from -1 to 2, .* 0 to 3 words"),
    "fractional lengths": (
        lambda: inside(ARCS, np.array([3.0, 2.0])),
        TypeError,
        r"lengths must be integers \(numbers of words\), not float",
    ),
    "lengths of another batch": (
        lambda: inside(ARCS, np.array([3])),
        ValueError,
        r"lengths have shape \(1,\), the scores' batch is \(2,\): give the number of words of each sentence",
    ),
    "too few heads an item": (lambda: sd.mhk(ARCS, k=2), ValueError, "k >= 3 heads an item, not 2: .* mhk.4. is usual"),
    "decoding a sum": (
        lambda: sd.argmax(eisner(), ARCS, semiring=sd.LogSum),
        ValueError,
        "argmax needs a semiring with a best derivation: MaxPlus, say, not LogSum",
    ),
    "no semiring": (lambda: inside(ARCS, kind="max"), TypeError, "'max' is no semiring: write structdep.MaxPlus"),
    "no best derivations": (lambda: sd.KBest(0), ValueError, "the k best derivations are one or more, not 0"),
    "gold heads of another batch": (
        lambda: inside(ARCS, kind=sd.CostAugmented(jnp.array(HEADS[0]))),
        ValueError,
        r"gold_heads have shape \(3,\), expected \[\*batch, n\] for arc scores of shape \(2, 4, 4\)",
    ),
    "too many gold heads": (
        lambda: inside(ARCS, kind=sd.CostAugmented(np.zeros((2, 4), int))),
        ValueError,
        r"gold_heads have shape \(2, 4\), expected \[\*batch, n\] for arc scores of shape \(2, 4, 4\)",
    ),
    "too few gold heads": (
        lambda: inside(ARCS, kind=sd.CostAugmented(np.zeros((2, 1), int))),
        ValueError,
        r"gold_heads have shape \(2, 1\), expected \[\*batch, n\]",
    ),
    "gold heads that are no integers": (
        lambda: inside(ARCS, kind=sd.CostAugmented(np.zeros((2, 3)))),
        TypeError,
        "gold_heads must be integers .the head of each word., not float",
    ),
    "a hinge loss of no tree": (
        lambda: sd.losses.hinge(eisner(), ARCS, NO_TREE),
        ValueError,
        r"sentence 1: heads \[2, 1, 0\] are no tree: .* goes round in 1 -> 2 -> 1",
    ),
    "a likelihood of no tree": (
        lambda: sd.losses.nll(eisner(), ARCS, NO_TREE),
        ValueError,
        r"sentence 1: heads \[2, 1, 0\] are no tree",
    ),
    "heads that do not fit the scores": (
        lambda: sd.losses.nll(eisner(), ARCS, HEADS[:, :2] * 0),
        ValueError,
        r"heads have shape \(2, 2\), expected \(2, 3\): one head for each word of scores \(2, 4, 4\)",
    ),
    "heads and lengths that do not fit the scores": (
        lambda: sd.losses.risk(eisner(), ARCS, HEADS[:, :2] * 0, LENGTHS[:2]),
        ValueError,
        r"heads have shape \(2, 2\), expected \(2, 3\)",
    ),
    "a semiring in the place of lengths": (
        lambda: sd.eisner(ARCS, sd.LogSum),  # type: ignore[arg-type]
        TypeError,
        r"lengths are numbers of words, not <class '.*LogSum'>: write semiring=",
    ),
    "half a derivation": (lambda: sd.KBest(1.5), TypeError, "derivations are a whole number, not 1.5"),  # type: ignore[arg-type]
    "integers for marginals": (
        lambda: sd.marginals(eisner(), ARCS.astype(int)),
        TypeError,
        "scores 'arc' must be floating point, not int32",
    ),
    "labels of other sentences": (
        lambda: inside({"arc": ARCS, "label": np.zeros((2, 3, 3, 5), np.float32)}),
        ValueError,
        r"scores 'label' have shape \(2, 3, 3, 5\), expected \(2, 4, 4\) and labels: .* up to 3 words",
    ),
    "no labels": (
        lambda: inside({"arc": ARCS, "label": np.zeros((2, 4, 4, 0), np.float32)}),
        ValueError,
        r"scores 'label' have shape \(2, 4, 4, 0\), expected \[\*batch, n\+1, n\+1, labels\]",
    ),
    "quantities without a name": (
        lambda: inside(ARCS, kind=sd.Expectation(ARCS)),  # type: ignore[arg-type]
        TypeError,
        r'quantities are tables by name, such as {"arc": \.\.}, not ndarray',
    ),
    "quantities of what is not scored": (
        lambda: inside(ARCS, kind=sd.SingleRoot(sd.Pair(sd.LogSum, sd.Expectation({"arcs": ARCS})))),
        ValueError,
        r"has numbers for \['arcs'\], but scored are \['arc'\]",
    ),
    "quantities of other sentences": (
        lambda: inside(ARCS, kind=sd.Expectation({"arc": ARCS[:, :2, :2]})),
        ValueError,
        r"quantities 'arc' have shape \(2, 2, 2\), expected that of the scores",
    ),
    "a direction of another shape": (
        lambda: sd.TreeDistribution(eisner(), ARCS).covariance(ARCS[0]),
        ValueError,
        r"a direction has the shape of the scores, \(2, 4, 4\), not \(4, 4\)",
    ),
    "labels for other trees": (
        lambda: sd.TreeDistribution(eisner(), LABELLED).score(sd.Labelled(HEADS, HEADS[:, :2])),
        ValueError,
        r"labels have shape \(2, 2\), expected \(2, 3\): one for each word",
    ),
    "a divergence from other labels": (
        lambda: sd.TreeDistribution(eisner(), LABELLED).kl_divergence(
            sd.TreeDistribution(eisner(), {"label": LABELLED["label"][..., :1]})
        ),
        ValueError,
        "not of the same labels: one distribution scores 2, the other 1",
    ),
    "a divergence from no labels": (
        lambda: sd.TreeDistribution(eisner(), ARCS).kl_divergence(sd.TreeDistribution(eisner(), LABELLED)),
        ValueError,
        "not of the same labels: one distribution scores 0, the other 2",
    ),
    "a divergence of derivations from trees": (
        lambda: sd.TreeDistribution(arc_hybrid(), ARCS, over="derivations").kl_divergence(
            sd.TreeDistribution(eisner(), ARCS)
        ),
        ValueError,
        "not over the same derivations: arc_hybrid and eisner; compare two distributions of one system, or",
    ),
    "labels that are no whole numbers": (
        lambda: sd.TreeDistribution(eisner(), LABELLED).log_prob(sd.Labelled(HEADS, HEADS / 2)),
        TypeError,
        "labels must be integers, -1 where not known, not float",
    ),
    "attachment to one tree too few": (
        lambda: sd.TreeDistribution(eisner(), ARCS).expected_attachment(HEADS[:, :2]),
        ValueError,
        r"heads have shape \(2, 2\), expected \(2, 3\)",
    ),
    "weights of other sentences": (
        lambda: sd.losses.hinge(eisner(), ARCS, HEADS, weight=jnp.ones(4)),
        ValueError,
        r"weight has shape \(4,\), expected a number, or one for each sentence, \(2,\)",
    ),
    "an oracle of unknown scores": (
        lambda: value(eisner(), 3, {"arcs": ARCS[0]}, LOG),
        ValueError,
        r"eisner has no scores \['arcs'\], it declares \['arc'\]",
    ),
    "less than no samples": (
        lambda: sd.TreeDistribution(eisner(), ARCS).sample(jax.random.key(0), -1),
        ValueError,
        "the trees to draw are none or more, not -1",
    ),
    "labelled trees without scores of labels": (
        lambda: sd.TreeDistribution(eisner(), ARCS).score(sd.Labelled(HEADS, HEADS)),
        ValueError,
        "trees have labels, but no scores are named 'label': give their heads alone",
    ),
    "one tree for two sentences": (
        lambda: sd.losses.nll(eisner(), ARCS, HEADS[0]),
        ValueError,
        r"heads have shape \(3,\), expected \(2, 3\)",
    ),
    "nearest to no tree": (lambda: sd.nearest_tree(eisner(), [2, 1]), ValueError, r"heads \[2, 1\] are no tree"),
    "nearest to a head outside": (
        lambda: sd.nearest_tree(eisner(), [0, 7]),
        ValueError,
        r"heads \[0, 7\] are no tree: word 2 has head 7, expected one of 0 \(the root\) to 2",
    ),
    "nearest to scores": (
        lambda: sd.nearest_tree(eisner(), ARCS[0, 0]),
        TypeError,
        "heads must be integers, not float32",
    ),
}


@pytest.mark.parametrize(("call", "error", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_bad_input_is_refused(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("system", [eisner(), all_trees()], ids=["eisner", "all trees"])
def test_a_batch_of_nothing_has_no_results(system: System) -> None:
    none, lengths, key = jnp.zeros((0, 4, 4)), jnp.zeros(0, int), jax.random.key(0)
    assert sd.inside(system, none, lengths, sd.LogSum).shape == (0,)
    for single_root in (False, True):
        trees = sd.TreeDistribution(system, none, lengths, single_root=single_root)
        assert trees.argmax().shape == trees.sample(key, 2)[0].shape == (0, 3)  # type: ignore[union-attr]
        assert trees.max().shape == trees.entropy().shape == (0,) and trees.marginals().shape == none.shape
        assert trees.k_best(2).heads.shape == (2, 0, 3)


@pytest.mark.parametrize("loss", [sd.losses.hinge, sd.losses.nll, sd.losses.softmax_margin, sd.losses.risk])
def test_sentences_without_words_lose_nothing_and_forbidden_trees_no_derivative(loss: Callable[..., jax.Array]) -> None:
    system, lengths = eisner(single_root=True), np.array([3, 0])
    with_none, alone = loss(system, ARCS, HEADS, lengths), loss(system, ARCS[0], HEADS[0])
    assert with_none.tolist() == [float(alone), 0]
    scores = ARCS.copy()
    scores[0, 0, 2] = scores[1] = -np.inf
    with jax.debug_nans(True):
        value, gradient = jax.value_and_grad(lambda s: loss(system, s, HEADS).sum())(scores)
    assert (3 < value < 6 if loss is sd.losses.risk else value == np.inf) and np.isfinite(gradient).all()


def test_lists_and_tuples_are_arrays() -> None:
    scores, heads = np.random.default_rng(1).normal(size=(2, 4, 4)).astype(np.float32), np.array([HEADS, 0 * HEADS])
    expected = sd.TreeDistribution(eisner(), scores, np.array([3, 1])).score(heads)
    for lengths in ([3, 1], (3, 1)):
        np.testing.assert_array_equal(sd.TreeDistribution(eisner(), scores, lengths).score(heads), expected)
    listed = sd.TreeDistribution(eisner(), scores.tolist())
    np.testing.assert_array_equal(listed.marginals(), sd.marginals(eisner(), scores))
    np.testing.assert_array_equal(listed.covariance(scores.tolist()), replace(listed, scores=scores).covariance(scores))


def test_shapes_and_types_are_refused_inside_jit_too() -> None:
    with pytest.raises(ValueError, match=r"have shape \(2, 4, 3\)"):
        jax.jit(inside)(ARCS[..., :3])
    with pytest.raises(TypeError, match="lengths must be integers"):
        jax.jit(inside)(ARCS, LENGTHS[:2] * 1.0)


def test_lengths_that_jit_does_not_trace_are_checked() -> None:
    """Arrays that a compiled function closes over are known when it is traced."""
    assert jnp.array_equal(jax.jit(lambda s: inside(s, jnp.array([3, 2])))(ARCS), jnp.zeros(2))
    lengths = jnp.array([3, 4])
    with pytest.raises(ValueError, match="lengths go from 3 to 4, but scores have room for 0 to 3 words"):
        jax.jit(lambda s: inside(s, lengths))(ARCS)


def test_nan_scores_are_refused_where_jax_debugs_nans() -> None:
    scores = ARCS.copy()
    scores[1, 2, 3] = scores[1, 3, 1] = np.nan
    with (
        jax.debug_nans(True),
        pytest.raises(ValueError, match=r"'arc' hold 2 NaN or .inf, the first at \[1, 2, 3\]: forbid .*-inf"),
    ):
        inside(scores)
    with jax.debug_nans(True):
        assert np.isfinite(sd.marginals(eisner(), ARCS)).all()


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize(
    "system", [eisner(), pytest.param(mhk(4), marks=pytest.mark.slow), all_trees()], ids=lambda system: system.name
)
def test_what_is_no_score_gives_nan_and_no_tree(system: System, wrong: float) -> None:
    scores = np.zeros((2, 4, 4), np.float32)
    scores[0, 2, 1] = wrong
    scores[1, 1, 3] = scores[1, 1, 1] = wrong  # in padding, and no arc
    lengths = np.array([3, 2])
    for semiring in (sd.MaxPlus, sd.LogSum, sd.KBest(2)):
        found = np.asarray(inside(scores, lengths, system, semiring))
        assert np.isnan(found[0]).all() and np.isfinite(found[1]).all()
    likely = scores.copy()
    likely[0, 0, 1] = 5.0  # the best tree of numbers does not have the arc whose score is none
    arcs = jax.grad(lambda s: inside(s, lengths, system, sd.MaxPlus).sum())(likely)
    assert not arcs[0].any() and arcs[1].sum() == 2
    best, drawn = sd.argmax(system, scores, lengths), sd.sample(system, scores, jax.random.key(0), lengths)
    for heads in (best, drawn):
        assert heads[0].tolist() == [-1, -1, -1] and heads[1].min() == 0
    risk = sd.TreeDistribution(system, scores, lengths, over="derivations").minimum_risk()
    assert risk[0].tolist() == [-1, -1, -1] and risk[1].min() == 0
    assert (sd.TreeDistribution(system, scores, lengths, over="derivations").k_best(2).heads[:, 0] == -1).all()


def test_sums_that_overflow_give_no_tree() -> None:
    scores = np.full((2, 4, 4), 2e38, np.float32)
    assert sd.argmax(eisner(), scores, np.array([3, 1])).tolist() == [[-1, -1, -1], [0, 0, 0]]


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.float32])
def test_values_are_float32_and_gradients_have_the_type_of_the_scores(dtype: Any) -> None:
    scores = jnp.asarray(np.random.default_rng(0).normal(size=(2, 4, 4)), dtype)
    for kind in (sd.MaxPlus, sd.LogSum):
        values, gradient = jax.value_and_grad(lambda s, kind=kind: inside(s, kind=kind).sum())(scores)
        assert values.dtype == jnp.float32 and gradient.dtype == dtype
        assert jnp.array_equal(inside(scores, kind=kind), inside(scores.astype(jnp.float32), kind=kind))
    assert sd.marginals(eisner(), scores).dtype == jnp.float32
    assert sd.losses.hinge(eisner(), scores, HEADS).dtype == sd.losses.nll(eisner(), scores, HEADS).dtype == jnp.float32


def test_double_precision() -> None:
    with jax.enable_x64(True):
        scores = np.random.default_rng(0).normal(size=(2, 4, 4)) * 100
        for system in (eisner(), arc_hybrid()):
            found, gradient = jax.value_and_grad(lambda s, system=system: inside(s, None, system, sd.LogSum).sum())(
                scores
            )
            assert found.dtype == gradient.dtype == jnp.float64
            np.testing.assert_allclose(found, sum(value(system, 3, s, LOG) for s in scores), rtol=1e-13)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                heads = sd.argmax(system, scores, single_root=True)
            assert jnp.array_equal(heads, sd.argmax(system, scores.astype(np.float32), single_root=True))


@each_chart
def test_equal_systems_semirings_and_shapes_share_one_compilation(system: DeductionSystem) -> None:
    again = replace(system)
    scores = some_tables(system)["arc"]
    sd.inside(system, scores, LENGTHS, sd.LogSum)
    before = programs()
    sd.inside(again, scores + 1, LENGTHS[::-1].copy(), sd.LogSum())
    sd.inside(system, {"arc": scores.reshape(2, 3, *scores.shape[1:])}, LENGTHS.reshape(2, 3), sd.Counting)
    sd.inside(again, scores.astype(jnp.bfloat16), None, sd.LogSum)
    assert programs() == before


def programs() -> int:
    """How many programs have been compiled that fill charts."""
    return int(primitive._asked._cache_size())  # type: ignore[attr-defined]


def test_a_program_is_traced_once_a_shape() -> None:
    traced = []

    @jax.jit
    def parse(scores: jax.Array, lengths: jax.Array) -> jax.Array:
        traced.append(scores.shape)
        return sd.inside(arc_eager(), scores, lengths, sd.LogSum)

    for words in (4, 5, 4, 5):
        scores = jnp.zeros((3, words + 1, words + 1))
        parse(scores, jnp.array([words, 1, 0]))
        parse(scores + 1, jnp.array([1, 2, words]))
    assert traced == [(3, 5, 5), (3, 6, 6)]


def test_transition_scores_choose_the_system_of_transitions() -> None:
    assert sd.mhk({"shift": PAIRS}, k=4).shape == (2,)
    assert jnp.array_equal(sd.mhk({"arc": ARCS}, k=3), inside(ARCS, system=mhk(3)))


def test_labels_choose_no_system_of_transitions() -> None:
    """They are of arcs, so where arcs alone can be scored, they can."""
    labelled = {"arc": ARCS, "label": np.ones((2, 4, 4, 3), np.float32)}
    assert jnp.array_equal(sd.mhk(labelled, k=5), [3, 3])
    assert jnp.array_equal(sd.one_endpoint_crossing(labelled), inside(labelled, system=one_endpoint_crossing()))

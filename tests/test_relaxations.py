"""Relaxations and gradient estimators: limits, derivatives, masks, and sentences without a tree."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from enumeration import arcs as arcs_of_trees
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import norm

import structdep as sd
from structdep.trees.classes import System

relaxations = sd.relaxations
N = 4
LENGTHS = np.array([4, 3, 1, 0], np.int32)
KEY = jax.random.key(7)
SYSTEMS = [sd.charts.eisner(), sd.charts.mh4_trees(), sd.spanning.all_trees(), sd.charts.eisner(True)]
each_system = pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
Relaxed = Callable[[System, jax.Array, Any], jax.Array]

RELAXED: dict[str, Relaxed] = {
    "marginals": lambda system, scores, lengths: relaxations.marginals(system, scores, lengths, 0.5),
    "stochastic softmax": lambda system, scores, lengths: relaxations.stochastic_softmax(system, scores, KEY, lengths),
    "sparsemap": lambda system, scores, lengths: relaxations.sparsemap(system, scores, lengths).arcs,
    "perturbed": lambda system, scores, lengths: relaxations.perturbed(system, scores, KEY, lengths, samples=4),
    "perturbed, gumbel": lambda system, scores, lengths: relaxations.perturbed(
        system, scores, KEY, lengths, samples=4, noise="gumbel"
    ),
    "straight-through": lambda system, scores, lengths: relaxations.straight_through(system, scores, lengths),
    "straight-through marginals": lambda system, scores, lengths: relaxations.straight_through(
        system, scores, lengths, relaxed=relaxations.marginals(system, scores, lengths)
    ),
    "spigot": lambda system, scores, lengths: relaxations.spigot(system, scores, lengths, 0.5),
    "blackbox": lambda system, scores, lengths: relaxations.blackbox(system, scores, lengths, 2.0),
    "implicit MLE": lambda system, scores, lengths: relaxations.implicit_mle(system, scores, KEY, lengths, 2.0),
}
each_relaxation = pytest.mark.parametrize("name", RELAXED)


@cache
def some_scores(words: int = N) -> jax.Array:
    scores = jax.random.normal(jax.random.key(1), (len(LENGTHS), words + 1, words + 1))
    return scores.at[0, 2, 1].set(-jnp.inf)


def weights_like(scores: jax.Array) -> jax.Array:
    return jax.random.normal(jax.random.key(2), scores.shape)


def gradient(name: str, system: System, scores: jax.Array, lengths: Any, weights: jax.Array) -> jax.Array:
    return jax.grad(lambda s: jnp.sum(weights * RELAXED[name](system, s, lengths)))(scores)


@each_relaxation
def test_relaxed_arcs_are_means_of_trees_and_transformations_leave_them(name: str) -> None:
    """Each word has one head in all; masked and padded arcs are 0 and have no gradient; jit and vmap change nothing."""
    system, scores, relaxed = sd.charts.eisner(), some_scores(), RELAXED[name]
    arcs = jax.jit(lambda s, l: relaxed(system, s, l))(scores, LENGTHS)
    is_word = np.arange(1, N + 1) <= LENGTHS[:, None]
    np.testing.assert_allclose(arcs.sum(1)[:, 1:], is_word, atol=1e-5)
    assert (np.asarray(arcs) >= -1e-6).all() and arcs[0, 2, 1] == 0
    slopes = jax.jit(lambda s, l, w: gradient(name, system, s, l, w))(scores, LENGTHS, weights_like(scores))
    assert jnp.isfinite(slopes).all() and slopes[0, 2, 1] == 0 and not slopes[:, :, 0].any() and not slopes[3].any()
    padding = ~is_word
    assert not np.asarray(slopes[:, :, 1:]).swapaxes(1, 2)[padding].any()
    if "softmax" not in name and "perturbed" not in name and "MLE" not in name:  # the same noise for other shapes
        mapped = jax.vmap(lambda s, l: relaxed(system, s, l))(scores, LENGTHS)
        np.testing.assert_allclose(mapped, arcs, atol=1e-5)
        np.testing.assert_allclose(relaxed(system, scores[1, :4, :4], None), arcs[1, :4, :4], atol=1e-5)


@each_relaxation
def test_a_sentence_without_any_tree_gives_zeros(name: str) -> None:
    scores = some_scores().at[1, :, 2].set(-jnp.inf)
    system, weights = sd.charts.eisner(), weights_like(scores)
    assert not jnp.asarray(RELAXED[name](system, scores, LENGTHS))[1].any()
    slopes = gradient(name, system, scores, LENGTHS, weights)
    assert jnp.isfinite(slopes).all() and not slopes[1].any()


@each_system
def test_sparsemap_is_the_nearest_point_of_the_hull(system: System) -> None:
    """Against a quadratic program over all trees, and by its optimality condition."""
    scores = 1.5 * jax.random.normal(jax.random.key(3), (6, N + 1, N + 1))
    found = jax.jit(lambda s: relaxations.sparsemap(system, s))(scores)
    vertices = arcs_of_trees(system, N).reshape(-1, (N + 1) ** 2).astype(float)
    np.testing.assert_allclose(found.weights.sum(-1), 1, atol=1e-5)
    assert (np.asarray(found.weights) >= 0).all()
    for row, target in enumerate(np.asarray(scores, float).reshape(6, -1)):
        y = np.asarray(found.arcs[row], float).ravel()
        assert ((vertices - y) @ (target - y)).max() < 1e-4
        np.testing.assert_allclose(y, nearest(vertices, target), atol=2e-3)


def nearest(vertices: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    gram, values = vertices @ vertices.T, vertices @ target
    start = np.full(len(vertices), 1 / len(vertices))
    solution = minimize(
        lambda w: w @ gram @ w / 2 - w @ values,
        start,
        jac=lambda w: gram @ w - values,
        bounds=[(0, 1)] * len(vertices),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones_like(w)},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    point: NDArray[np.float64] = solution.x @ vertices
    return point


@pytest.mark.parametrize(
    "system", [sd.charts.eisner(), sd.charts.mhk(4), sd.spanning.all_trees()], ids=lambda s: s.name
)
def test_sparsemap_of_longer_sentences_meets_its_optimality_condition(system: System) -> None:
    lengths = np.array([20, 13])
    scores = jax.random.normal(jax.random.key(4), (2, 21, 21))
    found = relaxations.sparsemap(system, scores, lengths)
    rest = scores - found.arcs
    inner = jnp.sum(jnp.where(found.arcs > 0, rest * found.arcs, 0), (1, 2))
    assert (sd.inside(system, rest, lengths) - inner < 1e-3).all()
    assert (jnp.sum(found.weights > 0, -1) > 1).all()


@each_system
def test_the_derivative_of_sparsemap(system: System) -> None:
    """It is linear between changes of its trees: differences are exact."""
    scores = jax.random.normal(jax.random.key(5), (5, N + 1, N + 1))
    direction = jax.random.normal(jax.random.key(6), scores.shape)

    @jax.jit
    def arcs(s: jax.Array) -> jax.Array:
        return relaxations.sparsemap(system, s).arcs

    step = 2e-3
    after, before = arcs(scores + step * direction), arcs(scores - step * direction)
    _, tangent = jax.jvp(arcs, (scores,), (direction,))
    same = ((after > 0) == (before > 0)).all((1, 2))
    assert same.sum() >= 3
    np.testing.assert_allclose(tangent[same], ((after - before) / (2 * step))[same], atol=5e-3)
    weights = weights_like(scores)
    pulled = jax.grad(lambda s: jnp.sum(weights * arcs(s)))(scores)
    assert float(jnp.sum(pulled * direction)) == pytest.approx(float(jnp.sum(tangent * weights)), abs=1e-4)


def test_few_trees_are_a_worse_mean_not_an_error() -> None:
    scores = 0.1 * jax.random.normal(jax.random.key(8), (9, 9))
    few, many = (relaxations.sparsemap(sd.charts.eisner(), scores, max_trees=k) for k in (2, 18))
    assert (few.weights > 0).sum() <= 2 < (many.weights > 0).sum()
    assert jnp.sum((few.arcs - scores) ** 2) > jnp.sum((many.arcs - scores) ** 2)


def test_low_temperatures_give_the_best_tree() -> None:
    system, scores = sd.charts.mh4_trees(), some_scores()
    best = sd.trees.heads_to_arcs(sd.argmax(system, scores, LENGTHS), LENGTHS).astype(float)
    np.testing.assert_allclose(relaxations.marginals(system, scores, LENGTHS, 1e-3), best, atol=1e-5)
    np.testing.assert_allclose(relaxations.sparsemap(system, scores / 1e-2, LENGTHS).arcs, best, atol=1e-5)
    np.testing.assert_allclose(relaxations.perturbed(system, scores, KEY, LENGTHS, 1e-3), best, atol=1e-5)
    np.testing.assert_allclose(relaxations.straight_through(system, scores, LENGTHS), best)


def test_temperatures_of_sentences() -> None:
    system, scores = sd.charts.eisner(), some_scores()[:2]
    both = relaxations.marginals(system, scores, LENGTHS[:2], jnp.array([0.5, 2.0]))
    for row, temperature in enumerate((0.5, 2.0)):
        expected = sd.marginals(system, scores[row] / temperature, LENGTHS[row])
        np.testing.assert_allclose(both[row], expected, atol=1e-5)


def probabilities(scores: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    """Of the trees [0, 0], [2, 0], [0, 1] to be the best with normal noise on arcs, by integration."""
    u, v = scores[2, 1] - scores[0, 1], scores[1, 2] - scores[0, 2]  # what the second and third gain over the first
    wide, grid = sigma * np.sqrt(2), np.linspace(-12, 12, 40001)
    first = norm.cdf(0, u, wide) * norm.cdf(0, v, wide)
    positive = grid[grid > 0]
    second = np.trapezoid(norm.pdf(positive, u, wide) * norm.cdf(positive, v, wide), positive)
    return np.array([first, second, 1 - first - second])


def test_perturbed_trees_and_their_derivatives_are_unbiased() -> None:
    scores, sigma = np.array([[0, 0.3, -0.2], [0, 0, 0.4], [0, 0.1, 0]]), 0.7
    trees = arcs_of_trees(sd.charts.eisner(), 2)[[0, 2, 1], :3, :3].astype(float)
    assert [heads.tolist() for heads in sd.trees.arcs_to_heads(trees)] == [[0, 0], [2, 0], [0, 1]]
    weights = np.random.default_rng(0).normal(size=(3, 3))
    values = (trees * weights).sum((1, 2))

    def estimate(s: jax.Array) -> jax.Array:
        return jnp.sum(weights * relaxations.perturbed(sd.charts.eisner(), s, KEY, sigma=sigma, samples=40_000))

    value, slopes = jax.value_and_grad(estimate)(jnp.asarray(scores, jnp.float32))
    assert float(value) == pytest.approx(values @ probabilities(scores, sigma), abs=0.02)
    for head, dependent in ((0, 1), (2, 1), (0, 2), (1, 2)):
        step = np.zeros((3, 3))
        step[head, dependent] = 1e-3
        exact = values @ (probabilities(scores + step, sigma) - probabilities(scores - step, sigma)) / 2e-3
        assert float(slopes[head, dependent]) == pytest.approx(exact, abs=0.04)


@pytest.mark.parametrize("k_best", [0, 2])
def test_score_function_estimates_are_unbiased(k_best: int) -> None:
    system, scores = sd.charts.eisner(), jax.random.normal(jax.random.key(9), (N, N))
    table = jax.random.normal(jax.random.key(10), (N, N))

    def loss(heads: jax.Array) -> jax.Array:
        return jnp.sum(table[heads, jnp.arange(1, N)], -1) ** 2

    def expected(s: jax.Array) -> jax.Array:
        trees = jnp.asarray(arcs_of_trees(system, N - 1)[:, :N, :N])
        return jax.nn.softmax((trees * s).sum((1, 2))) @ (trees * table).sum((1, 2)) ** 2

    def estimate(s: jax.Array, key: jax.Array) -> jax.Array:
        return relaxations.score_function(system, s, loss, key, samples=4, k_best=k_best)

    keys = jax.random.split(KEY, 3000)
    values, slopes = jax.jit(jax.vmap(jax.value_and_grad(estimate), (None, 0)))(scores, keys)
    exact, exact_slopes = jax.value_and_grad(expected)(scores)
    error = values.std() / np.sqrt(len(keys))
    assert abs(float(values.mean() - exact)) < 4 * float(error) + 1e-5
    errors = slopes.std(0) / np.sqrt(len(keys))
    assert (jnp.abs(slopes.mean(0) - exact_slopes) < 4.5 * errors + 1e-4).all()


def test_score_functions_of_all_trees_by_the_best_ones_are_exact() -> None:
    """Two words have three trees."""
    system, scores, lengths = sd.charts.eisner(), some_scores()[1:, :3, :3], np.array([2, 1, 0])
    heads = np.array([[0, 1], [0, 0], [0, 0]])
    gold = sd.trees.heads_to_arcs(heads, lengths)

    def loss(heads: jax.Array) -> jax.Array:
        return jnp.sum(~sd.trees.heads_to_arcs(heads, lengths) & gold, (-2, -1))

    def estimate(s: jax.Array) -> jax.Array:
        return relaxations.score_function(system, s, loss, KEY, lengths, k_best=3)

    def risk(s: jax.Array) -> jax.Array:
        return sd.losses.risk(system, s, heads, lengths)

    both = jax.jit(jax.value_and_grad(lambda s: estimate(s).sum()))
    value, slopes = both(scores)
    expected, expected_slopes = jax.value_and_grad(lambda s: risk(s).sum())(scores)
    np.testing.assert_allclose(value, expected, atol=1e-5)
    np.testing.assert_allclose(slopes, expected_slopes, atol=1e-5)
    value, slopes = both(scores.at[0, :, 2].set(-jnp.inf))
    assert jnp.isfinite(value) and not slopes[0].any()


def test_gradients_of_hard_trees_follow_their_definitions() -> None:
    system, scores, weights = sd.charts.mhk(4), some_scores(), weights_like(some_scores())
    best = RELAXED["straight-through"](system, scores, LENGTHS)
    marginal = jax.grad(lambda s: jnp.sum(weights * sd.marginals(sd.charts.eisner(), s, LENGTHS)))(scores)
    ours = gradient("straight-through marginals", sd.charts.eisner(), scores, LENGTHS, weights)
    np.testing.assert_allclose(ours, marginal, atol=1e-5)
    pushed = RELAXED["straight-through"](system, scores - 2.0 * weights, LENGTHS)
    np.testing.assert_allclose(gradient("blackbox", system, scores, LENGTHS, weights), (best - pushed) / 2)
    target = jnp.where(jnp.isneginf(scores), -jnp.inf, best - 0.5 * weights)
    projected = relaxations.sparsemap(system, target, LENGTHS).arcs
    np.testing.assert_allclose(gradient("spigot", system, scores, LENGTHS, weights), best - projected, atol=1e-5)


LOSSES: dict[str, Any] = {
    "sparsemap": lambda s, heads: relaxations.sparsemap_loss(sd.charts.eisner(), s, heads, LENGTHS),
    "perturbed": lambda s, heads: relaxations.perturbed_loss(sd.charts.eisner(), s, heads, KEY, LENGTHS, samples=4),
    "perturbed, gumbel": lambda s, heads: relaxations.perturbed_loss(
        sd.charts.eisner(), s, heads, KEY, LENGTHS, samples=4, noise="gumbel"
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_the_gradient_of_a_loss_is_the_relaxed_tree_less_the_gold_tree(name: str) -> None:
    scores, heads = some_scores(), np.array([[0, 1, 1, 1], [2, 0, 2, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    gold = sd.trees.heads_to_arcs(heads, LENGTHS).astype(float)
    value, slopes = jax.value_and_grad(lambda s: LOSSES[name](s, heads).sum())(scores)
    relaxed = RELAXED[name](sd.charts.eisner(), scores, LENGTHS)
    np.testing.assert_allclose(slopes, relaxed - gold, atol=1e-5)
    assert value > 0
    sure = jnp.where(gold > 0, 50.0, scores)
    np.testing.assert_allclose(jax.grad(lambda s: LOSSES[name](s, heads).sum())(sure), 0, atol=1e-5)


def test_functions_of_scores_serve_where_only_best_trees_are_asked() -> None:
    eisner, scores = sd.charts.eisner(), some_scores()

    def best(s: jax.Array, lengths: Any) -> jax.Array:
        return sd.argmax(eisner, s, lengths)

    for relaxed in (relaxations.straight_through, relaxations.blackbox):
        np.testing.assert_array_equal(relaxed(best, scores, LENGTHS), relaxed(eisner, scores, LENGTHS))
    ours, theirs = (relaxations.perturbed(oracle, scores, KEY, LENGTHS) for oracle in (best, eisner))
    np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(ValueError, match="constraints and single_root need a system"):
        relaxations.straight_through(best, scores, LENGTHS, single_root=True)


def test_what_does_not_fit_is_refused() -> None:
    eisner, scores = sd.charts.eisner(), some_scores()
    with pytest.raises(TypeError, match="relaxations take the arc scores alone"):
        relaxations.sparsemap(eisner, {"arc": scores})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match='noise is "normal" or "gumbel", not \'uniform\''):
        relaxations.perturbed(eisner, scores, KEY, LENGTHS, noise="uniform")
    with pytest.raises(ValueError, match="samples is 0: write 1 or more"):
        relaxations.perturbed(eisner, scores, KEY, LENGTHS, samples=0)
    with pytest.raises(ValueError, match="samples is 1: the mean loss of the other samples needs at least 2"):
        relaxations.score_function(eisner, scores, lambda heads: heads.sum(-1), KEY, LENGTHS, samples=1)
    with pytest.raises(ValueError, match=r"heads have shape \(4, 3\), expected \(4, 4\)"):
        relaxations.sparsemap_loss(eisner, scores, np.zeros((4, 3), int), LENGTHS)
    with pytest.raises(ValueError, match=r"temperature is \[1. 0. 1. 1.\]: write a number above 0"):
        relaxations.marginals(eisner, scores, LENGTHS, jnp.array([1.0, 0.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match="temperature is -1: write a number above 0"):
        relaxations.stochastic_softmax(eisner, scores, KEY, LENGTHS, -1)
    with pytest.raises(ValueError, match=r"sigma is 0.0: write a number above 0"):
        relaxations.perturbed(eisner, scores, KEY, LENGTHS, 0.0)
    with pytest.raises(ValueError, match="step is nan: write a number above 0"):
        relaxations.spigot(eisner, scores, LENGTHS, jnp.nan)
    for of in (partial(relaxations.implicit_mle, key=KEY), relaxations.blackbox):
        with pytest.raises(ValueError, match=r"strength is 0.0: write a number above 0"):
            of(eisner, scores, lengths=LENGTHS, strength=0.0)
    with pytest.raises(ValueError, match="several times"):
        relaxations.score_function(sd.charts.mhk(4), scores, lambda heads: heads.sum(-1), KEY, LENGTHS)


@pytest.mark.parametrize("single_root", [False, True])
def test_constraints_and_single_roots(single_root: bool) -> None:
    system, scores = sd.charts.eisner(), some_scores()
    known = sd.Constraints(heads=np.array([[3, -1, -1, -1], [-1, -1, 2, 0], [0, 0, 0, 0], [0, 0, 0, 0]]))
    for relaxed in (relaxations.marginals, relaxations.straight_through):
        arcs = relaxed(system, scores, LENGTHS, constraints=known, single_root=single_root)
        assert arcs[0, 3, 1] == pytest.approx(1) and arcs[1, 2, 3] == pytest.approx(1)
    arcs = relaxations.sparsemap(system, 0.3 * scores, LENGTHS, known, single_root=single_root).arcs
    assert arcs[0, 3, 1] == pytest.approx(1) and (arcs[0, 0].sum() == pytest.approx(1)) == single_root


@pytest.mark.parametrize(("scale", "offset"), [(10.0, 0.0), (1000.0, 0.0), (1.0, 1e4)])
def test_sparsemap_of_large_scores_is_finite_and_the_nearest_point(scale: float, offset: float) -> None:
    scores = scale * jax.random.normal(jax.random.key(0), (8, 13, 13))
    found = relaxations.sparsemap(sd.charts.eisner(), scores + offset)
    rest = scores - found.arcs
    gain = sd.inside(sd.charts.eisner(), rest) - jnp.sum(rest * found.arcs, (1, 2))
    assert (jnp.abs(found.weights.sum(-1) - 1) < 1e-4).all() and (gain < 1e-3 * max(scale, offset / 1e3)).all()


@pytest.mark.parametrize("rest", [jnp.nan, jnp.inf, 1e30])
def test_sparsemap_does_not_look_at_scores_of_no_arc(rest: float) -> None:
    lengths = jnp.array([3, 4])
    scores = jax.random.normal(jax.random.key(5), (2, 5, 5))
    nodes = jnp.arange(5)
    outside = (nodes[:, None] == nodes) | (nodes == 0) | (jnp.maximum(nodes[:, None], nodes) > lengths[:, None, None])
    found = relaxations.sparsemap(sd.charts.eisner(), jnp.where(outside, rest, scores), lengths)
    np.testing.assert_allclose(found.arcs, relaxations.sparsemap(sd.charts.eisner(), scores, lengths).arcs, atol=1e-5)

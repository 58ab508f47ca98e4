"""Derivatives of every semiring: forward mode, reverse mode and second order against finite differences in float64."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import structdep as sd
from structdep.charts import eisner
from structdep.spanning import all_trees
from structdep.trees import is_tree
from structdep.trees.classes import System

close = partial(np.testing.assert_allclose, rtol=1e-6, atol=1e-7)
WORDS, STEP = 3, 1e-5
LENGTHS = np.array([3, 2, 0, 3], np.int32)
RNG = np.random.default_rng(0)
SCORES, QUANTITIES, DIRECTION = RNG.normal(size=(3, len(LENGTHS), WORDS + 1, WORDS + 1))
SCORES[0, 2, 1] = SCORES[3, 0, 1:3] = -np.inf
LABELS = RNG.normal(size=(*SCORES.shape, 2))
LABELS[1, 0, 2, 1] = -np.inf
BEHIND = np.arange(WORDS + 1) > LENGTHS[:, None]
UNUSED = BEHIND[:, :, None] | BEHIND[:, None] | np.isneginf(SCORES)
GOLD = np.array([[0, 1, 2], [0, 1, 0], [0, 0, 0], [3, 1, 0]], np.int32)
SEMIRINGS = {
    "MaxPlus": sd.MaxPlus(),
    "LogSum": sd.LogSum(),
    "Counting": sd.Counting(),
    "CostAugmented": sd.CostAugmented(GOLD, 0.5),
    "CostAugmented(LogSum)": sd.CostAugmented(GOLD, 0.5, sd.LogSum),
    "KBest": sd.KBest(3),
    "Expectation": sd.Expectation({"arc": QUANTITIES}),
    "Entropy": sd.Entropy(),
    "Pair": sd.Pair(sd.Entropy, sd.MaxPlus),
    "SingleRoot(MaxPlus)": sd.SingleRoot(sd.MaxPlus),
    "SingleRoot(LogSum)": sd.SingleRoot(sd.LogSum),
    "SingleRoot(KBest)": sd.SingleRoot(sd.KBest(2)),
    "SingleRoot(Entropy)": sd.SingleRoot(sd.Entropy),
    "SingleRoot(Pair)": sd.SingleRoot(sd.Pair(sd.MaxPlus, sd.LogSum)),
}
slow = pytest.mark.slow


@pytest.fixture(autouse=True)
def float64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def total(values: Any) -> jax.Array:
    """A number that depends on all values, each in another way, and not linearly."""
    finite = [jnp.where(jnp.isfinite(leaf), leaf, 0) for leaf in jax.tree.leaves(values)]
    return sum((number + 1) * leaf.sum() + 0.1 * (leaf**2).sum() for number, leaf in enumerate(finite))


def check(function: Callable[[jax.Array], jax.Array], reverse: bool = False) -> None:
    """Compare derivatives with finite differences along one direction; they are zero in padding and at masked arcs."""
    scores, along = jnp.asarray(SCORES), jnp.asarray(DIRECTION)

    @jax.jit
    def derivatives(scores: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.value_and_grad(function)(scores)

    @jax.jit
    def seconds(scores: jax.Array) -> list[jax.Array]:
        found = [jax.jvp(jax.grad(function), (scores,), (along,))[1]]
        if reverse:
            found.append(jax.grad(lambda s: jnp.vdot(jax.grad(function)(s), along))(scores))
            found.append(jax.grad(lambda s: jax.jvp(function, (s,), (along,))[1])(scores))
        return found

    ahead, behind = derivatives(scores + STEP * along), derivatives(scores - STEP * along)
    slope, bend = (np.asarray(a - b) / (2 * STEP) for a, b in zip(ahead, behind, strict=True))
    gradient = derivatives(scores)[1]
    close(jnp.vdot(gradient, along), slope)
    close(jax.jit(lambda s: jax.jvp(function, (s,), (along,))[1])(scores), slope)
    for found in seconds(scores):
        close(found, bend)
        assert not np.asarray(found)[UNUSED].any()
    assert not np.asarray(gradient)[UNUSED].any()


def cases(*quick: str) -> pytest.MarkDecorator:
    """All semirings; those that are not quick are slow tests."""
    names = [pytest.param(name, marks=[] if name in quick else [slow]) for name in SEMIRINGS]
    return pytest.mark.parametrize("name", names)


def value(system: System, name: str, scores: Any) -> jax.Array:
    return total(sd.inside(system, scores, LENGTHS, SEMIRINGS[name]))


def labelled(arcs: jax.Array) -> dict[str, jax.Array]:
    return {"arc": arcs, "label": jnp.asarray(LABELS)}


@cases("MaxPlus", "LogSum", "Counting", "CostAugmented", "KBest", "Expectation", "Entropy", "SingleRoot(LogSum)")
def test_projective_trees(name: str) -> None:
    check(partial(value, eisner(), name))


@cases("LogSum", "Entropy")
def test_labelled_projective_trees(name: str) -> None:
    check(lambda scores: value(eisner(), name, labelled(scores)))


@cases("MaxPlus", "LogSum", "Entropy")
def test_all_trees(name: str) -> None:
    check(partial(value, all_trees(), name))


@cases("Entropy")
def test_reverse_mode_twice_and_over_forward_mode(name: str) -> None:
    check(partial(value, eisner(), name), reverse=True)


@slow
@pytest.mark.parametrize("name", ["MaxPlus", "LogSum", "KBest", "SingleRoot(LogSum)"])
def test_charts_by_xla(name: str, by_xla: None) -> None:
    check(partial(value, eisner(), name), reverse=True)


@slow
@cases()
def test_labelled_trees_of_all_kinds(name: str) -> None:
    check(lambda scores: value(all_trees(), name, labelled(scores)))


LOSSES: dict[str, Callable[[System, Any], jax.Array]] = {
    "nll": lambda system, s: sd.losses.nll(system, s, GOLD, LENGTHS),
    "partial nll": lambda system, s: sd.losses.nll(system, s, sd.Constraints(np.array(KNOWN)), LENGTHS),
    "hinge": lambda system, s: sd.losses.hinge(system, s, GOLD, LENGTHS),
    "softmax margin": lambda system, s: sd.losses.softmax_margin(system, s, GOLD, LENGTHS),
    "risk": lambda system, s: sd.losses.risk(system, s, GOLD, LENGTHS),
    "entropy": lambda system, s: trees(system, s).entropy(),
    "entropy of one root": lambda system, s: sd.TreeDistribution(system, s, LENGTHS, single_root=True).entropy(),
    "log_prob": lambda system, s: trees(system, s).log_prob(GOLD),
    "expected attachment": lambda system, s: trees(system, s).expected_attachment(GOLD),
    "constrained entropy": lambda system, s: (
        sd.inside(system, s, LENGTHS, sd.Entropy, sd.Constraints(np.array(KNOWN))).entropy
    ),
    "divergence of a model": lambda system, s: trees(system, s).kl_divergence(trees(system, QUANTITIES)),
    "divergence from a model": lambda system, s: trees(system, masked(QUANTITIES)).kl_divergence(trees(system, s)),
    "divergence from the same": lambda system, s: trees(system, SCORES).kl_divergence(trees(system, s)),
    "divergence of the same": lambda system, s: trees(system, s).kl_divergence(trees(system, SCORES)),
}
KNOWN = [[-1, 1, -1], [-1, -1, -1], [-1, -1, -1], [-1, -1, -1]]
QUICK = ("nll", "hinge", "softmax margin", "divergence from the same")


def trees(system: System, scores: Any) -> sd.TreeDistribution:
    return sd.TreeDistribution(system, jnp.asarray(scores), LENGTHS)


def masked(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isneginf(SCORES), -np.inf, scores)


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in QUICK else [slow]) for name in LOSSES])
def test_losses_and_queries(name: str) -> None:
    check(lambda scores: total(LOSSES[name](eisner(), scores)))


@slow
@pytest.mark.parametrize("name", [name for name in LOSSES if name != "partial nll"])
def test_losses_and_queries_of_all_trees(name: str) -> None:
    check(lambda scores: total(LOSSES[name](all_trees(), scores)))


SAMPLES = {
    "Sample": sd.Sample(jax.random.key(3)),
    "SingleRoot(Sample)": sd.SingleRoot(sd.Sample(jax.random.key(3))),
    "CostAugmented(Sample)": sd.CostAugmented(GOLD, 0.5, sd.Sample(jax.random.key(3))),
    "Pair": sd.Pair(sd.Sample(jax.random.key(3)), sd.Sample(jax.random.key(4))),
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("system", [eisner(), pytest.param(all_trees(), marks=slow)], ids=lambda s: s.name)
def test_the_derivative_of_a_sample_is_one_tree(system: System, name: str) -> None:
    """In forward mode, too; its own derivative is 0."""

    @jax.jit
    def drawn(scores: jax.Array) -> tuple[jax.Array, ...]:
        def first(scores: jax.Array) -> jax.Array:
            return jax.tree.leaves(sd.inside(system, scores, LENGTHS, SAMPLES[name]))[0]

        def gradient(scores: jax.Array) -> jax.Array:
            return jax.grad(lambda s: first(s).sum())(scores)

        tangent = jax.jvp(first, (scores,), (jnp.asarray(DIRECTION),))[1]
        return *jax.jvp(gradient, (scores,), (jnp.asarray(DIRECTION),)), tangent

    uses, again, tangent = map(np.asarray, drawn(jnp.asarray(SCORES)))
    assert set(np.unique(uses)) == {0, 1} and not uses[UNUSED].any() and not again.any()
    rows = LENGTHS > 0
    assert is_tree(uses[rows, :, 1:].argmax(-2), LENGTHS[rows], single_root=name == "SingleRoot(Sample)").all()
    close(tangent, (uses * DIRECTION).sum((1, 2)))


@pytest.mark.parametrize("base", [sd.Entropy(), sd.KBest(2), sd.MaxPlus()], ids=str)
def test_only_log_sum_draws(base: sd.Semiring) -> None:
    @sd.semiring
    class Drawn(sd.Semiring):
        key: jax.Array

        def chart(self) -> sd.Semiring:
            return base

        def lift(self, name: str, table: jax.Array) -> Any:
            return base.lift(name, table)

        def randomness(self) -> jax.Array:
            return self.key

    with pytest.raises(ValueError, match=r"derivations are drawn in LogSum or SingleRoot\(LogSum\), not in"):
        sd.inside(eisner(), SCORES, LENGTHS, Drawn(jax.random.key(0)))


def entropies(scores: jax.Array) -> jax.Array:
    return sd.inside(eisner(), scores, semiring=sd.Entropy).entropy


TRANSFORMED: dict[str, Callable[[jax.Array], jax.Array]] = {
    "vmap": lambda scores: jax.vmap(entropies)(scores).sum(),
    "remat": jax.checkpoint(lambda scores: entropies(scores).sum()),
    "scan": lambda scores: jax.lax.scan(lambda sum, one: (sum + entropies(one), None), jnp.zeros(()), scores)[0],
    "cond": lambda scores: jax.lax.cond(scores[0, 0, 0] < 9, entropies, lambda s: s[:, 0, 0], scores).sum(),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformations(name: str) -> None:
    scores, along = jnp.asarray(QUANTITIES[:2]), jnp.asarray(DIRECTION[:2])

    def derivatives(function: Callable[[jax.Array], jax.Array]) -> Any:
        return jax.jit(lambda s: jax.jvp(jax.grad(function), (s,), (along,)))(scores)

    jax.tree.map(close, derivatives(TRANSFORMED[name]), derivatives(lambda s: entropies(s).sum()))


def test_jacobians_and_hessians() -> None:
    scores = jnp.asarray(QUANTITIES[:2])
    jacobians = [jax.jit(of(entropies))(scores) for of in (jax.jacfwd, jax.jacrev)]
    close(*jacobians)
    each = jax.jit(jax.vmap(jax.hessian(entropies)))(scores)
    whole = jax.jit(jax.hessian(lambda s: entropies(s).sum()))(scores)
    close(whole[0, :, :, 0], each[0])
    close(whole[1, :, :, 1], each[1])
    assert not np.asarray(whole[0, :, :, 1]).any()


def test_vmapped_quantities_and_empty_batches() -> None:
    def variance(quantities: jax.Array, scores: jax.Array) -> jax.Array:
        return sd.inside(eisner(), scores, LENGTHS, sd.Expectation({"arc": quantities})).variance.sum()

    quantities, scores = jnp.stack([QUANTITIES, DIRECTION]), jnp.asarray(SCORES)
    gradient = jax.jit(jax.grad(variance, (0, 1)))
    each = [gradient(own, scores) for own in quantities]
    mapped = jax.jit(jax.grad(lambda q, s: jax.vmap(variance, (0, None))(q, s).sum(), (0, 1)))(quantities, scores)
    close(mapped[0], jnp.stack([own for own, _ in each]))
    close(mapped[1], sum(own for _, own in each))
    empty = jnp.zeros((0, 4, 4))
    assert jax.grad(lambda s: jax.vmap(entropies)(s).sum())(empty).shape == empty.shape

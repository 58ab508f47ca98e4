"""Shapes of least work: compared with all choices, and whatever the sentences, nothing is lost."""

from functools import partial
from itertools import combinations, count

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jax.sharding import AbstractMesh, AxisType

import structdep as sd
from structdep import batching, chart_bytes, charts
from structdep.batching import Shape, padded_work, plan

LENGTHS = st.lists(st.integers(0, 12), min_size=1, max_size=14)


def least_work(lengths: list[int], limit: int, growth: float, most: int, multiple: int, devices: int) -> float:
    """By trying all choices of limits on length."""
    ends = sorted({max(multiple * -(-length // multiple), multiple) for length in lengths})
    chosen = (c for k in range(most) for c in combinations(ends[:-1], k))
    return min(work_within(sorted({*c, ends[-1]}), lengths, limit, growth, devices) for c in chosen)


def work_within(ends: list[int], lengths: list[int], limit: int, growth: float, devices: int) -> float:
    work = 0.0
    for shorter, words in zip([-1, *ends], ends, strict=False):
        members = sum(shorter < length <= words for length in lengths)
        most = limit // words * devices
        batches = next(b for b in count(1) if b * most >= members)
        rows = next(r for r in count(devices, devices) if batches * r >= members)
        work += batches * rows * words**growth
    return work


@given(LENGTHS, st.integers(16, 60), st.sampled_from([0, 1, 2.5, 4]), *[st.integers(1, 4)] * 2, st.integers(1, 3))
def test_no_other_choice_takes_less_work(
    lengths: list[int], limit: int, growth: float, most: int, multiple: int, devices: int
) -> None:
    shapes = plan(lengths, limit, growth=growth, max_shapes=most, multiple=multiple, devices=devices)
    made = batching.batches(lengths, shapes)
    work = sum(shape.sentences * shape.words**growth for shape, _ in made)
    assert work == pytest.approx(least_work(lengths, limit, growth, most, multiple, devices))
    assert len(shapes) <= most and list(shapes) == sorted(shapes) and {shape for shape, _ in made} == set(shapes)
    for shape in shapes:
        assert shape.words * shape.sentences <= limit * devices
        assert shape.words % multiple == shape.sentences % devices == 0


@given(LENGTHS, st.integers(0, 3))
def test_every_sentence_is_in_one_batch_of_the_shortest_shape(lengths: list[int], seed: int) -> None:
    shapes = plan(lengths, 40, max_shapes=3)
    made = batching.batches(lengths, shapes, seed)
    assert sorted(np.concatenate([places for _, places in made]).tolist()) == list(range(len(lengths)))
    for shape, places in made:
        assert 0 < len(places) <= shape.sentences
        for place in places:
            assert shape.words == min(other.words for other in shapes if other.words >= lengths[place])
    again = batching.batches(lengths, shapes, np.random.default_rng(seed))
    assert [(s, p.tolist()) for s, p in made] == [(s, p.tolist()) for s, p in again]
    in_order = np.concatenate([places for _, places in batching.batches(lengths, shapes)])
    assert np.array(lengths)[in_order].tolist() == sorted(lengths)


def test_seeds_shuffle_sentences_and_batches() -> None:
    lengths = np.random.default_rng(0).integers(1, 30, 200)
    shapes = plan(lengths, 100, max_shapes=4)
    orders = [[tuple(places) for _, places in batching.batches(lengths, shapes, seed)] for seed in (1, 2)]
    assert orders[0] != orders[1] and set(orders[0]) != set(orders[1])
    words = [shape.words for shape, _ in batching.batches(lengths, shapes, 1)]
    assert words != sorted(words)


def test_more_shapes_and_more_room_cost_nothing() -> None:
    lengths = np.random.default_rng(0).geometric(0.05, 3000)
    work = [padded_work(lengths, plan(lengths, 5000, max_shapes=most), 3) for most in range(1, 20)]
    assert work == sorted(work, reverse=True) and work[-1] < 1.5 < 50 < work[0]
    assert padded_work([5, 5, 9], plan([5, 5, 9], 10, max_shapes=2)) == 1
    assert plan([5, 5, 9], np.inf, max_shapes=1) == (Shape(9, 3),)


def test_a_limit_on_memory_bounds_the_charts_of_a_batch() -> None:
    lengths = np.random.default_rng(0).integers(1, 60, 500)
    size = partial(chart_bytes, charts.mhk(4), ["arc"])
    shapes = plan(lengths, 2**26, size, growth=4, max_shapes=5)
    rooms = [shape.sentences * size(shape.words) for shape in shapes]
    assert len(shapes) == 5 and max(rooms) <= 2**26 < 2 * min(rooms[1:])


def test_functions_see_the_whole_batch_where_axes_are_explicit() -> None:
    two = AbstractMesh((2,), ("batch",), (AxisType.Explicit,))
    assert batching.on_devices(jnp.cumsum, two)(np.ones(4)).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("devices", [1, 2])
def test_several_devices_share_a_batch(devices: int) -> None:
    mesh = AbstractMesh((devices,), ("batch",), (AxisType.Auto,))
    best = batching.on_devices(lambda scores: sd.inside(charts.eisner(), scores, semiring=sd.KBest(2)), mesh)
    traced = str(jax.make_jaxpr(best)(np.zeros((4, 4, 4), np.float32)))
    assert ("shard_map" in traced) == (devices > 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(lengths=[], limit=9), r"lengths have shape \(0,\): give the number of words of each sentence"),
        (dict(lengths=[[1]], limit=9), r"lengths have shape \(1, 1\)"),
        (dict(lengths=[2, -1], limit=9), "lengths go from -1 to 2: they are numbers of words"),
        (dict(lengths=[2, 30], limit=9), "a row of 30 words takes 30, but the limit is 9: raise it, or leave out"),
        (dict(lengths=[2], limit=9, max_shapes=0), "max_shapes is 0: write a whole number, 1 or more"),
        (dict(lengths=[2], limit=9, multiple=0), "multiple is 0"),
        (dict(lengths=[2], limit=9, devices=-1), "devices is -1"),
        (dict(lengths=[2], limit=9, multiple=2.5), "multiple is 2.5: write a whole number, 1 or more"),
        (dict(lengths=[2], limit=float("nan")), "limit is nan: write a number above 0"),
        (dict(lengths=[9], limit=9, growth=500.0), "growth is 500.0: write a number of 0 or more, such as 3"),
        (dict(lengths=[9], limit=9, growth=-2.0), "growth is -2.0"),
    ],
)
def test_what_cannot_be_planned_is_told(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan(**arguments)  # type: ignore[arg-type]


def test_lengths_are_integers_that_fit() -> None:
    with pytest.raises(TypeError, match=r"lengths must be integers .* not float64"):
        plan([1.5], 9)
    with pytest.raises(ValueError, match="sentence 1 has 7 words, the largest shape 5; write shapes="):
        batching.batches([2, 7], [Shape(5, 1), Shape(3, 2)])
    with pytest.raises(ValueError, match="sentence 0 has 2 words, the largest shape 0"):
        batching.batches([2], [])
    with pytest.raises(ValueError, match=r"Shape\(words=5, sentences=0\) has no row for a sentence"):
        batching.batches([2], [Shape(5, 0)])
    with pytest.raises(ValueError, match="the first axis of each argument is the batch, but one argument is a single"):
        batching.on_devices(lambda scores, length: scores)(np.zeros(2), 3)

"""Sentences in batches of few shapes, with as little work for padding as can be.

What is compiled is compiled for a shape, so sentences are padded to few of them; what is padded costs time, for charts
with the third or fourth power of its length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, PartitionSpec
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, order=True)
class Shape:
    """What a batch has room for: so many words a sentence, so many sentences."""

    words: int
    sentences: int


AnyShape = TypeVar("AnyShape", bound=Shape)


def plan(
    lengths: ArrayLike,
    limit: float,
    size: Callable[[int], float] = float,
    *,
    growth: float = 3.0,
    max_shapes: int = 8,
    multiple: int = 1,
    devices: int = 1,
) -> tuple[Shape, ...]:
    """The shapes in which these sentences take the least work, shortest first.

    A sentence goes to the shortest shape with room for it, the sentences of a shape to as few batches as the limit
    allows, all equal; rows that stay empty are work like others. The least Σ sentences · words^growth over all batches,
    of all choices of at most `max_shapes` lengths, is found by dynamic programming over the distinct lengths.

    Args:
        lengths: int `[sentences]`, numbers of words.
        limit: what the sizes of a batch's rows may come to in sum, on each device.
        size: of a row with room for so many words: their number, where it is not given. For a limit on memory, that of
            its chart, as in the example.
        growth: the exponent with which the time of a sentence grows: that of the chart, `3` or `4`.
        max_shapes: how many times one is willing to compile.
        multiple: words are multiples of it.
        devices: so many share each batch, whose sentences are a multiple of it.

    Raises:
        TypeError: lengths that are not integers.
        ValueError: no sentences, lengths below 0, a sentence beyond the limit, numbers below 1.

    Example:
        >>> lengths = [3, 4, 4, 5, 5, 5, 6, 9, 9, 30]
        >>> plan(lengths, limit=30, max_shapes=3)
        (Shape(words=5, sentences=6), Shape(words=9, sentences=3), Shape(words=30, sentences=1))
        >>> from functools import partial
        >>> from structdep import charts
        >>> from structdep import chart_bytes
        >>> plan(lengths, 60_000, partial(chart_bytes, charts.eisner(), ["arc"]), max_shapes=2)
        (Shape(words=9, sentences=9), Shape(words=30, sentences=1))
    """
    given = _checked(lengths)
    for name, number in (("max_shapes", max_shapes), ("multiple", multiple), ("devices", devices)):
        if number < 1:
            raise ValueError(f"{name} is {number}: write 1 or more")
    padded = np.maximum(-(-given // multiple), 1) * multiple
    ends, counts = np.unique(padded, return_counts=True)
    room = devices * _room(ends.tolist(), limit, size, len(given))
    below = np.append(0, np.cumsum(counts))
    rows, batches = _filled(below[1:] - below[:, None], room, devices)
    work = rows * batches * ends ** float(growth)
    cuts = _cuts(np.where(below[:, None] < below[1:], work, np.inf), max_shapes)
    return tuple(Shape(int(ends[b - 1]), int(rows[a, b - 1])) for a, b in pairwise(cuts))


def batches(
    lengths: ArrayLike, shapes: Sequence[AnyShape], rng: np.random.Generator | int | None = None
) -> list[tuple[AnyShape, NDArray[np.intp]]]:
    """Every sentence in one batch, of the shortest shape with room for it: the shape, and the places of its sentences.

    A generator, or a seed, shuffles the sentences of a shape and the batches; without it, all are in order of length.
    The last batch of a shape may have fewer sentences than it has room for.

    Raises:
        TypeError, ValueError: as by `plan`; a sentence that is longer than all shapes.

    Example:
        >>> for shape, places in batches([3, 9, 4, 4, 5], [Shape(5, 3), Shape(9, 1)]):
        ...     print(shape, places)
        Shape(words=5, sentences=3) [0 2 3]
        Shape(words=5, sentences=3) [4]
        Shape(words=9, sentences=1) [1]
    """
    given, ordered = _checked(lengths), sorted(shapes)
    ends = np.array([shape.words for shape in ordered])
    if not ordered or given.max() > ends[-1]:
        raise ValueError(
            f"sentence {given.argmax()} has {given.max()} words, the largest shape {max(ends, default=0)}; "
            "write shapes=plan(..) of all sentences that are to be batched"
        )
    generator = None if rng is None else np.random.default_rng(rng)
    numbers, made = np.searchsorted(ends, given), []
    for number, shape in enumerate(ordered):
        members = np.flatnonzero(numbers == number)
        order = np.argsort(given[members], kind="stable") if generator is None else generator.permutation(len(members))
        starts = range(0, len(members), shape.sentences)
        made += [(shape, members[order[start : start + shape.sentences]]) for start in starts]
    return made if generator is None else [made[number] for number in generator.permutation(len(made))]


def padded_work(lengths: ArrayLike, shapes: Sequence[Shape], growth: float = 3.0) -> float:
    """How many times the work is what it would be without padding.

    Example:
        >>> lengths = [3, 4, 4, 5, 5, 5, 6, 9, 9, 30]
        >>> [round(padded_work(lengths, plan(lengths, limit=30, max_shapes=most)), 3) for most in (1, 2, 3)]
        [9.245, 1.149, 1.025]
    """
    work = sum(shape.sentences * float(shape.words) ** growth for shape, _ in batches(lengths, shapes))
    return float(work / (_checked(lengths) ** float(growth)).sum())


def on_devices(function: Callable[..., Any], mesh: Mesh | None = None) -> Callable[..., Any]:
    """The function of arrays `[batch, ..]`, compiled so that each device works on an equal part of the batch.

    Devices do not wait for each other and send nothing, so that all queries gain, where sentences are looked at one by
    one, too (`argmax`). The cores of a CPU are devices after `jax.config.update("jax_num_cpu_devices", 4)`, before
    anything is computed; they are better used so than by the threads of one device.

    Args:
        function: of arrays, or trees of arrays, that all have the batch first, to such. What it draws by one key, it
            draws on each device: give each sentence a key.
        mesh: of devices, along all its axes; the one that is set (`jax.set_mesh`), all devices where none is. If its
            axes are explicit, XLA decides how devices share the work.

    Raises:
        ValueError: a batch that has no equal part for each device.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> best = on_devices(lambda scores, lengths: sd.inside(sd.charts.eisner(), scores, lengths))
        >>> best(jnp.ones((4, 4, 4)), jnp.array([2, 1, 3, 0])).tolist()
        [2.0, 1.0, 3.0, 0.0]
    """

    @jax.jit
    def shared(*arrays: Any) -> Any:
        devices = mesh or _set_mesh() or jax.make_mesh((jax.device_count(),), ("batch",), (AxisType.Auto,))
        for leaf in jax.tree.leaves(arrays):
            if len(leaf) % devices.size:
                raise ValueError(
                    f"a batch of {len(leaf)} has no equal part for each of {devices.size} devices: pad it, or see "
                    "batching.plan(.., devices)"
                )
        if devices.size == 1 or AxisType.Explicit in devices.axis_types:
            return function(*arrays)
        rows = PartitionSpec(devices.axis_names)  # type: ignore[no-untyped-call]
        return jax.shard_map(function, mesh=devices, in_specs=rows, out_specs=rows, check_vma=False)(*arrays)

    return shared


def compiler_options() -> dict[str, Any]:
    """What to compile with, by the outermost `jax.jit` or by `lower(..).compile(..)`: on CPUs, the widest vectors.

    XLA uses half of the vectors of CPUs that have AVX-512, if not told: log-sums and their gradients then take a third
    longer. Best scores wait for memory, and other CPUs have no wider ones.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> best = jax.jit(lambda scores: sd.argmax(sd.charts.eisner(), scores), compiler_options=compiler_options())
        >>> best(jnp.ones((4, 4))).shape
        (3,)
    """
    return {"xla_cpu_prefer_vector_width": 512} if jax.default_backend() == "cpu" else {}


def _set_mesh() -> Any:
    mesh = jax.sharding.get_abstract_mesh()
    return None if mesh.empty else mesh


def _checked(lengths: ArrayLike) -> NDArray[np.int64]:
    given = np.asarray(lengths)
    if given.ndim != 1 or not given.size:
        raise ValueError(f"lengths have shape {given.shape}: give the number of words of each sentence, of one or more")
    if not np.issubdtype(given.dtype, np.integer):
        raise TypeError(f"lengths must be integers (numbers of words), not {given.dtype}")
    if given.min() < 0:
        raise ValueError(f"lengths go from {given.min()} to {given.max()}: they are numbers of words, 0 or more")
    return given.astype(np.int64)


def _room(ends: Sequence[int], limit: float, size: Callable[[int], float], most: int) -> NDArray[np.int64]:
    """How many rows of each length there is room for, of so many at most."""
    rows = np.array([int(min(limit / size(words), most)) for words in ends])
    if (rows < 1).any():
        words = ends[int(np.argmax(rows < 1))]
        raise ValueError(
            f"a row of {words} words takes {size(words):,.0f}, but the limit is {limit:,.0f}: "
            "raise it, or leave out the sentences that are so long"
        )
    return rows


def _filled(
    sentences: NDArray[np.int64], room: NDArray[np.int64], devices: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of a batch, and batches: as few as there is room for, with rows as equal as can be."""
    batches = np.maximum(-(-sentences // room), 1)
    return -(-sentences // (batches * devices)) * devices, batches


def _cuts(cost: NDArray[np.float64], most: int) -> list[int]:
    """The places that cut 0..n into at most `most` intervals of least cost; that of (a, b] is `cost[a, b - 1]`."""
    totals = [np.append(0.0, np.full(len(cost) - 1, np.inf))]
    befores = []
    for _ in range(min(most, len(cost) - 1)):
        extended = totals[-1][:, None] + cost
        befores.append(extended.argmin(0))
        totals.append(np.append(np.inf, extended.min(0)))
    intervals = int(np.argmin([total[-1] for total in totals]))
    cuts = [len(cost) - 1]
    for before in reversed(befores[:intervals]):
        cuts.append(int(before[cuts[-1] - 1]))
    return cuts[::-1]

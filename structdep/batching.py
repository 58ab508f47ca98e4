"""Batches of sentences of similar lengths, in few shapes, and their division among devices.

XLA compiles once per array shape, so sentences are padded to few lengths. Padding costs time: the time of a chart grows
with the third or fourth power of the padded length. `plan` finds the shapes of the least work, `batches` assigns
sentences to them, and `on_devices` computes a batch on several devices.
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
    """The shape of a batch.

    Args:
        words: the padded length, the number of words of the longest sentence that fits.
        sentences: the number of rows of the batch.

    Example:
        >>> Shape(words=9, sentences=4)
        Shape(words=9, sentences=4)
    """

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
    """The shapes of batches in which the given sentences take the least work, shortest first.

    Each sentence goes to the shortest shape that it fits. The sentences of one shape are divided into as few batches as
    `limit` allows, of equal numbers of rows; an empty row costs as much as any other row. Dynamic programming over the
    distinct lengths finds the least Σ rows · words^growth over all batches, among all choices of at most `max_shapes`
    lengths.

    Args:
        lengths: int `[sentences]`, the number of words of each sentence.
        limit: the largest sum of the sizes of the rows of a batch, for each device: a number of words, or of bytes if
            `size` returns bytes.
        size: a function from the padded length of a row, in words, to its size; `float`, the default, counts the padded
            words. `partial(structdep.chart_bytes, system, ["arc"])` returns the bytes of a chart.
        growth: the time of a sentence grows with this power of its length: 3 or 4 for charts.
        max_shapes: the largest number of shapes; XLA compiles a program for each.
        multiple: padded lengths are multiples of this number.
        devices: the number of devices that divide each batch; the rows of a shape are a multiple of it.

    Returns:
        One `Shape` for each padded length.

    Raises:
        TypeError: lengths that are not integers.
        ValueError: no sentences, lengths below 0, a row that is larger than the limit; `max_shapes`, `multiple` or
            `devices` that are no whole numbers of 1 or more; `limit` not above 0; `growth` below 0 or too large.

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
        if number < 1 or number != int(number):
            raise ValueError(f"{name} is {number}: write a whole number, 1 or more")
    if not limit > 0:
        raise ValueError(f"limit is {limit}: write a number above 0")
    padded = np.maximum(-(-given // multiple), 1) * multiple
    ends, counts = np.unique(padded, return_counts=True)
    room = devices * _room(ends.tolist(), limit, size, len(given))
    below = np.append(0, np.cumsum(counts))
    rows, batches = _filled(below[1:] - below[:, None], room, devices)
    with np.errstate(over="ignore", invalid="ignore"):
        work = rows * batches * ends ** float(growth)
    if not (growth >= 0 and np.isfinite(work).all()):
        raise ValueError(f"growth is {growth}: write a number of 0 or more, such as 3 for charts")
    cuts = _cuts(np.where(below[:, None] < below[1:], work, np.inf), max_shapes)
    return tuple(Shape(int(ends[b - 1]), int(rows[a, b - 1])) for a, b in pairwise(cuts))


def batches(
    lengths: ArrayLike, shapes: Sequence[AnyShape], rng: np.random.Generator | int | None = None
) -> list[tuple[AnyShape, NDArray[np.intp]]]:
    """The batches of all sentences: each sentence is in one batch, of the shortest shape that it fits.

    The last batch of a shape may have fewer sentences than the shape has rows.

    Args:
        lengths: int `[sentences]`, the number of words of each sentence.
        shapes: the shapes that `plan` returns, or your own.
        rng: a generator or a seed, which shuffles the sentences of each shape and the order of the batches. Without it,
            sentences and batches are in order of length.

    Returns:
        For each batch, its shape and the numbers of its sentences, int `[at most shape.sentences]`: indices into
        `lengths`.

    Raises:
        TypeError: lengths that are not integers.
        ValueError: no sentences, lengths below 0, a sentence that is longer than all shapes, or a shape without rows.

    Example:
        >>> for shape, places in batches([3, 9, 4, 4, 5], [Shape(5, 3), Shape(9, 1)]):
        ...     print(shape, places)
        Shape(words=5, sentences=3) [0 2 3]
        Shape(words=5, sentences=3) [4]
        Shape(words=9, sentences=1) [1]
    """
    given, ordered = _checked(lengths), sorted(shapes)
    if bad := next((shape for shape in ordered if shape.sentences < 1), None):
        raise ValueError(f"{bad} has no row for a sentence: write sentences=1 or more")
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
    """The work of padded batches, divided by the work of the same sentences without padding.

    Args:
        lengths: int `[sentences]`, the number of words of each sentence.
        shapes: the shapes that `plan` returns, or your own.
        growth: as in `plan`.

    Returns:
        A factor, 1 or more. All rows of a batch count, also empty ones.

    Raises:
        TypeError, ValueError: as by `batches`.

    Example:
        >>> lengths = [3, 4, 4, 5, 5, 5, 6, 9, 9, 30]
        >>> [round(padded_work(lengths, plan(lengths, limit=30, max_shapes=most)), 3) for most in (1, 2, 3)]
        [9.245, 1.149, 1.025]
    """
    work = sum(shape.sentences * float(shape.words) ** growth for shape, _ in batches(lengths, shapes))
    return float(work / (_checked(lengths) ** float(growth)).sum())


def on_devices(function: Callable[..., Any], mesh: Mesh | None = None) -> Callable[..., Any]:
    """Divide the batch of a function's arguments equally among devices, and compile the function.

    Each device computes its own sentences; devices exchange nothing and do not wait for each other. On CPUs,
    the compiled C++ uses several threads within one device and needs no more devices. Charts that XLA fills take less
    time if each core is a device: `jax.config.update("jax_num_cpu_devices", 4)`, before anything is computed.

    Args:
        function: takes and returns arrays, or pytrees of arrays, whose first axis is the batch. A key that the function
            closes over draws the same numbers on each device: pass one key for each sentence instead.
        mesh: the devices, along all axes of the mesh. Default: the mesh of `jax.set_mesh`, or all devices if none is
            set. If its axes have the type `AxisType.Explicit`, XLA decides how the devices divide the work.

    Returns:
        A jitted function with the same arguments and results as `function`.

    Raises:
        ValueError: when the returned function is called, if the batch is not a multiple of the number of devices.

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
            if not np.ndim(leaf):
                raise ValueError("the first axis of each argument is the batch, but one argument is a single number")
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
    """The options of `jax.jit` that make XLA use the widest vectors of CPUs.

    On CPUs with AVX-512, XLA uses half of each vector by default. With the options, log-partitions and their gradients
    that XLA computes take 18 to 46 % less time; best scores are limited by memory and take as long. Pass the options to
    the outermost `jax.jit`, or to `lower(..).compile(..)`.

    Returns:
        The argument `compiler_options`; empty on other devices than CPUs.

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

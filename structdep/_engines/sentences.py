"""Primitives of JAX over independent sentences: what `jit`, `vmap` and meshes do with them.

A primitive is lowered for a platform, by a function that is chosen there. XLA's partitioner would gather the arguments
of a call that it does not know on every device; `custom_partitioning` declares that each device may answer for its own
sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, cast

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.experimental.custom_partitioning import custom_partitioning
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir
from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec, use_abstract_mesh

Leaves = Sequence[Any]
Flat = Callable[..., list[jax.Array]]
"""A function of arrays."""


class Program(Protocol):
    """What a primitive computes: a frozen value. Arrays have the axes of the batch first, some perhaps of size 1."""

    def types(self, axes: int, *types: jax.ShapeDtypeStruct) -> list[jax.ShapeDtypeStruct]:
        """The types of the results, for arguments of these types with `axes` axes of the batch."""

    def run(self, platform: str, axes: int, *leaves: jax.Array) -> list[jax.Array]:
        """The results, traced for a platform, for arguments with `axes` axes of the batch."""


def primitive(name: str) -> tuple[Any, Any]:
    """A new primitive, and the function that binds it to leaves, `of` a program, with `axes` axes of the batch."""
    new: Any = Primitive(name)
    new.multiple_results = True
    new.def_impl(partial(_run, new))
    new.def_abstract_eval(_outputs)
    batching.primitive_batchers[new] = partial(_mapped, new)
    for platform in ("cpu", "cuda", "rocm", "tpu"):
        mlir.register_lowering(new, partial(_lowered, platform), platform=platform)
    mlir.register_lowering(new, partial(_lowered, ""))
    return new, partial(new.bind, needs_devices=_NEEDS_DEVICES)


def _run(primitive: Any, *leaves: Any, **parameters: Any) -> Any:
    """What it computes outside of `jax.jit`, also where that is disabled."""
    with jax.disable_jit(False):
        return jax.jit(partial(primitive.bind, **parameters))(*leaves)


def type_of(shape: Sequence[int], dtype: Any) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)  # type: ignore[no-untyped-call]


def _outputs(*avals: ShapedArray, of: Program, axes: int, **_: Any) -> list[ShapedArray]:
    """The results, which vary along the manual axes of a mesh as the first argument does."""
    first = avals[0]

    def output(leaf: jax.ShapeDtypeStruct) -> ShapedArray:
        sharding = first.sharding.update(spec=[None] * leaf.ndim)
        return first.update(  # type: ignore[no-untyped-call]
            shape=leaf.shape, dtype=leaf.dtype, weak_type=False, sharding=sharding
        )

    return [output(leaf) for leaf in of.types(axes, *(type_of(aval.shape, aval.dtype) for aval in avals))]


def _mapped(primitive: Any, leaves: Leaves, mapped: Sequence[int | None], *, axes: int, **parameters: Any) -> Any:
    """One more axis of the batch, of size 1 in arrays that are not mapped."""
    every = [
        jnp.expand_dims(leaf, 0) if axis is None else jnp.moveaxis(leaf, axis, 0)
        for leaf, axis in zip(leaves, mapped, strict=True)
    ]
    found = primitive.bind(*every, axes=axes + 1, **parameters)
    return found, [0] * len(found)


def along_axes(function: Callable[..., Any], leaves: Leaves, of_chart: Sequence[bool], axes: int) -> Any:
    """What a function of arrays with one axis of the batch returns for arrays with several.

    A chart whose arguments have size 1 on an axis is filled once for the whole axis; other axes become one.
    """
    if axes == 1:
        return function(*leaves)
    inner = partial(along_axes, function, of_chart=of_chart, axes=axes - 1)
    if all(len(leaf) == 1 for leaf, own in zip(leaves, of_chart, strict=True) if own):
        mapped = [0 if len(leaf) != 1 else None for leaf in leaves]
        each = [leaf if axis == 0 else leaf[0] for leaf, axis in zip(leaves, mapped, strict=True)]
        if all(axis is None for axis in mapped):
            return jax.tree.map(lambda leaf: leaf[None], inner(each))
        return jax.vmap(lambda *own: inner(own), mapped)(*each)
    sizes = jnp.broadcast_shapes(*(leaf.shape[:2] for leaf in leaves))
    rows = [jnp.broadcast_to(leaf, (*sizes, *leaf.shape[2:])).reshape(-1, *leaf.shape[2:]) for leaf in leaves]
    return jax.tree.map(lambda leaf: leaf.reshape(*sizes, *leaf.shape[1:]), inner(rows))


def _lowered(platform: str, ctx: Any, *operands: Any, of: Program, axes: int, **_: Any) -> Any:
    """The program for a platform, traced away from any mesh."""

    def function(*leaves: jax.Array) -> list[jax.Array]:
        with use_abstract_mesh(AbstractMesh((), ())):
            return of.run(platform, axes, *leaves)

    is_alone = getattr(ctx.module_context.axis_context, "num_devices", 2) == 1
    plain = ctx.replace(avals_in=[ShapedArray(aval.shape, aval.dtype) for aval in ctx.avals_in])
    return mlir.lower_fun(function if is_alone else _by_sentences(function, axes))(plain, *operands)


def _by_sentences(function: Flat, axes: int) -> Flat:
    """The function, which XLA may divide among devices along the axes of the batch."""

    def divided_like(batch: Sequence[Any], mesh: Mesh, arrays: Any) -> Any:
        """Shardings of arrays whose batch is divided so. An axis of size 1 is on every device."""

        def of(array: Any) -> NamedSharding:
            spec = [name if size > 1 else None for name, size in zip(batch, array.shape, strict=False)]
            return NamedSharding(mesh, PartitionSpec(*spec))  # type: ignore[no-untyped-call]

        return jax.tree.map(of, arrays)

    def partition(mesh: Mesh, arguments: Any, results: Any) -> Any:
        spec = (*jax.tree.leaves(results)[0].sharding.spec, *[None] * axes)
        place = partial(divided_like, spec[:axes], mesh)
        return mesh, function, place(results), place(arguments)

    def rule(mesh: Mesh, arguments: Any, results: Any) -> tuple[str, dict[str, Any]]:
        return _rule([tuple(v.shape) for v in arguments], [tuple(v.shape) for v in results], axes)

    divided: Any = custom_partitioning(function)  # type: ignore[no-untyped-call]
    divided.def_partition(partition=partition, sharding_rule=rule)
    return cast(Flat, divided)


def _rule(arguments: list[tuple[int, ...]], results: list[tuple[int, ...]], axes: int) -> tuple[str, dict[str, Any]]:
    """Shardy's: the axes of the batch are common to all arrays, the others are whole on every device."""
    batch, others = results[0][:axes], list[str]()

    def names(shape: tuple[int, ...]) -> str:
        found = []
        for place, size in enumerate(shape):
            if place < axes and size == batch[place]:
                found.append(f"b{place}")
            else:
                others.append(f"x{len(others)}")
                found.append(others[-1])
        return " ".join(found)

    text = " -> ".join(", ".join(map(names, shapes)) for shapes in (arguments, results))
    return text, {"need_replication_factors": tuple(others)}


_NEEDS_DEVICES = jax.make_jaxpr(_by_sentences(lambda x: [x], 0))(0.0)
"""A parameter that tells JAX to know the devices when it lowers, as `custom_partitioning` wants."""

"""The Jacobian of a chart's value as a linear map: products with it, and with its transpose.

Functions with `jax.custom_vjp` have no forward mode, and of those with `jax.custom_jvp` JAX transposes the tangents
operation by operation, which takes the memory of all intermediate results. So products are a primitive of JAX's: its
transpose is the other product.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from structdep._engines.xla.steps import Arrays
from structdep.inference.systems import System, run
from structdep.semirings import Semiring


@dataclass(frozen=True)
class Product:
    """The product with the Jacobian of a class of trees in a semiring, or with its transpose.

    Its arguments are those of `product`, flat: `count` leaves of the tables, the lengths, the leaves of the vector.
    """

    system: System
    semiring: Semiring
    is_transposed: bool
    tables: Any
    count: int

    def __call__(self, *leaves: jax.Array) -> list[jax.Array]:
        tables = jax.tree.unflatten(self.tables, leaves[: self.count])
        lengths, vector = leaves[self.count], leaves[self.count + 1 :]
        if self.is_transposed:
            cotangent = jax.tree.unflatten(jax.tree.structure(self.semiring.zero), vector)
            return jax.tree.leaves(run(self.system, self.semiring, "uses", tables, lengths, cotangent)[1])
        tangents = jax.tree.unflatten(self.tables, vector)
        return jax.tree.leaves(jax.jvp(lambda t: self.value(t, lengths), (tables,), (tangents,))[1])

    def value(self, tables: Arrays, lengths: jax.Array) -> Any:
        return run(self.system, self.semiring, "value", tables, lengths)[0]

    def outputs(self, *leaves: Any) -> Any:
        """What the result looks like: like the tables, or like the value."""
        if self.is_transposed:
            return leaves[: self.count]
        of_tables = jax.make_jaxpr(lambda *own: self.value(jax.tree.unflatten(self.tables, own[:-1]), own[-1]))
        return of_tables(*leaves[: self.count + 1]).out_avals


_product = Primitive("structdep_jacobian_product")
_product.multiple_results = True


def _bind(of: Product, *leaves: jax.Array) -> list[jax.Array]:
    return _product.bind(*leaves, of=of)  # type: ignore[no-untyped-call]


def product(system: System, semiring: Semiring, tables: Arrays, lengths: jax.Array, tangents: Arrays) -> Any:
    """The tangent of the value: the derivative by the tables, in the direction of the tangents. See `systems.run`."""
    leaves, tree = jax.tree.flatten(tables)
    found = _bind(Product(system, semiring, False, tree, len(leaves)), *leaves, lengths, *jax.tree.leaves(tangents))
    return jax.tree.unflatten(jax.tree.structure(semiring.zero), found)


def _derivative(primals: Any, tangents: Any, of: Product) -> tuple[Any, Any]:
    """Along the vector, the same product; along the tables, what JAX makes of the program."""
    tables, rest = primals[: of.count], primals[of.count :]
    result = _bind(of, *primals)
    parts = []
    if any(type(tangent) is not ad.Zero for tangent in tangents[: of.count]):
        along = tuple(map(ad.instantiate_zeros, tangents[: of.count]))
        parts.append(jax.jvp(lambda *own: of(*own, *rest), tuple(tables), along)[1])
    if any(type(tangent) is not ad.Zero for tangent in tangents[of.count + 1 :]):
        along = tuple(map(ad.instantiate_zeros, tangents[of.count + 1 :]))
        parts.append(_bind(of, *tables, rest[0], *along))
    return result, [sum(leaves) for leaves in zip(*parts, strict=True)]


def _transpose(cotangents: Any, *arguments: Any, of: Product) -> list[Any]:
    fixed = arguments[: of.count + 1]
    other = replace(of, is_transposed=not of.is_transposed)
    return [None] * len(fixed) + _bind(other, *fixed, *map(ad.instantiate_zeros, cotangents))


def _batch(arguments: Any, axes: Any, of: Product) -> tuple[Any, Any]:
    """One product with all of the sentences, or several with the same ones."""
    if all(axis is None for axis in axes[: of.count + 1]):
        found = jax.vmap(of, in_axes=tuple(axes))(*arguments)
        return found, [0] * len(found)
    size = next(leaf.shape[axis] for leaf, axis in zip(arguments, axes, strict=True) if axis is not None)

    def each(leaf: jax.Array, axis: int | None) -> jax.Array:
        return jnp.broadcast_to(leaf, (size, *leaf.shape)) if axis is None else jnp.moveaxis(leaf, axis, 0)

    every = list(map(each, arguments, axes))
    rows = every[of.count].shape
    found = _bind(of, *(leaf.reshape(rows[0] * rows[1], *leaf.shape[2:]) for leaf in every))
    return [leaf.reshape(*rows, *leaf.shape[1:]) for leaf in found], [0] * len(found)


_product.def_impl(lambda *leaves, of: of(*leaves))  # type: ignore[no-untyped-call]
_product.def_abstract_eval(lambda *leaves, of: of.outputs(*leaves))  # type: ignore[no-untyped-call]
ad.primitive_jvps[_product] = _derivative
ad.primitive_transposes[_product] = _transpose
batching.primitive_batchers[_product] = _batch
mlir.register_lowering(_product, mlir.lower_fun(lambda *leaves, of: of(*leaves)))

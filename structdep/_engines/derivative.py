"""The derivative of an answer as a linear map: products with the Jacobian, and with its transpose.

What JAX makes of a chart's tangents, operation by operation, would take the memory of all intermediate results to
transpose. So products are a primitive of their own, whose transpose is the other product. XLA computes them, but for
the transposed product of a value, which is a request: the expected counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from structdep._engines.answers import answer_types
from structdep._engines.choice import XLA, engine_for
from structdep._engines.query import Arguments, Query, Request
from structdep._engines.sentences import Leaves, along_axes, primitive, type_of


@dataclass(frozen=True)
class Product:
    """The product of a vector with the Jacobian of an answer, or with its transpose.

    Its arguments are the leaves of the request's arguments, then those of the vector.

    Args:
        moving: of the leaves, those by which the answer is differentiated.
    """

    request: Request
    tree: Any
    moving: tuple[bool, ...]
    is_transposed: bool = False

    def types(self, axes: int, *types: Any) -> list[Any]:
        """See `structdep._engines.sentences.Program`."""
        leaves = types[: len(self.moving)]
        batch = jnp.broadcast_shapes(*(leaf.shape[:axes] for leaf in types))
        if self.is_transposed:
            return [type_of((*batch, *leaf.shape[axes:]), leaf.dtype) for leaf in self._moved(leaves)]
        answer = jax.tree.leaves(answer_types(self.request, self.tree, *leaves))
        return [type_of((*batch, *leaf.shape[axes:]), leaf.dtype) for leaf in answer]

    def run(self, platform: str, axes: int, *leaves: jax.Array) -> list[jax.Array]:
        """See `structdep._engines.sentences.Program`."""
        own = jax.tree.leaves(self._arguments(leaves[: len(self.moving)]).of_charts())
        of_chart = [*own, *[False] * (len(leaves) - len(own))]
        return along_axes(partial(self._of_one_axis, platform), leaves, of_chart, axes)

    def _of_one_axis(self, platform: str, *leaves: jax.Array) -> list[jax.Array]:
        own, vector = leaves[: len(self.moving)], leaves[len(self.moving) :]
        if self.is_transposed and self.request.query is Query.VALUE:
            return self._counts(platform, own, vector)

        def answer(*moving: jax.Array) -> list[jax.Array]:
            fresh = iter(moving)
            every = [next(fresh) if moves else leaf for leaf, moves in zip(own, self.moving, strict=True)]
            return jax.tree.leaves(XLA.run(self.request, self._arguments(every), platform))

        if self.is_transposed:
            return list(jax.vjp(answer, *self._moved(own))[1](list(vector)))
        return jax.jvp(answer, self._moved(own), list(vector))[1]

    def _counts(self, platform: str, leaves: Leaves, vector: Leaves) -> list[jax.Array]:
        """The expected counts, times the vector: a cotangent of the value."""
        request = replace(self.request, query=Query.EXPECTED_COUNTS)
        types = [type_of(leaf.shape, leaf.dtype) for leaf in leaves]
        value, _ = cast(tuple[Any, Any], answer_types(self.request, self.tree, *types))
        cotangent = jax.tree.unflatten(jax.tree.structure(value), vector)
        arguments = self._arguments(leaves)._replace(cotangent=cotangent)
        _, counts = cast(tuple[Any, dict[str, Any]], engine_for(request, platform).run(request, arguments, platform))
        return self._moved(jax.tree.leaves(arguments._replace(tables=counts, cotangent=None)))

    def _arguments(self, leaves: Leaves) -> Arguments:
        found: Arguments = jax.tree.unflatten(self.tree, leaves)
        return found

    def _moved(self, leaves: Leaves) -> list[Any]:
        return [leaf for leaf, moves in zip(leaves, self.moving, strict=True) if moves]


def derivative(request: Request, tree: Any, axes: int, primals: Leaves, tangents: Leaves) -> list[jax.Array]:
    """The tangents of an answer, from those of the arguments."""
    moving = tuple(type(tangent) is not ad.Zero for tangent in tangents)
    vector = [tangent for tangent, moves in zip(tangents, moving, strict=True) if moves]
    found: list[jax.Array] = _bind(*primals, *vector, of=Product(request, tree, moving), axes=axes)
    return found


def _jvp(primals: Leaves, tangents: Leaves, *, of: Product, axes: int, **_: Any) -> tuple[Any, Any]:
    """Along the vector, the same product; along the other arguments, what JAX makes of XLA's program."""
    result = _bind(*primals, of=of, axes=axes)
    count = len(of.moving)
    along = [type(tangent) is not ad.Zero for tangent in tangents]
    parts = []
    if any(along[count:]):
        vector = map(ad.instantiate_zeros, tangents[count:])
        parts.append(_bind(*primals[:count], *vector, of=of, axes=axes))
    if any(along[:count]):
        moving = [place for place in range(count) if along[place]]

        def product(*own: jax.Array) -> list[jax.Array]:
            every = list(primals)
            for place, leaf in zip(moving, own, strict=True):
                every[place] = leaf
            return of.run("", axes, *every)

        parts.append(jax.jvp(product, [primals[place] for place in moving], [tangents[place] for place in moving])[1])
    return result, [sum(leaves) for leaves in zip(*parts, strict=True)]


def _transpose(cotangents: Any, *arguments: Any, of: Product, axes: int, **_: Any) -> list[Any]:
    """What `jax.vmap` did not map of the vector, of size 1 on an axis of the batch, gets the sum over the axis."""
    fixed, vector = arguments[: len(of.moving)], arguments[len(of.moving) :]
    other = replace(of, is_transposed=not of.is_transposed)
    found = _bind(*fixed, *map(ad.instantiate_zeros, cotangents), of=other, axes=axes)
    shapes = [own.aval.shape for own in vector]
    over = [
        [axis for axis in range(axes) if shape[axis] < leaf.shape[axis]]
        for leaf, shape in zip(found, shapes, strict=True)
    ]
    return [None] * len(fixed) + [leaf.sum(own, keepdims=True) for leaf, own in zip(found, over, strict=True)]


_product, _bind = primitive("structdep_product")
ad.primitive_jvps[_product] = _jvp
ad.primitive_transposes[_product] = _transpose

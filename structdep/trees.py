"""Dependency trees as arrays."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def heads_to_arcs(heads: jax.Array, lengths: jax.Array | None = None) -> jax.Array:
    """The arcs of trees: bool `[*batch, n+1, n+1]`, `[head, dependent]`."""
    heads = jnp.asarray(heads)
    words = heads.shape[-1]
    arcs = heads[..., None, :] == jnp.arange(words + 1)[:, None]
    if lengths is not None:
        arcs &= (jnp.arange(words) < jnp.asarray(lengths)[..., None])[..., None, :]
    return jnp.pad(arcs, [(0, 0)] * (arcs.ndim - 1) + [(1, 0)])

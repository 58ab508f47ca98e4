"""Relations that fit heads: by the rules of UD, `root` is the relation of words below the root, and of no others."""

from collections.abc import Iterable, Sequence

import jax
import jax.numpy as jnp

from structdep.trees.pseudo_projective import DOWN, UP

ROOT, OTHER = "root", "dep"
"""What a word is, below the root and elsewhere, where nothing that fits was learned."""
IMPOSSIBLE = -1e9


def is_root(deprel: str) -> bool:
    """Whether its universal part is `root`, whatever subtype, or mark of a lifted arc, stands behind it.

    Example:
        >>> [is_root(deprel) for deprel in ("root", "root:x", "nsubj", "rooted")]
        [True, True, False, False]
    """
    return deprel.partition(UP)[0].removesuffix(DOWN).partition(":")[0] == ROOT


def fits(are_root: Sequence[bool], below_root: jax.Array) -> jax.Array:
    """Which relations words may have that are below the root, or are not: bool `[*words, relations]`.

    Example:
        >>> fits((False, True), jnp.array([False, True])).tolist()
        [[True, False], [False, True]]
    """
    return jnp.array(are_root, bool) == below_root[..., None]


def fitted(heads: Iterable[int], deprels: Iterable[str]) -> tuple[str, ...]:
    """The relations, in the place of those that do not fit what says least.

    Example:
        >>> fitted([2, 0, 2], ["root", "nsubj", "obj"])
        ('dep', 'root', 'obj')
    """
    pairs = zip(heads, deprels, strict=True)
    return tuple(own if is_root(own) == (head == 0) else ROOT if head == 0 else OTHER for head, own in pairs)

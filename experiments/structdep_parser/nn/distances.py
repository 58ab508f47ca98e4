"""What the distance between two words says of a pair, which states of a BiLSTM tell late and roughly."""

import jax
import jax.numpy as jnp
from flax import nnx

LIMITS = (1, 2, 3, 4, 6, 9, 14)
"""Where classes of distances begin; there are as many in each direction."""
CLASSES = 2 * len(LIMITS)


def distance_classes(one: int, other: int) -> jax.Array:
    """The class of each pair of positions, one-hot, `[one, other, CLASSES]`; zero for a position and itself.

    Example:
        >>> distance_classes(5, 8).argmax(-1)[3]  # from the fourth position to each: to the left, and to the right
        Array([9, 8, 7, 0, 0, 1, 2, 3], dtype=int32)
    """
    apart = jnp.arange(other) - jnp.arange(one)[:, None]
    begun = (jnp.abs(apart)[..., None] >= jnp.array(LIMITS)).sum(-1)
    numbers = jnp.where(apart > 0, begun - 1, len(LIMITS) + begun - 1)
    return jax.nn.one_hot(jnp.where(apart == 0, -1, numbers), CLASSES)


class Distances(nnx.Module):
    """`b_tc + u_tc x + v_tc y` for each t, c being the class of the distance from x to y; starting from zero.

    So a word tells how far away, and on which side, it expects the other (Qi et al. 2018 score that, too).
    """

    def __init__(self, features: int, outputs: int) -> None:
        self.bias = nnx.Param(jnp.zeros((outputs, CLASSES)))
        self.one, self.other = (nnx.Param(jnp.zeros((outputs, CLASSES, features))) for _ in range(2))

    def of_each(self, x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        """`b_tc + u_tc x` of each x `[.., f]`, and `v_tc y` of each y: `[.., outputs CLASSES]`."""
        one, other = (table[...].reshape(-1, x.shape[-1]).T for table in (self.one, self.other))
        return x @ one + self.bias[...].reshape(-1), y @ other

    def pairs(self, of_one: jax.Array, of_other: jax.Array) -> jax.Array:
        """Every x with every y, from `of_each`, `[batch, n, ..]` and `[batch, m, ..]`: `[outputs, batch, n, m]`."""
        classes = distance_classes(of_one.shape[1], of_other.shape[1])
        one, other = (part.reshape(*part.shape[:2], -1, CLASSES) for part in (of_one, of_other))
        return jnp.einsum("bitc,ijc->tbij", one, classes) + jnp.einsum("bjtc,ijc->tbij", other, classes)

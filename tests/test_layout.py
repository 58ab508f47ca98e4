"""Where values lie: every slice of a chart or a table stays within its array, where JAX would move it silently."""

import jax
import jax.numpy as jnp
from test_systems import Declared, each_system

from structdep._engines.xla.filling import make_steps
from structdep._engines.xla.skewing import skew
from structdep._lowering.layout import Layout
from structdep._lowering.plan import plan
from structdep._lowering.views import Dim, Key, View
from structdep.deduction import DeductionSystem

SIZES = (1, 2, 3, 5, 9, 24, 41)


@each_system
def test_slices_stay_within_their_arrays(declared: Declared) -> None:
    made = plan(declared.system, frozenset(declared.system.declared))
    for widest in (size + declared.system.last for size in SIZES):
        layout = made.layout(widest)
        shapes = {key: (made.sizes[key[1]], *made.shape(key, layout)) for key in made.charts}
        for block in made.blocks(widest):
            for step in make_steps(made, layout, block):
                for view in (*(view for factors, _ in step.products for view in factors), *step.targets):
                    shape = shapes.get(view.key) or table_shape(layout, view.key, declared.system)
                    assert fits(view, shape, block.lo, block.hi)


def table_shape(layout: Layout, key: Key, system: DeductionSystem) -> tuple[int, ...]:
    _, arity = system.declared[key[1].split()[0]]
    return jax.eval_shape(lambda: skew(jnp.zeros((layout.nodes,) * arity), 0.0, key, layout)).shape


def fits(view: View, shape: tuple[int, ...], lo: int, hi: int) -> bool:
    dims = (Dim(min(view.rows), 0, max(view.rows) + 1 - min(view.rows), None), *view.dims[1:])
    corners = [(d.start + d.slope * width, d.size) for width in (lo, hi) for d in dims]
    return all(0 <= corner <= size - length for (corner, length), size in zip(corners, 2 * shape, strict=True))

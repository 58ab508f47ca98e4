"""Products seen from a premise of three positions: how wider items read it, for derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from structdep._engines.cpu.ranges import BEFORE, BEHIND, LAST, ROOT, Distances, Nest, ends_of, nest, third_of
from structdep._lowering.rewriting import Term
from structdep.deduction import Atom, Item, Score


@dataclass(frozen=True)
class Reading:
    """A product of `own`, of three positions, and what is beside it: the conclusion is the span of both.

    It reaches on one side from an end of `own` to the position `beyond`, at least so far away. `nest` is the loop over
    the third position of `own`, which is the same whatever is beyond.
    """

    own: Atom
    side: int
    beyond: str
    least: int
    nest: Nest

    @staticmethod
    def of(conclusion: Atom, term: Term, found: Distances, stored: Mapping[Item | Score, str]) -> Reading | None:
        """That of a product with these distances, if it is such a one, of an item that is `stored` for wider ones."""
        items = [atom for atom in term if atom.is_item]
        three = [atom for atom in items if len(atom.positions) == 3]
        if len(conclusion.positions) != 3 or len(items) != 2 or len(three) != 1 or stored[three[0].symbol] == "=":
            return None
        (own,) = three
        (other,) = (atom for atom in items if atom is not own)
        if own.is_exterior or conclusion.is_exterior or any(p.shift for atom in items for p in atom.positions):
            return None
        (start, end), (first, last) = ends_of(own), ends_of(conclusion)
        side, beyond, beside = (BEHIND, last, [end, last]) if start == first else (BEFORE, first, [first, start])
        is_both = start == first or end == last
        if not is_both or ends_of(other) != beside or not {*third_of(conclusion)} <= {*third_of(own), start, end}:
            return None
        apart = found[beside[0], beside[1]]
        loop = _loop(own, beyond, found, Distances({(beside[0], beside[1]): apart}))
        return Reading(own, side, beyond, apart, loop) if loop else None


def _loop(own: Atom, beyond: str, found: Distances, held: Distances) -> Nest | None:
    """That over the third position of an item, if nothing but what is held depends on the position beyond."""
    held |= {(ROOT, beyond): 0, (beyond, LAST): 0}
    whole = nest(found, (*ends_of(own), beyond), third_of(own), held)
    bounds = {name for loop in whole.loops for name, _ in (*loop.least, *loop.most)}
    bounds |= {name for *pair, _ in whole.conditions for name in pair}
    return None if beyond in bounds else whole

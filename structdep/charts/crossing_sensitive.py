"""1-Endpoint-Crossing trees of third order: uncrossed arcs see grandparents and siblings (Pitler 2014).

An arc scores `arc`, and if others cross it `crossed`, else `uncrossed`, then also with the head's head and with its
nearest sibling on the way to the head, where these are visible: a sibling is not if its own arc is crossed, a head's
head is not if the arc to it is, or if a crossed arc of the head separates it from the dependent.

Blocks of arcs that cross are those of the first order. What is planar has one more position, the head g of the end that
is the head of all (or does without: then it is not visible).

    T> T<  an uncrossed arc, from the left end or from the right end, and all that is below it
    C> C<  the left end and all that is below it, as far as the right end; the mirror image
    M  what follows the part of the left end: the part of the right end, or first blocks that lie between the two
    S  the parts of both ends, of which none is below the other
    U> U<  as below an arc of the ends, where the sibling is not visible
    Y> Y<  all below such an arc
"""

from collections.abc import Iterator
from dataclasses import dataclass

from structdep._once import once
from structdep.charts.gluing import Glued, useful
from structdep.charts.gluing import link as any_link
from structdep.charts.one_endpoint_crossing import I, K, blocks, left, right
from structdep.deduction import Atom, DeductionSystem, Item, Position, Product, Rule, Score, arc, indices, n

g, i, j, p, q, r, s = indices("g i j p q r s")
UNSEEN, TOP = Position("-"), Position("top")
uncrossed, crossed, grandparent, sibling, top, first = map(
    Score, ["uncrossed", "crossed", "grandparent", "sibling", "top", "first"]
)


@dataclass(frozen=True)
class Half:
    """An item by the head of one of its ends: a node outside, one that is not seen, or none, as the end is the root."""

    name: str

    def __getitem__(self, index: tuple[slice, Position]) -> Atom:
        span, head = index
        if head in (UNSEEN, TOP):
            return Item(self.name + head.name)[span.start, span.stop]
        return Item(self.name, exterior=True)[span, head]


T_right, T_left, C_right, C_left, Y_right, Y_left, M = map(Half, ["T>", "T<", "C>", "C<", "Y>", "Y<", "M"])
U_right, U_left = Item("U>"), Item("U<")
I_right, I_left = I.item("ii"), I.item("jj")
K_free, K_right, K_left = K.item("ij"), K.item("ii"), K.item("jj")


@once()
def crossing_sensitive() -> DeductionSystem:
    """1-Endpoint-Crossing trees with scores of up to three arcs, each with one derivation.

    An arc with the head h and the dependent m has the score `arc[h, m]`, and `crossed[h, m]` if another arc crosses it,
    else `uncrossed[h, m]`. An uncrossed arc also has the scores of its neighbours, by m and one other word:

    * `grandparent[g, m]`, where g is the head of h; `top[m]` if h is the root. No score if the arc from g is crossed,
      or if a crossed arc of h separates it from m.
    * `sibling[s, m]`, where s is the dependent of h between h and m that is closest to m; `first[m]` if there is none.
      No score if the arc from h to s is crossed.

    All scores have n+1 positions an axis and are optional; absent ones are 0.

    Returns:
        A system in time O(n^4) and space O(n^3).

    References:
        Pitler 2014, A crossing-sensitive third-order factorization for dependency parsing.

    Example:
        >>> system = crossing_sensitive()
        >>> system.complexity, [score.name for score in system.scores]
        ((4, 3), ['arc', 'uncrossed', 'crossed', 'grandparent', 'sibling', 'top', 'first'])
    """
    axioms = (C_right[i:i, g], C_left[i:i, g], C_right[i:i, UNSEEN], C_left[i:i, UNSEEN], C_right[i:i, TOP])
    goal = C_right[0:n, TOP]
    rules = [*uncrossed_arcs(), *halves(), *pairs(), *blocks(link), *left(link), *right(link)]
    scores = (arc, uncrossed, crossed, grandparent, sibling, top, first)
    kept = useful(rules, axioms, goal)
    return DeductionSystem("crossing_sensitive", axioms, kept, goal, scores, unambiguous=True, trees="1EC")


def link(a: Position, b: Position) -> Glued:
    """A crossed arc between two nodes, either way."""
    return any_link(a, b, crossed)


def uncrossed_arcs() -> Iterator[Rule]:
    """By the sibling: none, one whose arc is crossed, or s."""
    yield K_right[i, q] * S(q, j, UNSEEN, i) >> U_right[i, j]
    yield K_free[i, q] * C_left[q:j, i] >> U_right[i, j]
    yield S(i, q, j, UNSEEN) * K_left[q, j] >> U_left[i, j]
    yield C_right[i:q, j] * K_free[q, j] >> U_left[i, j]
    for head in (g, UNSEEN, TOP):
        yield C_left[i + 1 : j, i] * first[j] >> Y_right[i:j, head]
        yield T_right[i:s, head] * sibling[s, j] * S(s, j, i, i) >> Y_right[i:j, head]
        yield U_right[i, j] >> Y_right[i:j, head]
        yield Y_right[i:j, head] * down(i, j, head) >> T_right[i:j, head]
    for head in (g, UNSEEN):
        yield C_right[i : j - 1, j] * first[i] >> Y_left[i:j, head]
        yield S(i, s, j, j) * sibling[s, i] * T_left[s:j, head] >> Y_left[i:j, head]
        yield U_left[i, j] >> Y_left[i:j, head]
        yield Y_left[i:j, head] * down(j, i, head) >> T_left[i:j, head]


def down(head: Position, dependent: Position, over: Position) -> Product:
    """The scores of an uncrossed arc, and of the head's head `over`."""
    seen = {UNSEEN: (), TOP: (top[dependent],)}.get(over, (grandparent[over, dependent],))
    return Product((arc[head, dependent], uncrossed[head, dependent], *seen))


def halves() -> Iterator[Rule]:
    """By the farthest arc, uncrossed or in a block."""
    for head, half in ((g, C_right[i:j, g]), (UNSEEN, I_right[i, j]), (TOP, C_right[i:j, TOP])):
        yield T_right[i:p, head] * C_right[p:j, i] >> half
        yield K_right[i, p] * C_right[p:j, UNSEEN] >> half
    for head, half in ((g, C_left[i:j, g]), (UNSEEN, I_left[i, j])):
        yield C_left[i:p, j] * T_left[p:j, head] >> half
        yield C_left[i:p, UNSEEN] * K_left[p, j] >> half
    yield I_right[i, j] >> C_right[i:j, UNSEEN]
    yield I_left[i, j] >> C_left[i:j, UNSEEN]


def pairs() -> Iterator[Rule]:
    """First what follows the part of the left end, then both parts."""
    for head in (g, UNSEEN):
        yield C_left[i + 1 : j, head] >> M[i:j, head]
        yield K_free[i, q] * C_left[q:j, head] >> M[i:j, head]
    for heads in ((UNSEEN, UNSEEN), (UNSEEN, g), (g, UNSEEN), (g, g)):
        yield C_right[i:r, heads[0]] * M[r:j, heads[1]] >> S(i, j, *heads)


def S(left: Position, right: Position, over_left: Position, over_right: Position) -> Atom:
    """The parts of two ends, by the heads of both: one node, or unseen."""
    seen = [over for over in (over_left, over_right) if over != UNSEEN]
    if not seen:
        return I.item("ij")[left, right]
    name = "S" + "".join("-" if over == UNSEEN else "g" for over in (over_left, over_right))
    return Item(name, exterior=True)[left:right, seen[0]]

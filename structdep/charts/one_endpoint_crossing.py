"""1-Endpoint-Crossing trees: all arcs that cross an arc have a node in common (Pitler, Kannan, Marcus 2013).

Arcs that cross, and those that cross these, are a block. A tree is then planar in its uncrossed arcs and its blocks,
whose gaps are filled one by one. Each block is built in one way: from its leftmost node's longest arc (i, k), by where
the arcs that cross it meet. All other pieces are three-point items, an interval and a node x outside of it.

    I  all on an interval             S  the same without the arc of its ends, which is not crossed
    K  one block, its gaps filled     B  an uncrossed arc or a block, its gaps filled
    L  arcs from x into the interval, each crossed by arcs of the left end i alone; L2: two or more arcs from x
    R  the same with the right end j; R2: two or more
    CL, CR  all arcs from x are crossed by arcs of i (of j), and the other end has one of these: closed there
    CC, CC2  in CR without the arc of the ends; CC2: as L2 wants it
"""

from collections.abc import Iterator

from structdep._once import once
from structdep.charts.gluing import Link, Piece, link, maybe, useful
from structdep.deduction import DeductionSystem, Item, Rule, indices, n

i, j, k, l, m, p, x = indices("i j k l m p x")
E = Item("E")
I, B, K, S = map(Piece, "IBKS")


def outer(names: str) -> Iterator[Piece]:
    """Pieces on an interval and a node outside."""
    return (Piece(name, "ijx", exterior=True) for name in names.split())


def inner(names: str) -> Iterator[Piece]:
    """Pieces on an interval and a node inside."""
    return (Piece(name, "imj") for name in names.split())


L, L2, Ld, VL, LX, LC, Lo, CL, CC, CC2 = outer("L L2 Ld VL LX LC Lo CL CC CC2")
R, R2, Rd, VR, CR = outer("R R2 Rd VR CR")
WL, WR, WCL, WCC, WCC2, Q = inner("WL WR WCL WCC WCC2 Q")


@once()
def one_endpoint_crossing() -> DeductionSystem:
    """1-Endpoint-Crossing trees, each with one derivation: all arcs that cross an arc share an endpoint.

    Arcs from the root count as arcs that cross others. The trees are 96 to 100 % of the trees of treebanks, 97.6 % of
    the training trees of Gothic (UD 2.0). Only arcs have scores; `crossing_sensitive` has the same trees with scores of
    more than one arc.

    Returns:
        A system in time O(n^4) and space O(n^3).

    References:
        Pitler, Kannan and Marcus 2013, Finding optimal 1-endpoint-crossing trees.

    Example:
        >>> system = one_endpoint_crossing()
        >>> print(str(system).splitlines()[0], len(system.rules))
        one_endpoint_crossing: time O(n^4), space O(n^3), one derivation a tree 289
    """
    axioms = (E[i, i],)
    goal = I.item("ii")[0, n]
    rules = useful([*planar(), *blocks(), *left(), *right()], axioms, goal)
    return DeductionSystem("one_endpoint_crossing", axioms, rules, goal, unambiguous=True, trees="1EC")


def planar() -> Iterator[Rule]:
    yield I.item("jj")[i, j] >> E[i, j]
    yield E[i + 1, j] >> S.item("ij")[i, j]
    yield from K[i, j] >> S[i, j]
    yield from B[i, p] * I[p, j] >> S[i, j]
    yield from S[i, j] * maybe(link(i, j)) >> I[i, j]
    yield from S[i, j] * link(i, j) >> B[i, j]
    yield from K[i, j] >> B[i, j]


def blocks(link: Link = link) -> Iterator[Rule]:
    """By where the arcs that cross (i, k), the longest of i, meet: within it; beyond k, at p or before."""
    yield from I[i, k] * CL[k:p, i] >> K[i, p]
    yield from L2[i:k, p] * link(i, k) * I[k, p] >> K[i, p]
    yield from I[i, k] * CC2[k:p, i] >> K[i, p]
    yield from Lo[i:k, p] * CC[k:p, i] >> K[i, p]
    yield from VR[i:k, l] * Q[k, l, p] >> K[i, p]
    yield from I[k, l] * LC[l:p, k] >> Q[k, l, p]


def left(link: Link = link) -> Iterator[Rule]:
    """Arcs of the left end cross those from x, of which (x, m) is the last, or the only one."""
    yield from WL[i, m, j] * link(x, m) >> L[i:j, x]
    yield from I[i, m] * I[m, j] >> WL[i, m, j]
    yield from I[i, m] * Ld[m:j, i] >> WL[i, m, j]
    yield from L2[i:j, x] >> L[i:j, x]
    yield from VL[i:m, x] * I[m, j] >> L2[i:j, x]
    yield from Ld[i:m, x] * link(x, m) >> VL[i:m, x]
    yield from L2[i:m, x] * link(i, m) >> VL[i:m, x]
    yield from L[i:j, x] * maybe(link(i, j)) >> Ld[i:j, x]
    yield from Ld[i:j, x] * link(j, x) >> LX[i:j, x]
    yield from I[i, j] * link(j, x) >> LX[i:j, x]
    yield from LX[i:j, x] >> Lo[i:j, x]
    yield from Ld[i:j, x] >> Lo[i:j, x]
    yield from LX[i:j, x] >> LC[i:j, x]
    yield from CL[i:j, x] >> LC[i:j, x]
    yield from L[i:j, x] * link(i, j) >> CL[i:j, x]
    yield from WCL[i, m, j] * link(x, m) >> CL[i:j, x]
    yield from I[i, m] * CL[m:j, i] >> WCL[i, m, j]


def right(link: Link = link) -> Iterator[Rule]:
    """Arcs of the right end cross those from x."""
    yield from WR[i, m, j] * link(x, m) >> R[i:j, x]
    yield from I[i, m] * I[m, j] >> WR[i, m, j]
    yield from Rd[i:m, j] * I[m, j] >> WR[i, m, j]
    yield from R2[i:j, x] >> R[i:j, x]
    yield from I[i, m] * VR[m:j, x] >> R2[i:j, x]
    yield from Rd[m:j, x] * link(x, m) >> VR[m:j, x]
    yield from R2[m:j, x] * link(m, j) >> VR[m:j, x]
    yield from R[i:j, x] * maybe(link(i, j)) >> Rd[i:j, x]
    yield from R[i:j, x] * link(i, j) >> CR[i:j, x]
    yield from CC[i:j, x] >> CR[i:j, x]
    yield from WCC[i, m, j] * link(x, m) >> CC[i:j, x]
    yield from CR[i:m, j] * I[m, j] >> WCC[i, m, j]
    yield from WCC2[i, m, j] * link(x, m) >> CC2[i:j, x]
    yield from R2[i:m, j] * link(i, m) * I[m, j] >> WCC2[i, m, j]

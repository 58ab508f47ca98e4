"""MH_4 with each tree once: reduce early, bracket small, left before right, by a finite state on each item."""

from __future__ import annotations

from typing import NamedTuple

from structdep.charts.mhk import joined, link, mhk
from structdep.deduction import Atom, DeductionSystem, Item, Position, Rule, indices, n

a, b, c, d, x = indices("a b c d x")


class State(NamedTuple):
    """What may still happen to an item of three heads; `last` is the arc that came last."""

    P: int
    Q: int
    last: str


STATES = {
    **{f"rp{P}": State(P, 0, "rp") for P in (1, 2)},
    **{f"ra{P}": State(P, 0, "ra") for P in (1, 2)},
    **{f"rb{P}{Q}": State(P, Q, "rb") for P in (1, 2) for Q in (0, 1)},
    **{f"rd{Q}": State(0, Q, "rd") for Q in (0, 1)},
    **{f"re{Q}": State(0, Q, "re") for Q in (0, 1)},
    **{f"l{P}": State(P, 0, "l") for P in (0, 1, 2)},
    **{f"la{P}": State(P, 0, "l") for P in (0, 1)},
    **{f"lb{P}": State(P, 1, "l") for P in (0, 1, 2)},
    **{name: State(0, 1, "l") for name in ("ld", "le")},
    **{name: State(0, 1, "lx") for name in ("lxb", "lxd")},
}
"""The items of three heads; of those with one state, each can go on by other arcs in the step that makes it."""


def mh4_trees(transitions: bool = False) -> DeductionSystem:
    """The trees of `mhk(4)`, each with one derivation, in time O(n^4).

    Items I have two heads and a class z, p, f or x. Items N have three, with an arc that crosses over the inner one,
    and a `State`; names in braces stand for sums. `transitions` adds the scores of `mhk(4, transitions=True)`: a tree
    has one sequence of transitions.

    Example:
        >>> import jax.numpy as jnp, structdep as sd
        >>> jnp.exp(sd.inside(mh4_trees(), jnp.zeros((5, 5)), semiring=sd.Counting)).round()
        Array(118., dtype=float32)
    """
    system = mhk(4, transitions)
    rules = _Rules(transitions)
    rules.join_two()
    rules.grow_right()
    rules.grow_left()
    rules.close()
    rules.define_sums()
    name = system.name.replace("mh4", "mh4_trees")
    axioms, goal = (I_z[a, a + 1],), I[0, n + 1]
    return DeductionSystem(
        name, axioms, tuple(rules), goal, system.scores, unambiguous=True, trees=system.trees, for_best=mhk(4)
    )


I, I_zp, I_zpf, T = (Item(name) for name in ("I", "I{zp}", "I{zpf}", "T"))
I_z, I_p, I_f, I_x = (Item(f"I{c}") for c in "zpfx")
N = {name: Item(f"N{name}") for name in STATES}


class _Rules(list[Rule]):
    """The rules, as the methods add them."""

    def __init__(self, transitions: bool) -> None:
        self.transitions = transitions
        self.sums: dict[frozenset[str], Item] = {}
        for total, members in ((I, (I_zpf, I_x)), (I_zpf, (I_zp, I_f)), (I_zp, (I_z, I_p))):
            self.extend(member[a, b] >> total[a, b] for member in members)

    def join_two(self) -> None:
        """D: two parts and an arc; T: three parts, of which the third comes with the first arc."""
        for same in (I_z, I_f, I_x):
            self.step(same[a, b], I[b, d], (d, b), same)
        self.step(I[a, b], I_zp[b, d], (a, b), I_p)
        self.append(joined(I[a, b], I[b, c], self.transitions) >> T[a, b, c])

    def grow_right(self) -> None:
        """T and R: a part on the right, and an arc."""
        for P, part in ((1, I_zpf), (2, I_x)):
            self.step(T[a, b, c], part[c, d], (a, c), N[f"rp{P}"])
            self.step(self.some(last="rp")[a, b, c], part[c, d], (a, c), N[f"rp{P}"])
            self.step(self.some(last="ra rb rd re l lx")[a, b, c], part[c, d], (a, c), N[f"ra{P}"])
            for Q in "01":
                self.step(self.some(Q=Q)[a, b, c], part[c, d], (b, c), N[f"rb{P}{Q}"])
        self.step(T[a, b, c], I[c, d], (d, b), N["re1"])
        for Q in "01":
            self.step(self.some(Q=Q)[a, b, c], I[c, d], (d, b), N[f"re{Q}"])
            self.step(self.some(P="0", Q=Q)[a, b, c], I[c, d], (d, c), N[f"rd{Q}"])

    def grow_left(self) -> None:
        """L: a part on the left, and an arc."""
        for P in "012":
            self.step(I[a, x], self.some(P=P, last="rb re l lx")[x, b, d], (a, b), N[f"l{P}"])
            self.step(I[a, x], self.some(P=P, last="ra rp l")[x, b, d], (b, x), N[f"lb{P}"])
        self.step(I[a, x], self.some(last="lx")[x, b, d], (b, x), N["lxb"])
        self.step(I[a, x], self.some(last="rp")[x, b, d], (d, x), N["lxd"])
        self.step(I[a, x], self.some(last="ra rd")[x, b, d], (d, x), N["ld"])
        self.step(I[a, x], self.some(last="rb re l lx")[x, b, d], (d, x), N["le"])
        self.step(I[a, x], self.some(P="2", Q="0", last="ra rp l")[x, b, d], (a, x), N["l2"])
        self.step(I[a, x], self.some(P="1", last="ra rp")[x, b, d], (a, x), N["l1"])
        for P in "01":
            self.step(I[a, x], self.some(P=P, Q="0", last="l")[x, b, d], (a, x), N[f"la{P}"])

    def close(self) -> None:
        """The arc that comes after another in one step, and leaves two heads."""
        for names, head, gives in (
            ("rp1 rp2 ra1 ra2", d, I_z),
            ("rb10 rb20 rd0", d, I_f),
            ("rb11 rb21 rd1 lb0 lb1 lb2 lxb", d, I_x),
            ("le la0 lb0", a, I_z),
            ("rb10 rb11 la1 lb1", a, I_p),
        ):
            arc = link((a, b, d), head, b, self.transitions)
            self.extend(N[name][a, b, d] * arc >> gives[a, d] for name in names.split())

    def some(self, P: str = "012", Q: str = "01", last: str = "ra rp rb rd re l lx") -> Item:
        """The sum of the items of three heads in some states."""
        states = frozenset(m for m, s in STATES.items() if str(s.P) in P and str(s.Q) in Q and s.last in last.split())
        return self.sums.setdefault(states, Item(f"N{{{P},{Q},{last}}}"))

    def define_sums(self) -> None:
        """The sums, each made of smaller ones as far as they go."""
        for states, total in self.sums.items():
            rest, smaller = set(states), [known for known in self.sums if known < states]
            for known in sorted(smaller, key=len, reverse=True):
                if known <= rest:
                    rest -= known
                    self.append(self.sums[known][a, b, d] >> total[a, b, d])
            self.extend(N[m][a, b, d] >> total[a, b, d] for m in STATES if m in rest)

    def step(self, left: Atom, right: Atom, arc: tuple[Position, Position], gives: Item) -> None:
        """Two parts side by side, and an arc between two of their heads."""
        heads = (*left.positions, *right.positions[1:])
        kept = tuple(h for h in heads if h != arc[1])
        self.append(joined(left, right, self.transitions) * link(heads, *arc, self.transitions) >> gives[kept])

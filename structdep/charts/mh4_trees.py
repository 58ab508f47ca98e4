"""MH_4 with each tree once: arcs as early as possible, smaller joins before larger ones, left before right.

Items I[a,d] have two heads, items N[a,b,d] have three; both have a finite state, which restricts the rules that may use
them: z, p, f or x of I, a `State` of N. Names in braces, such as I{zp}, are sums over states. A rule joins
adjacent items and adds an arc; where several joins or arcs could come first, the state admits one of them.
"""

from __future__ import annotations

from typing import NamedTuple

from structdep._once import once
from structdep.charts.mhk import joined, link, mhk
from structdep.deduction import Atom, DeductionSystem, Item, Position, Rule, indices, n

a, b, c, d, x = indices("a b c d x")


class State(NamedTuple):
    """What may still happen to an item of three heads: `last` is the arc that came last.

    The numbers P of an item (0, 1, 2) differ only in what they allow beside what all do. So P is "*" for what all do,
    and "0" or "1" for the rest, in an item of its own where several P are possible: a tree takes one of the two.
    """

    P: str
    Q: int
    last: str


STATES = {
    "T": State("*", 1, "t"),
    **{name: State("*", 0, name) for name in ("rp", "ra")},
    **{f"rb{Q}": State("*", Q, "rb") for Q in (0, 1)},
    **{f"{last}{Q}": State("*0", Q, last) for last in ("rd", "re") for Q in (0, 1)},
    **{name: State("*", 0, "l") for name in ("l", "la")},
    "lb": State("*", 1, "l"),
    "lb'": State("", 1, "l"),  # for the next arc of its step alone
    **{name: State("0", 0, "l") for name in ("l0", "la0")},
    **{name: State("0", 1, "l") for name in ("lb0", "ld0")},
    "lxb": State("0", 1, "lx"),
    "ra'": State("1", 0, "ra"),
    "rb'": State("1", 0, "rb"),
    **{name: State("1", 0, "l") for name in ("l1", "la1")},
    "lb1": State("1", 1, "l"),
}
"""The items of three heads; of those with one state, each can go on by other arcs in the step that makes it."""

ARCS = "rp ra rb rd re l lx"


@once()
def mh4_trees(transitions: bool = False) -> DeductionSystem:
    """The trees of `mhk(4)`, each with one derivation.

    The items are those of `mhk(4)` with finite states, which admit one order of joins and arcs for each tree. Where
    only arcs have scores, queries for best trees use the rules of `mhk(4)`, which are fewer.

    Args:
        transitions: also read the scores of `mhk(4, transitions=True)`; a tree has one sequence of transitions.

    Returns:
        A system in time O(n^4) and space O(n^3).

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


I, I_zp, I_zpf = (Item(name) for name in ("I", "I{zp}", "I{zpf}"))
I_z, I_p, I_f, I_x = (Item(f"I{c}") for c in "zpfx")
N = {name: Item(f"N{name}") for name in STATES}
T = N["T"]


class _Rules(list[Rule]):
    """The rules, as the methods add them."""

    def __init__(self, transitions: bool) -> None:
        self.transitions = transitions
        self.sums: dict[frozenset[str], Item] = {}
        for total, members in ((I, (I_zpf, I_x)), (I_zpf, (I_zp, I_f)), (I_zp, (I_z, I_p))):
            self.extend(member[a, b] >> total[a, b] for member in members)

    def join_two(self) -> None:
        """Two parts and an arc; or three parts, of which the third comes with the first arc."""
        for same in (I_z, I_f, I_x):
            self.step(same[a, b], I[b, d], (d, b), same)
        self.step(I[a, b], I_zp[b, d], (a, b), I_p)
        self.append(joined(I[a, b], I[b, c], self.transitions) >> T[a, b, c])

    def grow_right(self) -> None:
        """A part on the right, and an arc."""
        for last, gives in (("t rp", "rp"), ("ra rb rd re l lx", "ra")):
            self.step(self.some(last=last)[a, b, c], I[c, d], (a, c), N[gives])
        self.step(self.some(last=f"t {ARCS}")[a, b, c], I_zpf[c, d], (a, c), N["ra'"])
        self.step(self.some()[a, b, c], I_zpf[c, d], (b, c), N["rb'"])
        for Q in "01":
            self.step(self.some(Q=Q)[a, b, c], I[c, d], (b, c), N[f"rb{Q}"])
            self.step(self.some(Q=Q, last=f"t {ARCS}")[a, b, c], I[c, d], (d, b), N[f"re{Q}"])
            self.step(self.some("0", Q)[a, b, c], I[c, d], (d, c), N[f"rd{Q}"])

    def grow_left(self) -> None:
        """A part on the left, and an arc."""
        for P, name in (("*", ""), ("0", "0"), ("1", "1")):
            self.step(I[a, x], self.some(P, last="rb re l lx")[x, b, d], (a, b), N[f"l{name}"])
        for P, last, gives in (("*", "ra rp l", "lb"), ("0", "l", "lb0"), ("0", "lx", "lxb"), ("1", "ra l", "lb1")):
            self.step(I[a, x], self.some(P, last=last)[x, b, d], (b, x), N[gives])
        for last, gives in ((ARCS, "lb"), ("rp", "lxb"), ("ra rb rd re l lx", "ld0")):
            self.step(I[a, x], self.some(last=last)[x, b, d], (d, x), N[gives])
        for P, last, gives in (("*", "ra rp l", "la"), ("0", "l", "la0"), ("1", "ra", "l1"), ("1", "l", "la1")):
            self.step(I[a, x], self.some(P, "0", last)[x, b, d], (a, x), N[gives])

    def close(self) -> None:
        """The arc that comes after another in one step, and leaves two heads.

        Of a→b and d→x, a→b is the first: the item that it makes is there anyway.
        """
        for names, head, gives in (
            ("rp ra l", d, I_z),
            ("rb0 rd0", d, I_f),
            ("rb1 rd1", d, I_x),
            ("la0 lb0", a, I_z),
            ("rb' la1 lb1", a, I_p),
        ):
            arc = link((a, b, d), head, b, self.transitions)
            self.extend(N[name][a, b, d] * arc >> gives[a, d] for name in names.split())
        self.close_within()

    def close_within(self) -> None:
        """b→x and d→b, both within the part on the right: in time O(n^3), if no score of a transition looks at a."""
        part, last = self.some(last="ra rp l")[x, b, d], link((a, b, d), d, b, self.transitions)
        if self.transitions:
            self.step(I[a, x], part, (b, x), N["lb'"])
            self.append(N["lb'"][a, b, d] * last >> I_x[a, d])
        else:
            self.append(I[a, x] * part * link((x, b, d), b, x, False) * last >> I_x[a, d])

    def some(self, P: str = "*", Q: str = "01", last: str = ARCS) -> Item:
        """The item of three heads in some states, or the sum of theirs."""
        states = frozenset(m for m, s in STATES.items() if P in s.P and str(s.Q) in Q and s.last in last.split())
        return N[min(states)] if len(states) == 1 else self.sums.setdefault(states, Item(f"N{{{P},{Q},{last}}}"))

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

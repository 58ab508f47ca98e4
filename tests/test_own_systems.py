"""Systems of one's own, by hand: every engine says what the reference interpreter says."""

from __future__ import annotations

import pytest
from reference_checks import check

from structdep.deduction import Atom, DeductionSystem, Item, Rule, Score, arc, either, indices, n

i, j, k, m, x = indices("i j k m x")
I, A, E = Item("I"), Item("A"), Item("E")
V, W = (Item(name, state_class="state") for name in "VW")
S, T = (Item(name, state_class="inner") for name in "ST")
sibling, other = Score("sibling"), Score("other")

OWN_SCORE = DeductionSystem(
    "mine",
    axioms=(I[i, i + 1],),
    rules=(I[i, k] * I[k, j] * either(arc[i, k] * sibling[i, k, j], arc[j, k]) >> I[i, j],),
    goal=I[0, n + 1],
    scores=(arc, sibling),
)
"""Arc-hybrid with a score of its own, declared in three lines."""

TWO_AXIOMS = DeductionSystem(
    "steps",
    axioms=(A[i, i + 1], A[i, i + 2]),
    rules=(A[i, j] * arc[i, j] >> E[i, j], E[i, k] * A[k, j] * arc[i, j] >> E[i, j], E[i, k] * E[k + 1, j] >> A[i, j]),
    goal=E[0, n],
)
"""From the root to the last word by steps of one and two words, and longer ones: an item with axioms of two widths."""

AXIOM_ALONE = DeductionSystem(
    "one word", axioms=(A[i, i + 1],), rules=(A[i, k] * A[k, j] * arc[i, j] >> E[i, j],), goal=A[0, n]
)
"""A goal that no rule derives."""

NOT_ALL_WORDS = DeductionSystem(
    "not all words",
    axioms=(I[i, i + 1], A[i, i + 1]),
    rules=(I[i, k] * A[k, j] * arc[i, k] >> I[i, j], I[i, k] * A[k, j] >> I[i, j]),
    goal=I[0, n + 1],
    unambiguous=True,
)
"""Each word has an arc from the root, or none: no scores of arcs are common to all derivations."""

ANY_MIDDLE = DeductionSystem(
    "any middle",
    axioms=(A[i, i + 1],),
    rules=(A[i, k] * A[k, j] * arc[i, j] >> A[i, j], A[i, k] * A[k, j] * arc[j, k] >> E[i, k, j]),
    goal=E[0, k, n],
)
"""A goal at any of its inner positions."""

STATES = DeductionSystem(
    "states",
    axioms=(A[i, i + 1],),
    rules=(
        A[i, j] * arc[i, j] >> V[i, j],
        V[i, k] * W[k, j] * arc[i, j] >> V[i, j],
        V[i, k] * V[k, j] * arc[i, j] >> V[i, j],
        V[i, j] * arc[j, i] >> W[i, j],
        V[i, j] >> E[i, j],
        E[i, j] * arc[j, i] >> W[i, j],
    ),
    goal=W[0, n],
)
"""Items of one state class of which some need others first, at their own width: W needs V, as does V + W, read by V."""

INNER_SUMS = DeductionSystem(
    "inner sums",
    axioms=(A[i, i + 1],),
    rules=(
        A[i, k] * A[k, j] * arc[i, k] >> S[i, k, j],
        S[i, k, j] * arc[j, k] >> T[i, k, j],
        S[i, m, k] * T[k, x, j] * arc[i, j] >> A[i, j],
        T[i, m, k] * A[k, j] >> E[i, j],
        E[i, j] >> A[i, j],
    ),
    goal=A[0, n],
)
"""Items of one state class whose inner positions are summed before they meet another one."""


P, Q, X, G = Item("P"), Item("Q"), Item("X", exterior=True), Item("G")
pair, triple, word = Score("pair"), Score("triple"), Score("word")
SPANS = P[i, k] * P[k, j] * arc[i, k] >> P[i, j]
INSIDE = P[i, k] * P[k, j] * arc[k, i] >> T[i, k, j]
OUTSIDE = P[i, j] * arc[x, j] >> X[i:j, x]


EXTERIOR_FIRST = DeductionSystem(
    "exterior first",
    axioms=(Q[i, i + 1],),
    rules=(P[i, k] * Q[k, j] >> X[i:j, x], P[i, k] * Q[k, j] >> Q[i, j], Q[i, k] * Q[k, j] * arc[i, j] >> P[i, j]),
    goal=Q[0, n],
)
"""The first item to be made has more positions than the others."""


def spans(
    name: str,
    *rules: Rule,
    scores: tuple[Score, ...] = (),
    axioms: tuple[Atom, ...] = (P[i, i + 1],),
    goal: Atom = Q[0, n],
) -> DeductionSystem:
    """A system of spans P, and of what more rules make of them."""
    return DeductionSystem(name, axioms, (SPANS, *rules), goal, (arc, *scores))


CORNERS = (
    spans("a variable twice", OUTSIDE, X[i:k, k + 1] * P[k, j] >> Q[i, j]),
    spans("an exterior position alone", OUTSIDE, X[i:j, x] >> Q[i, j]),
    spans("an exterior position alone, beside another premise", OUTSIDE, X[i:k, x] * P[k, j] >> Q[i, j]),
    spans("an exterior position without scores", P[i, j] >> X[i:j, x], X[i:j, x] * arc[i, j] >> Q[i, j]),
    spans("an exterior position beside others", OUTSIDE, X[i:j, x + 1] * arc[i, x - 1] >> Q[i, j]),
    spans("beside the split", P[i, k - 1] * P[k, j] * arc[k, i] >> Q[i, j], Q[i, k] * P[k + 1, j] >> Q[i, j]),
    spans("before the root", P[i, j] * pair[i - 1, j] >> Q[i, j], P[i, j] * arc[j, i] >> Q[i, j], scores=(pair,)),
    spans("neighbours", P[i, k] * P[k, j] * pair[k, k + 1] * word[k - 1] >> Q[i, j], scores=(pair, word)),
    spans("axioms that overlap", X[i:j, x] * arc[i, x] >> Q[i, j], axioms=(P[i, i + 1], X[i:i, x], X[i:i, i])),
    spans(
        "a goal that reads backwards", P[0, k] * P[k, n] * triple[n, k, 0] >> G[0, n], goal=G[0, n], scores=(triple,)
    ),
    spans(
        "a goal with inner positions",
        INSIDE,
        P[0, k] * T[k, m, n] * arc[k, m] >> G[0, n],
        T[0, m, k] * P[k, n] * arc[m, 1] >> G[0, n],
        goal=G[0, n],
    ),
    spans(
        "a middle loop of one node",
        T[i, m, k] * P[k, j] * arc[m, j] >> S[i, m, j],
        P[i, k] * T[k, m, j] * arc[m, i] >> S[i, m, j],
        S[i, m, j] * arc[i, j] >> Q[i, j],
        axioms=(P[i, i + 1], T[i, i, i]),
    ),
    spans(
        "scores that bound the ends of what wider items read",
        P[i, k] * T[k, m, j] * word[j + 1] >> T[i, m, j],
        P[i, k] * T[k, m, j] * arc[i, k] * word[i - 1] >> S[i, m, j],
        S[i, m, j] * arc[i, j] >> Q[i, j],
        scores=(word,),
        axioms=(P[i, i + 1], T[i, i, i]),
    ),
    spans(
        "a sum from the root on",
        INSIDE,
        T[0, m + 1, n] >> G[0, n],
        goal=G[0, n],
        axioms=(P[i, i + 1], T[i, i, i + 1]),
    ),
    spans(
        "an exterior position before the root",
        X[0:n, n - 1] * word[0] >> G[0, n],
        goal=G[0, n],
        scores=(word,),
        axioms=(P[i, i + 1], X[i:i, x]),
    ),
)
"""What the notation allows and few systems use."""

OWN = {
    one.name: one
    for one in (
        OWN_SCORE,
        NOT_ALL_WORDS,
        TWO_AXIOMS,
        AXIOM_ALONE,
        ANY_MIDDLE,
        STATES,
        INNER_SUMS,
        EXTERIOR_FIRST,
        *CORNERS,
    )
}


QUICK = (OWN_SCORE.name, NOT_ALL_WORDS.name, TWO_AXIOMS.name, STATES.name, INNER_SUMS.name, EXTERIOR_FIRST.name)
"""What XLA also runs each time: it takes long to compile the others."""


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow_by_xla) for name in OWN]
)
def test_systems_by_hand(name: str, engine: str) -> None:
    check(OWN[name], alone=engine == "cpu")

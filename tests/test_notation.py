"""The notation: what a system prints, and how badly formed ones are refused."""

from collections.abc import Callable
from typing import Any

import pytest

from structdep.charts import eisner, mhk
from structdep.deduction import Atom, DeductionSystem, Item, Product, Rule, Score, arc, either, indices, n


def test_mh4_prints_as_in_the_paper() -> None:
    assert str(mhk(4)).splitlines() == [
        "mh4: time O(n^4), space O(n^3), several derivations a tree",
        "  ⊢  H2[h1,h1+1]",
        "  H2[h1,h2]  H2[h2,h3]  ⊢  H3[h1,h2,h3]",
        "  H2[h1,h2]  H3[h2,h3,h4]  ⊢  H4[h1,h2,h3,h4]",
        "  H3[h1,h2,h3]  H2[h3,h4]  ⊢  H4[h1,h2,h3,h4]",
        "  H4[h1,h2,h3,h4]  (arc[h1,h2] ⊕ arc[h3,h2] ⊕ arc[h4,h2])  ⊢  H3[h1,h3,h4]",
        "  H4[h1,h2,h3,h4]  (arc[h1,h3] ⊕ arc[h2,h3] ⊕ arc[h4,h3])  ⊢  H3[h1,h2,h4]",
        "  H3[h1,h2,h3]  (arc[h1,h2] ⊕ arc[h3,h2])  ⊢  H2[h1,h3]",
        "  goal  H2[0,n+1]",
    ]


def test_mhk_refuses_what_is_not_defined() -> None:
    with pytest.raises(ValueError, match="k >= 3 heads an item, not 2"):
        mhk(2)
    with pytest.raises(ValueError, match=r"not for mhk\(5\): score its arcs alone"):
        mhk(5, transitions=True)


i, j, k, l, x = indices("i j k l x")
I, J, T, X = Item("I"), Item("J"), Item("T"), Item("X", exterior=True)
STEP = I[i, k] * I[k, j] * either(arc[i, k], arc[j, k]) >> I[i, j]
AXIOM, GOAL = I[i, i + 1], I[0, n + 1]


def declare(
    *rules: Rule,
    axioms: tuple[Atom, ...] = (AXIOM,),
    goal: Atom = GOAL,
    scores: tuple[Score, ...] = (arc,),
    **further: Any,
) -> DeductionSystem:
    return DeductionSystem("mine", axioms, (STEP, *rules), goal, scores=scores, **further)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (I[i, k] * I[k, j] * arc[x, k] >> I[i, j], "position x is bound by no premise"),
        (I[i, k] * I[k, j] * arc[i, k] >> T[i, x, j], "position x is bound by no premise"),
        (
            I[i, k] * I[k, j] * Score("sib")[i, k, j] >> I[i, j],
            r"unknown score sib\[i,k,j\] \(the system declares arc\)",
        ),
        (J[i, k] * I[k, j] * arc[i, k] >> I[i, j], r"no rule or axiom derives J\[i,k\]"),
        (I[i, k] * I[l, j] * arc[i, k] >> I[i, j], "the premises must lie side by side"),
        (I[k, j] * I[i, k] * arc[i, k] >> I[i, j], "the premises must lie side by side"),
        (I[i, k] * I[k, l] * I[l, j] * arc[i, k] >> I[i, j], "a rule concludes an item from one or two items"),
        (Product((arc[i, j],)) >> I[i, j], "a rule concludes an item from one or two items"),
        (I[i, j] >> arc[i, j], "a rule concludes an item from one or two items"),
        (I[i, i] * I[i, j] * arc[i, j] >> J[i, j], r"I\[i,i\] names the position i twice"),
        (I[i, j] * arc[0, j] >> J[i, j], "positions 0 and n stand in rules for the goal alone"),
        (I[0, j] * arc[0, j] >> J[0, j], r"in a conclusion only if it is the goal I\[0,n\+1\]"),
        (I[i, j] * arc[i, j] >> T[i, i, j], r"T\[i,i,j\] names the position i twice"),
        (I[i, j] * arc[i, j] >> J[i, j + 1], r"J\[i,j\+1\] must name plain positions: shift those of the premises"),
        (
            I[i, k] * I[k + 1, j + 1] * arc[i, j] >> J[i, j],
            "must begin where the conclusion does, at i, and end with it",
        ),
        (I[i + 1, j + 1] * arc[i, j] >> J[i, j], "must begin where the conclusion does, at i, and end with it, at j"),
        (I[i, j + 1] * arc[i, j] >> I[i, j], r"the premise I\[i,j\+1\] can be wider than the conclusion"),
        (I[i, k + 2] * I[k, j] * arc[i, j] >> J[i, j], r"the premise I\[i,k\+2\] can be wider than the conclusion"),
        (J[i, k] * I[k, j] * arc[i, k] >> J[i, j], r"no axiom leads to J\[i,k\], which follows only from itself"),
        (I[i, k] * I[k, j] * either(I[i, k], arc[i, k]) >> I[i, j], "alternatives are of scores"),
    ],
)
def test_a_badly_formed_rule_raises_and_is_quoted(rule: Rule, message: str) -> None:
    with pytest.raises(ValueError, match=rf"^mine: .*{message}") as error:
        declare(rule)
    assert repr(rule) in str(error.value)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: declare(scores=(arc, Score("sib"))), "no rule mentions the declared score 'sib'"),
        (lambda: declare(scores=(arc, Score(".node"))), "rename the score '.node'"),
        (lambda: declare(goal=T[0, n + 1]), r"nothing derives the goal T\[0,n\+1\]"),
        (lambda: declare(goal=I[1, n]), r"the goal I\[1,n\] must span the sentence: 0 to n, or 0 to the sentinel n\+1"),
        (lambda: declare(axioms=(I[i, j],)), r"write the axiom I\[i,j\] from its left end on"),
        (lambda: declare(axioms=(I[0, 1],)), r"write the axiom I\[0,1\] from its left end on"),
        (
            lambda: DeductionSystem("mine", (AXIOM,), (I[i, k] * I[k, j] * arc[i, k, j] >> I[i, j],), GOAL),
            r"an arc has two positions.* not arc\[i,k,j\]",
        ),
        (lambda: declare(scores=(arc, Score("label"))), "scores named 'label' are those of labelled arcs"),
        (
            lambda: declare(axioms=(AXIOM, J[i, i - 1])),
            r"the positions of the axiom J\[i,i-1\] must stand in the order",
        ),
        (lambda: declare(axioms=(AXIOM, T[i, i + 3, i + 2])), r"of the axiom T\[i,i\+3,i\+2\] must stand in the order"),
        (
            lambda: declare(axioms=(AXIOM, X[i : i + 2, i + 1])),
            r"the axiom X\[i:i\+2,i\+1\] names an exterior position within its span",
        ),
        (
            lambda: declare(I[i, j] * arc[x, i] >> X[i:j, x], goal=X[0 : n + 1, x]),
            r"the goal X\[0:n\+1,x\] names a position outside its span",
        ),
        (
            lambda: declare(I[0, k] * I[k, n + 1] >> GOAL),
            "I is used at other positions, too: give the goal an item of its own",
        ),
        (lambda: declare(axioms=(AXIOM, AXIOM)), r"the axiom I\[i,i\+1\] is given twice"),
        (lambda: declare(axioms=(AXIOM, I[i, i + 2])), r"the rule  I\[i,k\].*  also derives the axiom I\[i,i\+2\]"),
        (
            lambda: declare(I[i, j] * Score("arc", True)[i, j] >> J[i, j]),
            "different things of one name: Score.*sentinel=True",
        ),
        (lambda: DeductionSystem("mine", (AXIOM,), (I[i, k] * I[k, j] >> I[i, j],), GOAL, scores=()), "declares `arc`"),
        (lambda: declare(I[i, k] * I[k, j] >> I[i, k, j]), r"I\[i,k,j\] has 3 positions, elsewhere I has 2"),
        (lambda: declare(I[i, j] * arc[i, j] >> I[i, j]), r"the rule  I.*  also derives the axiom I\[i,i\+1\]"),
        (
            lambda: declare(I[i, k] * I[k, j] >> J[i, j], J[i, j] * arc[i, j] >> J[i, j]),
            r"from each other in a circle: .*J\[i,j\]  arc\[i,j\]  ⊢  J\[i,j\]",
        ),
        (lambda: declare(I[i, j] >> T[i, j], T[i, j] >> J[i, j], J[i, j] >> T[i, j]), r"in a circle: .*⊢  J\[i,j\]"),
        (
            lambda: declare(trees="MH_4", for_best=eisner()),
            r"for_best=eisner has projective trees of nodes up to n \+ 0, expected MH_4, and n \+ 1",
        ),
        (
            lambda: DeductionSystem(
                "mine",
                (AXIOM,),
                (I[i, k] * I[k, j] * Score("s", True)[i, k] * arc[i, k] >> I[i, j],),
                I[0, n],
                (arc, Score("s", True)),
            ),
            r"score 's' looks at the sentinel n\+1, but the goal I\[0,n\] ends at n",
        ),
    ],
)
def test_a_badly_formed_system_raises(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=rf"^mine: .*{message}"):
        build()


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: I[i, 1.5], TypeError, "a position is a variable from indices.., n or an integer, not 1.5"),  # type: ignore[index]
        (lambda: I[i, True], TypeError, "or an integer, not True"),
        (lambda: I[i:j, x], ValueError, r'outside its span: declare Item\("I", exterior=True\)'),
        (lambda: either(), ValueError, "needs at least one alternative"),
        (lambda: I[i, k] * I[k, j] >> I[i, j] * arc[i, j], TypeError, "concludes one item, not Product.*write scores"),
        (
            lambda: DeductionSystem("mine", AXIOM, (), GOAL),  # type: ignore[arg-type]
            TypeError,
            r"mine: axioms are a sequence, not I\[i,i\+1\]: write axioms=\(\.\., \)",
        ),
        (
            lambda: DeductionSystem("mine", (AXIOM,), (AXIOM,), GOAL),  # type: ignore[arg-type]
            TypeError,
            r"mine: rules are each of the type Rule, which I\[i,i\+1\] is not",
        ),
        (lambda: DeductionSystem("mine", (AXIOM,), (), (GOAL,)), TypeError, r"the goal is an item .* not \(I\["),  # type: ignore[arg-type]
    ],
)
def test_a_badly_formed_atom_raises(build: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


def test_lists_and_commas_are_as_good() -> None:
    rule = I[i, k] * I[k, j] * arc[i, k] >> I[i, j]
    listed = DeductionSystem("mine", [AXIOM], [rule], GOAL, scores=[arc])  # type: ignore[arg-type]
    assert listed == DeductionSystem("mine", (AXIOM,), (rule,), GOAL)
    assert indices("i, k,j") == (i, k, j)

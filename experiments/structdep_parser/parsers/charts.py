"""The charts of all parsers: which systems find their trees, and what is scored."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from structdep import charts
from structdep.greedy.second_order import GreedyTrees, second_order
from structdep.spanning import all_trees
from structdep.trees.classes import System
from structdep_parser.nn.scorers import Pairs, Singles, Triples

REDUCES = ("la", "ra", "la'", "ra'", "la2", "ra2")


@dataclass(frozen=True)
class Chart:
    """Deduction systems of one class of trees, and what is scored.

    The roles of `pairs` are `head` and `dependent` of arcs, or places of a configuration: stack top `s0`, below it
    `s1`, buffer front `b0`. `best` finds a tree's best derivation by these tables, `once` has one derivation for each
    tree, and so probabilities of trees; `arcs` has the same trees by arc scores alone. Tables of pairs of arcs are
    filled by `triples` of roles, the words of a part, those of single words by `singles`. `growth` is the power of the
    length with which the time of a batch grows, encoder and chart together. Arcs may be `refined` by mean-field
    inference before they are scores of trees.
    """

    best: System
    once: System
    arcs: System
    pairs: Pairs
    triples: Triples = field(default_factory=dict)
    singles: Singles = field(default_factory=dict)
    cheaper: System | None = None
    growth: float = 2.0
    refined: bool = False

    @property
    def tables(self) -> dict[str, int]:
        """The names of all tables, with their numbers of positions."""
        several = {name: len(roles) for roles, names in (*self.pairs.items(), *self.triples.items()) for name in names}
        return several | {name: 1 for names in self.singles.values() for name in names}

    @property
    def has_probabilities(self) -> bool:
        """Not where the best tree is sought greedily: no algorithm sums over all trees by scores of pairs of arcs."""
        return not isinstance(self.best, GreedyTrees)


class Charts(Mapping[str, Chart]):
    """By the name of the parser, each made when it is first asked for: the systems of all take half a second."""

    def __init__(self, makers: Mapping[str, Callable[[], Chart]]) -> None:
        self._makers, self._made = makers, dict[str, Chart]()

    def __getitem__(self, name: str) -> Chart:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


ARCS = {("head", "dependent"): ("arc",)}
TWO = {("s0", "b0"): ("shift", *REDUCES)}
HYBRID = TWO | {("s1", "s0"): tuple(f"{name}:s1" for name in REDUCES)}
GRAND = {("g", "h", "d"): ("grandparent",)}
PARTS = GRAND | {("parent", "first", "second"): ("sibling",)}
CROSSING = {
    **ARCS,  # by themselves, as a parser of arcs has them to begin with
    ("crossing", "dependent"): ("crossed",),
    ("grandparent", "dependent"): ("grandparent",),
    ("sibling", "dependent"): ("sibling",),
}
ADJACENT = {("parent", "second", "first"): ("sibling",)}


def _of_arcs(system: System, cheaper: System | None = None, growth: float = 2.0) -> Chart:
    """With one derivation for each tree."""
    return Chart(system, system, system, ARCS, cheaper=cheaper, growth=growth)


def _second_order(system: System, arcs: System, triples: Triples, cheaper: System, growth: float = 2.0) -> Chart:
    return Chart(system, system, arcs, ARCS, triples, cheaper=cheaper, growth=growth)


def _of_steps(pairs: Pairs) -> Chart:
    """Of the transitions of MH_4."""
    steps, once = charts.mhk(4, transitions=True), charts.mh4_trees(transitions=True)
    return Chart(steps, once, charts.mhk(4), pairs, cheaper=charts.arc_hybrid_trees(transitions=True), growth=3)


def _one_endpoint_crossing() -> Chart:
    system, arcs = charts.crossing_sensitive(), charts.one_endpoint_crossing()
    singles = {"dependent": ("top", "first")}
    return Chart(system, system, arcs, CROSSING, singles=singles, cheaper=all_trees(), growth=3)


CHARTS = Charts(
    {
        "mst": lambda: _of_arcs(all_trees()),
        "mst2-mean-field": lambda: Chart(all_trees(), all_trees(), all_trees(), ARCS, refined=True),
        "mst2-greedy": lambda: _second_order(second_order(), all_trees(), PARTS, all_trees()),
        "eisner": lambda: _of_arcs(charts.eisner()),
        "eisner2": lambda: _second_order(charts.eisner(siblings=True), charts.eisner(), ADJACENT, charts.eisner(), 3),
        "eisner2-grandparents": lambda: _second_order(
            charts.eisner(siblings=True, grandparents=True), charts.eisner(), ADJACENT | GRAND, charts.eisner(), 4
        ),
        "arc-eager": lambda: Chart(
            charts.arc_eager(transitions=True),
            charts.arc_eager_trees(transitions=True),
            charts.eisner(),
            {("s0", "b0"): ("shift", "la", "ra", "reduce")},
        ),
        "mh3": lambda: Chart(
            charts.arc_hybrid(transitions=True),
            charts.arc_hybrid_trees(transitions=True),
            charts.eisner(),
            {("s0", "b0"): ("shift", "la", "ra")},
        ),
        "mh4": lambda: Chart(charts.mhk(4), charts.mh4_trees(), charts.mhk(4), ARCS, cheaper=all_trees(), growth=3),
        "1ec1": lambda: _of_arcs(charts.one_endpoint_crossing(), all_trees(), 3),
        "1ec": _one_endpoint_crossing,
        "mh4-two": lambda: _of_steps(TWO),
        "mh4-hybrid": lambda: _of_steps(HYBRID),
        "mh4-hybrid-arcs": lambda: _of_steps(ARCS | HYBRID),
    }
)

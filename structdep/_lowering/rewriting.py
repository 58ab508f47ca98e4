"""From sums of products to fewer of them: the distributive law, applied to deduction systems.

1. `absorb`: in a product of two premises, scores that look at one of them alone, and sums over its own positions, are
   carried out where that premise is made; products that then differ in one premise only are added up there.
2. `share`: a product of two premises that serves several conclusions is computed once.

So n^4 work is left only where two premises meet at a position that both need, and it is one product and one sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from structdep._lowering.unfolding import Fold, Term, at_variables, canonical, rename
from structdep.deduction import Atom, Item, Position, Score


@dataclass(frozen=True)
class Part:
    """A premise and what it absorbed: at `positions`, a sum of products over k0, k1, .. (kept) and s0, .. (summed)."""

    positions: tuple[Position, ...]
    exterior: bool
    options: tuple[Term, ...]

    def merge(self, other: Part) -> Part:
        return replace(self, options=tuple(sorted((*self.options, *other.options), key=repr)))

    def atom(self) -> Atom:
        """The item that stands for the part: the premise itself if nothing was absorbed."""
        (base, *scores), *others = self.options
        if not scores and not others and len(base.positions) == len(self.positions):
            return replace(base, positions=self.positions)
        return Atom(Item(repr(self.fold()), self.exterior, self.state_class), self.positions)

    @property
    def state_class(self) -> str:
        """That of the items that it adds up, if it does nothing else and they have one."""
        whole = self.fold().conclusion.positions
        classes = {
            base.symbol.state_class if base.positions == whole and not scores else ""  # type: ignore[union-attr]
            for base, *scores in self.options
        }
        return classes.pop() if len(classes) == 1 else ""

    def fold(self) -> Fold:
        kept = tuple(Position(f"k{m}") for m in range(len(self.positions)))
        return Fold(Atom(Item("·", self.exterior), kept), self.options)


def absorb(folds: Iterable[Fold]) -> tuple[Fold, ...]:
    """Scores and sums of one premise move to where it is made; products that differ in one premise are added there.

    Only where that is less work: where the premise has fewer positions than the product.
    """
    result: list[Fold] = []
    derived: dict[Atom, Fold] = {}
    for fold in folds:
        pairs = [_hoist(*pair) for pair in _merge([_split(fold.conclusion, term) for term in fold.terms])]
        result.append(Fold(fold.conclusion, tuple((*(p.atom() for p in parts), *scores) for parts, scores in pairs)))
        for part in (part for parts, _ in pairs for part in parts):
            symbol = part.atom().symbol
            if len(part.options) > 1 or symbol != part.options[0][0].symbol:
                inner = part.fold()
                derived.setdefault(replace(inner.conclusion, symbol=symbol), inner)
    made = {fold.conclusion.symbol: fold for fold in result}
    return (*result, *(_derived(conclusion, inner.terms, made) for conclusion, inner in derived.items()))


def _derived(conclusion: Atom, terms: tuple[Term, ...], made: Mapping[Item | Score, Fold]) -> Fold:
    """The fold of a derived item. One of a state class is made of what the items are made of that it adds up."""
    parts = [made[base.symbol] for base, *_ in terms] if conclusion.symbol.state_class else []  # type: ignore[union-attr]
    if parts and all(part.is_flat for part in parts):
        terms = tuple(term for part in parts for term in part.terms)
        conclusion = replace(parts[0].conclusion, symbol=conclusion.symbol)
    return Fold(at_variables(conclusion), tuple(canonical(conclusion, term) for term in terms))


def _split(conclusion: Atom, term: Term) -> tuple[tuple[Part, ...], Term]:
    """The parts of a product, and the scores that look at both."""
    premises = [a for a in term if a.is_item]
    scores = [a for a in term if not a.is_item]
    if len(premises) == 1 or any(not p.is_variable for p in conclusion.positions):
        return tuple(Part(p.positions, p.symbol.exterior, ((_plain(p),),)) for p in premises), tuple(scores)  # type: ignore[union-attr]
    whole = frozenset[str]().union(*(atom.variables for atom in (*term, conclusion)))
    smaller = [p for p in premises if p.variables < whole]
    homes = [next((p for p in smaller if s.variables <= p.variables), None) for s in scores]
    spanning = tuple(s for s, home in zip(scores, homes, strict=True) if home is None)
    parts = []
    for premise in premises:
        own = [s for s, home in zip(scores, homes, strict=True) if home is premise]
        others = [a for a in (*premises, *spanning, conclusion) if a is not premise]
        needed = frozenset().union(*(a.variables for a in others)) | {p.name for p in premise.span}
        parts.append(_part(premise, own, needed))
    return tuple(parts), spanning


def _plain(premise: Atom) -> Atom:
    return replace(premise, positions=tuple(Position(f"k{m}") for m in range(len(premise.positions))))


def _part(premise: Atom, scores: list[Atom], needed: Collection[str]) -> Part:
    """The premise at the positions that are needed, each once, as in X[i:k] for X[i:k, k + 1]; others are summed."""
    first: dict[str, Position] = {}
    for position in premise.positions:
        first.setdefault(position.name, position)
    kept = tuple(position for name, position in first.items() if name in needed)
    names = {p.name: Position(f"k{m}", -p.shift) for m, p in enumerate(kept)}
    summed = dict.fromkeys(p.name for p in premise.positions if p.name not in names)
    names |= {name: Position(f"s{m}") for m, name in enumerate(summed)}
    exterior = premise.is_exterior and premise.positions[-1] in kept
    return Part(kept, exterior, (tuple(rename(a, names) for a in (premise, *scores)),))


def _merge(pairs: list[tuple[tuple[Part, ...], Term]]) -> list[tuple[tuple[Part, ...], Term]]:
    """Add up products that are equal but for one part."""
    for first, (parts, scores) in enumerate(pairs):
        for second in range(first + 1, len(pairs)):
            others, other_scores = pairs[second]
            differ = [m for m, (p, q) in enumerate(zip(parts, others, strict=False)) if p != q]
            same_shape = len(parts) == len(others) == 2 and scores == other_scores and len(differ) == 1
            if same_shape and _aligned(parts[differ[0]], others[differ[0]]) and _saves(parts[differ[0]], parts, scores):
                m = differ[0]
                merged = (*parts[:m], parts[m].merge(others[m]), *parts[m + 1 :])
                rest = [pair for number, pair in enumerate(pairs) if number not in (first, second)]
                return _merge([*rest[:first], (merged, scores), *rest[first:]])
    return pairs


def _saves(part: Part, parts: Iterable[Part], scores: Term) -> bool:
    """Whether there are fewer values of the part than of the product."""
    names = {p.name for part in parts for p in part.positions}.union(*(score.variables for score in scores))
    return {p.name for p in part.positions if p.is_variable} < names


def _hoist(parts: tuple[Part, ...], scores: Term) -> tuple[tuple[Part, ...], Term]:
    """Scores of one premise that look at no summed position are multiplied after the sum, if nothing was added."""
    kept = []
    for part in parts:
        at = {f"k{m}": p for m, p in enumerate(part.positions)}
        summed = {f"k{m}" for m, p in enumerate(part.positions) if p.name.startswith("s")}
        base, *own = part.options[0]
        free = [a for a in own if a.variables <= at.keys() - summed] if len(part.options) == 1 else []
        scores = (*scores, *(rename(a, at) for a in free))
        options = ((base, *(a for a in own if a not in free)),) if free else part.options
        kept.append(replace(part, options=options))
    return tuple(kept), scores


def _aligned(part: Part, other: Part) -> bool:
    return (part.positions, part.exterior) == (other.positions, other.exterior)


def share(folds: Iterable[Fold]) -> tuple[Fold, ...]:
    """A product of two premises that serves several conclusions becomes an item of its own."""
    folds = tuple(folds)
    cores = Counter(
        (replace(f.conclusion, symbol=_bare(f.conclusion)), _core(f, term)) for f in folds for term in f.terms
    )
    shared: dict[tuple[Atom, Term], Atom] = {}
    for (bare, core), times in cores.items():
        sums = not frozenset[str]().union(*(a.variables for a in core)) <= bare.variables
        if times > 1 and sums and len([a for a in core if a.is_item]) == 2 and not bare.is_absolute:
            shared[bare, core] = replace(bare, symbol=replace(bare.symbol, name=repr(Fold(bare, (core,)))))
    result = []
    for fold in folds:
        terms = []
        for term in fold.terms:
            core = _core(fold, term)
            atom = shared.get((replace(fold.conclusion, symbol=_bare(fold.conclusion)), core))
            terms.append((atom, *(a for a in term if a not in core)) if atom else term)
        result.append(replace(fold, terms=tuple(terms)))
    return (*result, *(Fold(atom, (core,)) for (_, core), atom in shared.items()))


def _bare(conclusion: Atom) -> Item:
    return Item("·", conclusion.is_exterior)


def _core(fold: Fold, term: Term) -> Term:
    """The premises of a product, and the scores that look at a summed position."""
    return tuple(a for a in term if a.is_item or not a.variables <= fold.conclusion.variables)

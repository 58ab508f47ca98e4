"""Deduction systems as they are drawn in papers: items as shapes over their nodes, premises above a line."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from structdep.deduction import Atom, DeductionSystem, Position
from structdep_parser.drawing.canvas import ARC, GRAY, HUES, INK, dot, moved, page, path, text
from structdep_parser.drawing.schemas import Link, Schema, heads, joints, kind, order, schemas, sides

HEIGHT, DIP, ROOF, STUB = 54.0, 0.45, 0.42, 18.0
"""Of a node that is a head; between two of them, and of items without one, as shares; half the width of one node."""
GAP, NEXT, LETTER, LABELS = 62.0, 30.0, 9.0, 22.0
"""Between nodes, between i and i + 1, a letter, and from a line of nodes to the end of their names."""
SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
Point = tuple[float, float]
Cell = tuple[float, float, list[str]]
"""Width, height and shapes of what is drawn for one rule."""


def svg(system: DeductionSystem, width: float = 560) -> str:
    """A drawing of a system's axioms, rules and goal, which has colours for light and for dark screens.

    A shape spans the nodes of an item: it is high at nodes that can still be an end of an arc. An arrow goes from the
    head to the dependent of the arc that a rule adds. Rules of items of one class, which differ in their states alone,
    are drawn once, and arcs between the same nodes as one line.

    Args:
        system: any deduction system.
        width: in pixels; wider if a rule needs more.

    Returns:
        The text of an SVG file.

    Raises:
        TypeError: the system has no rules, as `sd.spanning.all_trees()`.

    Example:
        >>> import structdep as sd
        >>> picture = svg(sd.charts.arc_hybrid())
        >>> picture.splitlines()[2], picture.count("<polygon")
        ('<title>arc_hybrid: axioms, rules and goal</title>', 5)
    """
    if not isinstance(system, DeductionSystem):
        raise TypeError(
            f"expected a deduction system, such as sd.charts.eisner(), which has rules to draw, not {system!r}"
        )
    drawn = _Drawing(system)
    cells = [drawn.rule(Schema((), axiom)) for axiom in system.axioms]
    cells += [drawn.rule(schema) for schema in drawn.schemas] + [drawn.goal(system.goal)]
    time, space = ("n" + "".join(SUPERSCRIPTS[int(digit)] for digit in str(power)) for power in system.complexity)
    derivations = "one derivation a tree" if system.unambiguous else "several derivations a tree"
    facts = f"time {time}, space {space}, {derivations}"
    width = max(width, *(cell[0] + 40 for cell in cells))
    shapes = [
        text(20, 28, system.name, 15, anchor="start", font_weight="bold"),
        text(20, 48, facts, 12.5, GRAY, "start"),
    ]
    y = 62.0
    for row in _rows(cells, width - 24):
        between = (width - sum(cell[0] for cell in row)) / (len(row) + 1)
        x, height = between, max(cell[1] for cell in row)
        for cell in row:
            shapes.append(moved(round(x), round(y + height - cell[1]), cell[2]))
            x += cell[0] + between
        y += height + 18
    for line in drawn.legend():
        shapes.append(text(20, y + 4, line, 12.5, GRAY, "start"))
        y += 18
    return page(width, round(y + 8), f"{system.name}: axioms, rules and goal", shapes)


def _rows(cells: Sequence[Cell], width: float) -> Iterator[list[Cell]]:
    row: list[Cell] = []
    for cell in cells:
        if row and sum(c[0] + 24 for c in row) + cell[0] > width:
            yield row
            row = []
        row.append(cell)
    yield row


class _Drawing:
    def __init__(self, system: DeductionSystem) -> None:
        self.schemas = schemas(system)
        self.heads = heads(self.schemas)
        self.joints = joints(self.schemas, self.heads)
        self.left = sides(self.schemas)
        atoms = [*system.axioms, *(a for s in self.schemas for a in (*s.premises, s.conclusion)), system.goal]
        self.colors = {name: HUES[m % len(HUES)] for m, name in enumerate(dict.fromkeys(map(kind, atoms)))}

    def rule(self, schema: Schema) -> Cell:
        """Premises with arcs above a line, the other scores beside it, and the conclusion below."""
        above = 24.0 + 5 * len(schema.links) if schema.links else 0.0
        line = above + HEIGHT + LABELS + 12 if schema.premises else 8.0
        xs, right = self._places(schema)
        base = above + HEIGHT + 4
        shapes = [*self._row(schema.premises, schema.links, xs, base)] if schema.premises else []
        shapes.append(path(f"M0 {line:g}H{right:g}", INK, width=1.2))
        shapes += [text(right + 6, line + 4 + 15 * m, note, 12, GRAY, "start") for m, note in enumerate(schema.notes)]
        shapes += self._row((schema.conclusion,), (), xs, line + 10 + HEIGHT)
        notes = max((7.4 * len(note) + 8 for note in schema.notes), default=0.0)
        return right + notes, line + 10 + HEIGHT + LABELS, shapes

    def goal(self, goal: Atom) -> Cell:
        xs, right = self._places(Schema((), goal))
        word = text(right / 2, 12, "goal", 13, GRAY)
        return right, 20 + HEIGHT + LABELS, [word, *self._row((goal,), (), xs, 20 + HEIGHT)]

    def _places(self, schema: Schema) -> tuple[dict[Position, float], float]:
        """Where each node is, and the width of all."""
        atoms = (*schema.premises, schema.conclusion)
        longest = max(LETTER * len(kind(atom)) / max(len(set(atom.inside)) - 1, 1) for atom in atoms)
        nodes = order(schema, self.left)
        inner = {pair for atom in atoms for pair in pairwise(atom.inside)}
        xs = {nodes[0]: 16.0}
        for a, b in pairwise(nodes):
            near = a.name == b.name and (a, b) not in inner
            xs[b] = xs[a] + (NEXT if near else max(GAP, longest + 24))
        return xs, xs[nodes[-1]] + 16

    def _row(
        self, atoms: Sequence[Atom], links: Sequence[Link], xs: Mapping[Position, float], base: float
    ) -> Iterator[str]:
        tops: dict[Position, float] = {p: 0.0 for a in atoms for p in a.positions}
        tops |= {end: 0.0 for link in links for end in (link.head, link.dependent)} | tops
        for atom in atoms:
            for number, p in enumerate(atom.inside):
                tops[p] = max(tops[p], self._height(atom, number))
        for atom in atoms:
            yield from self._item(atom, xs, tops, base)
        for p in tops:
            yield dot(xs[p], base)
            yield text(xs[p], base + 17, _name(p))
        for link in links:
            yield from _arrow(link, xs, {p: base - HEIGHT * top - 3 for p, top in tops.items()}, base - HEIGHT)

    def _height(self, atom: Atom, number: int) -> float:
        place = kind(atom), number
        return 1.0 if place in self.heads else 0.5 if place in self.joints else 0.0

    def _item(
        self, atom: Atom, xs: Mapping[Position, float], tops: Mapping[Position, float], base: float
    ) -> Iterator[str]:
        color = self.colors[kind(atom)]
        points = self._outline(atom, xs)
        x = _centre(points)
        outline = " ".join(f"{px:g},{base - HEIGHT * py:g}" for px, py in points)
        yield f'<polygon points="{outline}" fill="{color}" fill-opacity="0.18" stroke="{color}" stroke-width="1.6"/>'
        yield text(round(x, 1), base - 8, kind(atom), color=color, font_weight="bold")
        if atom.is_exterior:
            out = atom.positions[-1]
            roof = max(py for _, py in points)
            start, end = base - HEIGHT * roof, base - HEIGHT * tops[out] - 3
            steps = f"M{x:g} {start:g}Q{(x + xs[out]) / 2:g} {min(start, end) - 16:g} {xs[out]:g} {end:g}"
            yield path(steps, color, stroke_dasharray="2 3")

    def _outline(self, atom: Atom, xs: Mapping[Position, float]) -> list[Point]:
        """The corners, in pixels from the left and shares of the height, from the left end over the top."""
        corners = [(xs[p], self._height(atom, m)) for m, p in enumerate(atom.inside)]
        if len(set(atom.inside)) == 1:
            corners = [(corners[0][0] - STUB, corners[0][1]), (corners[-1][0] + STUB, corners[-1][1])]
        left, right = corners[0][0], corners[-1][0]
        if not any(height for _, height in corners):
            return [(left, 0), (left + 6, ROOF), (right - 6, ROOF), (right, 0)]
        top = [corners[0]]
        for a, b in pairwise(corners):
            top += [((a[0] + b[0]) / 2, DIP), b] if a[1] == b[1] == 1 and a[0] < b[0] else [b]
        return [(left, 0), *top, (right, 0)]

    def legend(self) -> Iterator[str]:
        links = [link for schema in self.schemas for link in schema.links]
        if any(link.directed and link.sure for link in links):
            yield "An arrow goes from the head to the dependent of the arc that the rule adds."
        if any(link.directed and not link.sure for link in links):
            yield "Dashed arrows: the rule adds one of these arcs."
        if any(not link.directed for link in links):
            yield "A red line without a tip: an arc, either way; dashed: or no arc."
        if any(atom.is_exterior for schema in self.schemas for atom in schema.premises):
            yield "Dotted: an item that waits for a node outside of its span."


def _centre(points: Sequence[Point]) -> float:
    """The horizontal place of the centre of gravity of a polygon."""
    area = x = 0.0
    for (ax, ay), (bx, by) in zip(points, (*points[1:], points[0]), strict=True):
        part = ax * by - bx * ay
        area, x = area + part, x + (ax + bx) * part
    return x / (3 * area)


def _arrow(link: Link, xs: Mapping[Position, float], tops: Mapping[Position, float], base: float) -> Iterator[str]:
    """An arc from the head's top over all shapes to the dependent's; both ends a little towards each other."""
    inward = 4 if xs[link.head] < xs[link.dependent] else -4
    start, end = xs[link.head] + inward, xs[link.dependent] - inward
    y, top = tops[link.dependent], base - 16 - abs(start - end) / 8
    dashes = {} if link.sure else {"stroke_dasharray": "5 3"}
    stop = y - 6 if link.directed else y
    yield path(
        f"M{start:g} {tops[link.head]:g}C{start:g} {top:g} {end:g} {top:g} {end:g} {stop:g}", ARC, width=1.8, **dashes
    )
    if link.directed:
        yield path(f"M{end:g} {y:g}l-3.5 -7.5h7z", ARC, ARC, 0.5)


def _name(position: Position) -> str:
    """As in h₁ and k+1: digits of names are set lower."""
    letters = "".join(c if not c.isdigit() else "₀₁₂₃₄₅₆₇₈₉"[int(c)] for c in position.name)
    return repr(Position(letters, position.shift))

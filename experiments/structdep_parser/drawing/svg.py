"""Trees as SVG: words in a row, arcs above them, and gold arcs that were not predicted below."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from structdep_parser.drawing.arcs import Arc, levels
from structdep_parser.drawing.direction import is_right_to_left
from structdep_parser.text import visible, xml

COLORS = {"plain": "#333333", "right": "#6e6e6e", "relation": "#b06000", "wrong": "#c8102e", "missed": "#0060b0"}
LETTER, SMALL, LEVEL, GAP, END, CORNER, MARGIN = 8.4, 6.6, 24.0, 14.0, 8.0, 7.0, 10.0
"""Widths of letters (those of East Asia are two) of 14 and 11 pixels, the height of a level, the least space between
words and between ends of arcs, the radius of corners, and the space around all."""

Rows = Sequence[Sequence[str]]
"""For each word what stands in its column: the form, and maybe tags."""
Ends = dict[tuple[Arc, int], float]
"""Where an arc's end at a node is."""


def svg(rows: Rows, arcs: Sequence[Arc], title: str = "", right_to_left: bool | None = None) -> str:
    """A drawing of arcs between words; node 0, the root, stands in front of them.

    Words stand in a row from left to right, or from right to left where most letters of the forms are written so;
    `right_to_left` states the direction.

    Example:
        >>> drawing = svg([["ik"], ["im"]], [Arc(2, 1, "nsubj"), Arc(0, 2, "root")], "John 6:35")
        >>> drawing.count("<path"), drawing.count("<text"), drawing.splitlines()[1]
        (4, 5, '<title>John 6:35</title>')
    """
    columns = [["root"], *rows]
    above, below = ([arc for arc in arcs if (arc.kind == "missed") == missed] for missed in (False, True))
    widths = _widths(columns, above, below)
    offsets = _offsets(above, len(columns)) | _offsets(below, len(columns))
    places = _places(widths, arcs, offsets)
    top = MARGIN + LEVEL * (max(levels(above).values(), default=0) + 0.5)
    bottom = top + 18 + 15 * (max(map(len, columns)) - 1) + 6
    ends = {(arc, node): places[node] + offset for (arc, node), offset in offsets.items()}
    width = places[-1] + widths[-1] / 2 + MARGIN
    mirrored = is_right_to_left(form for form, *_ in rows) if right_to_left is None else right_to_left
    if mirrored:
        places, ends = [width - x for x in places], {end: width - x for end, x in ends.items()}
    drawn = [*_words(columns, places, top, mirrored), *_arcs(above, ends, top, -1), *_arcs(below, ends, bottom, 1)]
    height = bottom + LEVEL * (max(levels(below).values(), default=-0.5) + 0.5) + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" style="background: white" font-family="DejaVu Sans, sans-serif">'
    )
    return "\n".join([head, f"<title>{xml(title)}</title>", *drawn, "</svg>", ""])


def _widths(columns: Rows, above: Sequence[Arc], below: Sequence[Arc]) -> list[float]:
    """Of each column: its texts, or the ends of its arcs."""
    found = []
    for node, (form, *tags) in enumerate(columns):
        ends = max(sum(node in (arc.left, arc.right) for arc in arcs) for arcs in (above, below))
        found.append(max([_cells(form) * LETTER, *(_cells(tag) * SMALL for tag in tags), ends * END]))
    return found


def _offsets(arcs: Sequence[Arc], nodes: int) -> Ends:
    """How far from the middle of a node an arc leaves or reaches it: side by side, the longest in the middle."""
    found = {}
    for node in range(nodes):
        lefts = sorted((arc for arc in arcs if arc.right == node), key=lambda arc: arc.right - arc.left)
        rights = sorted((arc for arc in arcs if arc.left == node), key=lambda arc: arc.left - arc.right)
        for number, arc in enumerate([*lefts, *rights]):
            found[arc, node] = (number - (len(lefts) + len(rights) - 1) / 2) * END
    return found


def _places(widths: Sequence[float], arcs: Sequence[Arc], offsets: Ends) -> list[float]:
    """The middle of each column, so that neighbours do not touch, and each arc has room for its label."""
    places = [MARGIN + widths[0] / 2]
    for node in range(1, len(widths)):
        least = [places[-1] + (widths[node - 1] + widths[node]) / 2 + GAP]
        for arc in arcs:
            if arc.right == node:
                inwards = offsets[arc, arc.left] - offsets[arc, arc.right]
                least.append(places[arc.left] + inwards + SMALL * _cells(arc.label) + 2 * CORNER + 8)
        places.append(max(least))
    return places


def _words(columns: Rows, places: Sequence[float], top: float, mirrored: bool) -> Iterator[str]:
    for node, (column, x) in enumerate(zip(columns, places, strict=True)):
        for row, text in enumerate(column):
            style = 'font-size="14"' if row == 0 else 'font-size="11" fill="#777777"'
            if node and row == 0 and (mirrored or is_right_to_left([text])):
                style += ' direction="rtl"'
            yield f'<text x="{x:.1f}" y="{top + 18 + 15 * row:.1f}" text-anchor="middle" {style}>{xml(text)}</text>'


def _arcs(arcs: Sequence[Arc], ends: Ends, base: float, side: int) -> Iterator[str]:
    """Lines first, then labels, which no line may cross; `side` is -1 above the words, 1 below them."""
    heights = levels(arcs)
    shapes = [
        (arc, ends[arc, arc.head], ends[arc, arc.dependent], base + side * LEVEL * heights[arc])
        for arc in sorted(arcs, key=lambda arc: -heights[arc])
    ]
    for arc, start, end, y in shapes:
        yield from _line(arc, start, end, base, y, side)
    for arc, start, end, y in shapes:
        middle, room = (start + end) / 2, SMALL * _cells(arc.label) + 4
        yield f'<rect x="{middle - room / 2:.1f}" y="{y - 6:.1f}" width="{room:.1f}" height="12" fill="white"/>'
        yield (
            f'<text x="{middle:.1f}" y="{y + 4:.1f}" text-anchor="middle" font-size="11" fill="{COLORS[arc.kind]}" '
            f'fill-opacity="{_opacity(arc):.2f}">{xml(arc.label)}</text>'
        )


def _line(arc: Arc, start: float, end: float, base: float, y: float, side: int) -> Iterator[str]:
    turn = CORNER if start < end else -CORNER
    down = y - side * CORNER
    color, dashes = COLORS[arc.kind], ' stroke-dasharray="5 3"' if arc.kind == "missed" else ""
    style = f'stroke-opacity="{_opacity(arc):.2f}"{dashes}'
    yield (
        f'<path d="M{start:.1f} {base:.1f}V{down:.1f}Q{start:.1f} {y:.1f} {start + turn:.1f} {y:.1f}'
        f'H{end - turn:.1f}Q{end:.1f} {y:.1f} {end:.1f} {down:.1f}V{base + 4 * side:.1f}" fill="none" '
        f'stroke="{color}" stroke-width="1.4" {style}><title>{xml(arc.label)} {arc.opacity:.3f}</title></path>'
    )
    yield (f'<path d="M{end:.1f} {base:.1f}l-3.5 {7 * side}h7z" fill="{color}" fill-opacity="{_opacity(arc):.2f}"/>')


def _opacity(arc: Arc) -> float:
    """What is improbable is faint, but there."""
    return 0.15 + 0.85 * arc.opacity


def _cells(text: str) -> int:
    """How many letters wide the text is as it is seen."""
    return cell_len(visible(text))

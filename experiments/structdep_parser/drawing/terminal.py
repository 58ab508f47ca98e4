"""Trees in a terminal: a word a line, and arcs at the right, drawn with lines that join and cross."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from structdep_parser.drawing.arcs import Arc, levels
from structdep_parser.drawing.direction import MARK, is_right_to_left
from structdep_parser.text import visible

STYLES = {"plain": "", "right": "green", "relation": "yellow", "wrong": "red", "missed": "blue"}
LEGEND = {
    "plain": "no colour: of one tree",
    "right": "green: the head and the relation are right",
    "relation": "yellow, as in obj (iobj): the head is right, and the gold relation is iobj",
    "wrong": "red: the head is wrong",
    "missed": "blue, as in gold 2 obl: the head is wrong; the gold head is word 2, the gold relation obl",
}
"""What colours and notes mean, of each kind of arc."""
UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
LINES = dict(zip(range(16), " ╵╷│╴┘┐┤╶└┌├─┴┬┼", strict=True))
"""What is drawn where lines go in these directions."""
MIRRORED = str.maketrans("◄╴┘┐┤╶└┌├", "►╶└┌├╴┘┐┤")


def text(forms: Sequence[str], arcs: Sequence[Arc], right_to_left: bool | None = None) -> Text:
    """A line a node, the root's first: its form, the relation to its head, and arcs; ◄ is at the dependent's end.

    A gold arc that was not predicted is not drawn: its head and relation are printed, as in `gold 3 obj`. Where most
    letters of the forms are written right to left, lines are mirrored: forms end at the right, arcs are left of them,
    and ► is at the dependent's end. `right_to_left` states the direction.

    Example:
        >>> print(text(["ik", "im"], [Arc(2, 1, "nsubj"), Arc(0, 2, "root")]))
        0 root       ────┐
        1 ik   nsubj ◄─┐ │
        2 im   root  ◄─┴─┘
        >>> print(text(["ik", "im"], [Arc(2, 1, "nsubj"), Arc(0, 2, "root")], right_to_left=True))
        ┌────       root 0
        │ ┌─► nsubj   ik 1
        └─┴─►  root   im 2
    """
    mirrored = is_right_to_left(forms) if right_to_left is None else right_to_left
    drawn = [arc for arc in arcs if arc.kind != "missed"]
    heights = levels(drawn, apart=1)  # so that ┼ is a crossing, and nothing else
    width = 2 * max(heights.values(), default=0)
    cells = [[0] * width for _ in range(len(forms) + 1)]
    kinds = [["plain"] * width for _ in cells]
    for arc in sorted(drawn, key=lambda arc: -heights[arc]):
        _draw(arc, 2 * heights[arc] - 1, cells, kinds)
    incoming = {arc.dependent: arc for arc in drawn}
    missed = {arc.dependent: arc for arc in arcs if arc.kind == "missed"}
    labels = [visible(incoming[node].label) if node in incoming else "" for node in range(len(cells))]
    nodes = ["root", *map(visible, forms)]
    notes = [f"gold {missed[n].head} {visible(missed[n].label)}" if n in missed else "" for n in range(len(cells))]
    found = Text()
    for node, (form, label) in enumerate(zip(nodes, labels, strict=True)):
        style = STYLES[incoming[node].kind] if node in incoming else ""
        end = "◄" if node in incoming else "─" if cells[node][0] & LEFT else " "
        lines = [(end, style), *((LINES[c], STYLES[kind]) for c, kind in zip(cells[node], kinds[node], strict=True))]
        parts = [
            (f"{node:>{len(str(len(forms)))}}", ""),
            (" ", ""),
            (_filled(form, nodes, mirrored), ""),
            (" ", ""),
            (_filled(label, labels, mirrored), style),
            (" ", ""),
            *((line.translate(MIRRORED) if mirrored else line, style) for line, style in lines),
            ("  " if any(notes) else "", ""),
            (_filled(notes[node], notes, mirrored), STYLES["missed"]),
        ]
        for part, style in reversed(parts) if mirrored else parts:
            found.append(part, style)
        found.rstrip()
        found.append("\n" * (node < len(forms)))
    return found


def _filled(word: str, words: Sequence[str], mirrored: bool) -> str:
    """The word, and spaces up to the width of the widest."""
    spaces = " " * (max(map(cell_len, words)) - cell_len(word))
    return spaces + word + MARK * is_right_to_left([word]) if mirrored else word + spaces


def _draw(arc: Arc, column: int, cells: list[list[int]], kinds: list[list[str]]) -> None:
    """From the head's line out to the arc's column, along it, and back in to the dependent's line."""

    def put(row: int, place: int, directions: int) -> None:
        cells[row][place] |= directions
        kinds[row][place] = arc.kind

    for row, turn in ((arc.left, DOWN), (arc.right, UP)):
        for place in range(column):
            put(row, place, LEFT | RIGHT)
        put(row, column, LEFT | turn)
    for row in range(arc.left + 1, arc.right):
        put(row, column, UP | DOWN)

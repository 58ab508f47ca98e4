"""Trees in a terminal: a word a line, and arcs at the right, drawn with lines that join and cross."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from structdep_parser.drawing.arcs import Arc, levels
from structdep_parser.text import visible

STYLES = {"plain": "", "right": "green", "relation": "yellow", "wrong": "red", "missed": "blue"}
UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
LINES = dict(zip(range(16), " ╵╷│╴┘┐┤╶└┌├─┴┬┼", strict=True))
"""What is drawn where lines go in these directions."""


def text(forms: Sequence[str], arcs: Sequence[Arc]) -> Text:
    """A line a node, the root's first: its form, the relation to its head, and arcs; ◄ is at the dependent's end.

    A gold arc that was not predicted is not drawn: its head and relation are printed, as in `gold 3 obj`.

    Example:
        >>> print(text(["ik", "im"], [Arc(2, 1, "nsubj"), Arc(0, 2, "root")]))
        0 root       ────┐
        1 ik   nsubj ◄─┐ │
        2 im   root  ◄─┴─┘
    """
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
    found = Text()
    for node, (form, label) in enumerate(zip(nodes, labels, strict=True)):
        number = f"{node:>{len(str(len(forms)))}}"
        found.append(f"{number} {_filled(form, nodes)} ")
        style = STYLES[incoming[node].kind] if node in incoming else ""
        found.append(_filled(label, labels) + " ", style)
        found.append("◄" if node in incoming else "─" if cells[node][0] & LEFT else " ", style)
        for cell, kind in zip(cells[node], kinds[node], strict=True):
            found.append(LINES[cell], STYLES[kind])
        if node in missed:
            found.append(f"  gold {missed[node].head} {visible(missed[node].label)}", STYLES["missed"])
        found.rstrip()
        found.append("\n" * (node < len(forms)))
    return found


def _filled(word: str, words: Sequence[str]) -> str:
    """The word, and spaces up to the width of the widest."""
    return word + " " * (max(map(cell_len, words)) - cell_len(word))


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

"""Pictures as short SVG by hand: shapes as strings, one page around them, and colours for light and dark screens."""

from collections.abc import Iterable, Mapping

from structdep_parser.text import xml

PAPER, INK, GRAY, RULE, ARC = "#ffffff", "#222222", "#63686f", "#d5d8dd", "#c8102e"
"""Background, text, text beside it, thin lines, and the arcs of trees."""
SIZE = 14
HUES = ("#2f74c8", "#cf7514", "#2c9254", "#9455bd", "#0f8f96", "#b8860b", "#c2497c", "#7a6a58")
"""Colours that tell kinds apart, on either background."""
DARK = {
    **{PAPER: "#1c1f26", INK: "#e8eaed", GRAY: "#a7adb6", RULE: "#454b55", ARC: "#ff7a70", "white": "#1c1f26"},
    **dict(
        zip(HUES, ("#6ea8ee", "#f0a04e", "#62c188", "#c192e3", "#4cc4cb", "#dfb64a", "#e885ad", "#b9a58e"), strict=True)
    ),
    **{"#333333": "#dadde2", "#6e6e6e": "#9aa0a8", "#b06000": "#e6a04c", "#0060b0": "#6fb1f5", "#777777": "#9aa0a8"},
}
"""What stands for each colour on a dark screen."""


def text(
    x: float, y: float, words: str, size: float = SIZE, color: str = INK, anchor: str = "middle", **style: object
) -> str:
    """Words around, from or up to x; what the page says of all of them is left out."""
    given = {"font_size": size, "fill": color, "text_anchor": anchor}
    usual = {"font_size": SIZE, "fill": INK, "text_anchor": "middle"}
    own = {name: value for name, value in given.items() if value != usual[name]}
    return f'<text x="{x:g}" y="{y:g}"{_style(own | style)}>{xml(words)}</text>'


def path(steps: str, color: str = INK, fill: str = "none", width: float = 1.5, **style: object) -> str:
    return f'<path d="{steps}" fill="{fill}" stroke="{color}" stroke-width="{width:g}"{_style(style)}/>'


def dot(x: float, y: float, color: str = INK, radius: float = 2.5, **style: object) -> str:
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{color}"{_style(style)}/>'


def moved(x: float, y: float, shapes: Iterable[str]) -> str:
    return "\n".join([f'<g transform="translate({x:g} {y:g})">', *shapes, "</g>"])


def page(width: float, height: float, title: str, shapes: Iterable[str]) -> str:
    """The picture, on paper of its own, so that it can be read on pages of any colour.

    Example:
        >>> picture = page(40, 20, "one dot", [dot(20, 10)])
        >>> picture.count("<circle"), "prefers-color-scheme: dark" in picture
        (1, True)
    """
    size = f'width="{width:g}" height="{height:g}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width:g} {height:g}" '
        f'font-family="DejaVu Sans, Verdana, sans-serif" font-size="{SIZE}" text-anchor="middle" fill="{INK}">'
    )
    paper = f'<rect {size} fill="{PAPER}"/>'
    return with_dark("\n".join([head, f"<title>{xml(title)}</title>", paper, *shapes, "</svg>", ""]))


def with_dark(svg: str, colors: Mapping[str, str] = DARK) -> str:
    """The drawing with other colours on dark screens, for each of `colors` that occurs in it as an attribute."""
    rules = [
        f'[{name}="{c}"]{{{name}:{d}}}'
        for c, d in colors.items()
        for name in ("fill", "stroke")
        if f'{name}="{c}"' in svg
    ]
    plain = f"svg{{background:{DARK[PAPER]}!important}}text:not([fill]){{fill:{DARK[INK]}}}"
    style = "<style>@media (prefers-color-scheme: dark){" + plain + "".join(rules) + "}</style>"
    opening, closing, rest = svg.partition(">\n")
    return f"{opening}{closing}{style}\n{rest}"


def _style(style: Mapping[str, object]) -> str:
    return "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())

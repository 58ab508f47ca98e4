"""Axes with lines and dots, as shapes of a page."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from structdep_parser.drawing.canvas import GRAY, RULE, dot, path, text


@dataclass(frozen=True)
class Scale:
    """The values along an axis, from low to high, and the names of some of them.

    Example:
        >>> Scale(1, 100, {}, log=True).share(10)
        0.5
    """

    low: float
    high: float
    ticks: Mapping[float, str]
    log: bool = False

    def share(self, value: float) -> float:
        """How far along the axis a value is, from 0 to 1."""
        low, high, at = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return (at - low) / (high - low)


@dataclass(frozen=True)
class Plot:
    """A rectangle of the page, and what its sides stand for."""

    left: float
    top: float
    width: float
    height: float
    x: Scale
    y: Scale

    def at(self, x: float, y: float) -> tuple[float, float]:
        across, up = self.x.share(x), self.y.share(y)
        return round(self.left + across * self.width, 1), round(self.top + (1 - up) * self.height, 1)

    def frame(self, title: str = "", below: str = "") -> Iterator[str]:
        """Lines at the ticks with their names, a title above, and what the horizontal axis is."""
        for value, name in self.y.ticks.items():
            _, y = self.at(self.x.low, value)
            yield path(f"M{self.left:g} {y:g}h{self.width:g}", RULE, width=1)
            yield text(self.left - 7, y + 4, name, color=GRAY, anchor="end")
        for value, name in self.x.ticks.items():
            x, _ = self.at(value, self.y.low)
            yield path(f"M{x:g} {self.top:g}v{self.height:g}", RULE, width=1)
            yield text(x, self.top + self.height + 18, name, color=GRAY)
        middle = self.left + self.width / 2
        if title:
            yield text(middle, self.top - 9, title, 15)
        if below:
            yield text(middle, self.top + self.height + 40, below, color=GRAY)

    def line(self, points: Sequence[tuple[float, float]], color: str, radius: float = 3, **style: Any) -> Iterator[str]:
        """The points in the order of x, joined; a radius of 0 draws the line alone."""
        steps = "L".join("{:g} {:g}".format(*self.at(*point)) for point in points)
        yield path(f"M{steps}", color, width=1.8, **style)
        if radius:
            yield from (dot(*self.at(*point), color, radius) for point in points)


def key(x: float, y: float, names: Mapping[str, str], between: float = 26) -> Iterator[str]:
    """What colours stand for, side by side: a dot and a name each."""
    for name, color in names.items():
        yield dot(x, y - 4, color, 4.5)
        yield text(x + 10, y, name, anchor="start")
        x += 10 + 8.5 * len(name) + between

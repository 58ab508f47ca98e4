"""Classes of trees: what every query needs to know of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from structdep.deduction import Score


@runtime_checkable
class System(Protocol):
    """A class of trees; frozen, hashable and equal by value.

    Rules declare a class (`DeductionSystem`, run as a chart), or an algorithm of its own knows it (`SpanningTrees`).
    `declared` are its scores by name, each with its number of positions; the last node is n + `last`. `unambiguous`
    says that every tree is derived once, `trees` names the class: systems that name one class have the same trees.
    """

    @property
    def name(self) -> str: ...
    @property
    def trees(self) -> str: ...
    @property
    def unambiguous(self) -> bool: ...
    @property
    def declared(self) -> Mapping[str, tuple[Score, int]]: ...
    @property
    def last(self) -> int: ...


def check_system(system: object) -> None:
    """Raise TypeError unless this is a class of trees."""
    if not isinstance(system, System):
        if callable(system):
            name = getattr(system, "__name__", type(system).__name__)
            called = {"mhk": "mhk(4)", "all_trees": "spanning.all_trees()"}.get(name, f"{name}()")
            place = "" if "." in called else "charts."
            raise TypeError(f"{name} is a function, no class of trees: write structdep.{place}{called}")
        raise TypeError(
            f"{type(system).__name__} is no class of trees: give a system from structdep.charts, a DeductionSystem of "
            "your own, or structdep.spanning.all_trees()"
        )

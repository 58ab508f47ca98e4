"""Classes and modules of users, by their names."""

from importlib import import_module
from typing import Any


def imported(option: str, name: str, expected: str) -> Any:
    """The module, or the class MODULE:CLASS, that an option names.

    Raises:
        ValueError: it cannot be imported.

    Example:
        >>> imported("--logger", "math:sqrt", "MODULE:CLASS")(4.0)
        2.0
    """
    place, _, of_module = name.partition(":")
    try:
        module = import_module(place)
        return getattr(module, of_module) if of_module else module
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"{option} {name}: expected {expected}: {error}; modules are sought in the folders of PYTHONPATH: for one "
            "in this folder, write PYTHONPATH=. before the command"
        ) from None

"""What command lines tell users."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from structdep_parser.text import visible

WIDEST = 10_000


class Plain(Console):
    """A console that shows text as it is: nothing in it is markup, and lines of a pipe are not broken."""

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*(visible(found) if isinstance(found, str) else found for found in objects), **options)


def plain(stderr: bool = False) -> Plain:
    return Plain(stderr)


def print_table(title: str, header: Iterable[str], rows: Sequence[Sequence[str]], texts: int = 1) -> None:
    """Print a table in its whole width, also where that is more than the terminal's; text is in its first columns."""
    console, table = plain(), Table(title=visible(title), title_justify="left")
    for place, name in enumerate(header):
        table.add_column(name, justify="left" if place < texts else "right")
    for row in rows:
        table.add_row(*row)
    console.width = Measurement.get(console, console.options.update(max_width=WIDEST), table).maximum
    console.print(table, soft_wrap=False)


def failed(program: str, error: BaseException | str) -> int:
    """Tell what the user can mend, without a traceback; the exit status."""
    if isinstance(error, OSError) and error.filename is not None:
        is_missing = isinstance(error, FileNotFoundError)
        error = _missing(Path(error.filename)) if is_missing else f"{error.filename}: {error.strerror}"
    plain(stderr=True).print(f"{program}: {error}", style="red")
    return 1


def _missing(path: Path) -> str:
    """That a file is not there, or its folder is not."""
    return f"there is no {path}" if path.parent.is_dir() else f"there is no folder {path.parent} for {path.name}"

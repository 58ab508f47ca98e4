"""What command lines tell users."""

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

WIDEST = 10_000


def plain(stderr: bool = False) -> Console:
    """A console that shows text as it is: brackets are no markup, and lines of a pipe are not broken."""
    return Console(stderr=stderr, markup=False, highlight=False, soft_wrap=True)


def print_table(table: Table) -> None:
    """Print a table in its whole width, also where that is more than the terminal's."""
    console = plain()
    console.width = Measurement.get(console, console.options.update(max_width=WIDEST), table).maximum
    console.print(table, soft_wrap=False)


def failed(program: str, error: BaseException | str) -> int:
    """Tell what the user can mend, without a traceback; the exit status."""
    plain(stderr=True).print(f"{program}: {error}", style="red")
    return 1

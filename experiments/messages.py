"""What command lines tell users."""

from rich.console import Console


def failed(program: str, error: BaseException | str) -> int:
    """Tell what the user can mend, without a traceback; the exit status."""
    Console(stderr=True).print(f"{program}: {error}", style="red", soft_wrap=True, markup=False, highlight=False)
    return 1

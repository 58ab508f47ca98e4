"""Command-line options that several commands share, and refusals of options that have another name now."""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

Arguments = Sequence[str] | None
INTERRUPTED = 130
"""The exit status of a command that was interrupted."""


def command(program: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Make a function of a command line's arguments a command: errors that users can mend are printed, status 1.

    Modules that take long to import belong into the function: `--help` does not need them.
    """

    def decorate(run: Callable[..., int]) -> Callable[..., int]:
        @wraps(run)
        def main(arguments: Arguments = None, *others: Any) -> int:
            try:
                return run(arguments, *others)
            except (OSError, TypeError, ValueError, FloatingPointError) as error:
                from structdep_parser.console import failed

                return failed(program, error)
            except KeyboardInterrupt:
                print(f"{program}: stopped", file=sys.stderr)
                return INTERRUPTED

        return main

    return decorate


class CommandLine(argparse.ArgumentParser):
    """A command line whose errors are one line, which names the option or the value that was probably meant."""

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"(?:invalid choice: '|unrecognized arguments: )([^' =]+)", message)
        choices = (str(value) for action in self._actions for value in action.choices or ())
        known = [*self._option_string_actions, *choices]
        close = get_close_matches(wrong[1], known, 1) if wrong else []
        meant = f"; did you mean {close[0]}?" if close else ""
        self.exit(2, f"{self.prog}: {message}{meant} ({self.prog} --help lists all options)\n")


def argument_parser(program: str, description: str, epilog: str) -> argparse.ArgumentParser:
    """One whose help ends with a text that keeps its lines."""
    layout = argparse.RawDescriptionHelpFormatter
    return CommandLine(prog=program, description=description, epilog=epilog, formatter_class=layout)


def confirmed(told: str, instead: str) -> bool:
    """Whether the user wants what was told; where there is no terminal to ask on, ValueError says what to write."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ValueError(f"{told}: write {instead}")
    try:
        return input(f"{told}. Go on? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


class Renamed(argparse.Action):
    """An option of an earlier version, which is refused with its new name."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        parser.error(f"{option} is now called {self.const}: write {self.const}")


def add_renamed(parser: argparse._ActionsContainer, **names: str) -> None:
    """Refuse the options `names`, telling what each is called now.

    Example:
        >>> parser = argparse.ArgumentParser("structdep train")
        >>> add_renamed(parser, start="--init-from")
        >>> parser.parse_args([])
        Namespace()
    """
    for old, new in names.items():
        options: dict[str, Any] = {"nargs": "?", "default": argparse.SUPPRESS, "help": argparse.SUPPRESS}
        parser.add_argument(f"--{old}", action=Renamed, const=new, **options)


def add_treebank_options(parser: argparse._ActionsContainer) -> None:
    """Where treebanks are, and which release."""
    parser.add_argument("--treebanks", type=Path, metavar="DIR", help="folder to search for treebanks")
    parser.add_argument("--ud-version", metavar="VERSION", help="version of UD, such as 2.0, if several are there")
    add_renamed(parser, version="--ud-version")

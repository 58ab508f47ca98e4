"""The command `structdep`: one module a subcommand, imported only when it is asked for."""

import runpy
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

COMMANDS = {
    "train": "train a parser on a treebank, and evaluate it",
    "parse": "parse CoNLL-U or tokenized text",
    "evaluate": "score trees against gold trees, by the rules of CoNLL 2018",
    "compare": "compare two parsers with gold trees, with tests of significance",
    "draw": "draw trees in the terminal or as SVG",
    "ensemble": "parse with several trained parsers together, and report the gain",
    "report": "write report.html of finished runs again",
    "coverage": "count the trees of each class in treebanks",
    "doctor": "report which engines fill charts on this machine",
}
MISSING = "structdep {command}: the package {package} is not installed: pip install 'structdep[parser]'"


def usage() -> str:
    lines = "".join(f"  {name:10}{text}\n" for name, text in COMMANDS.items())
    return f"usage: structdep COMMAND [OPTIONS]\n\ncommands:\n{lines}\nstructdep COMMAND --help prints its options.\n"


def script(name: str) -> NoReturn:
    """Run a subcommand as the script of a checkout that Python was started with."""
    sys.path.append(sys.path.pop(0))  # scripts beside it must not hide installed modules of the same name
    sys.exit(main([name, *sys.argv[1:]]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; its exit status."""
    name, *rest = [*(sys.argv[1:] if arguments is None else arguments), ""]
    if name in ("", "-h", "--help"):
        print(usage(), end="")
        return 0 if name else 2
    rest = rest[:-1]
    if name not in COMMANDS:
        print(f"structdep: no command {name!r}: write one of {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    if name == "doctor":
        sys.argv = ["structdep", "doctor", *rest]
        runpy.run_module("structdep", run_name="__main__", alter_sys=True)
        return 0
    try:
        status: int = import_module(f"structdep_parser.cli.{name}").main(rest)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "structdep_parser":
            raise
        print(MISSING.format(command=name, package=error.name), file=sys.stderr)
        return 1
    return status

"""Mutation testing: changes one place of a module at a time, and counts the changes that its tests notice.

    python tests/mutants.py structdep/charts --sample 100 --seed 0

Each mutant runs in a fork of a process that has imported JAX and pytest, but not structdep.
"""

from __future__ import annotations

import argparse
import ast
import json
import multiprocessing
import os
import random
import re
import resource
import shlex
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT)]
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.05")

import hypothesis.extra.numpy  # noqa: E402, F401
import pytest  # noqa: E402
from mutations import Mutation, mutations  # noqa: E402
from scipy.stats import binomtest  # noqa: E402

import conftest  # noqa: E402, F401  (it sets what JAX reads when it is imported)

TESTS: dict[str, str] = {
    "structdep/charts": "systems transition_scores",
    "structdep/charts/one_endpoint_crossing.py": "one_endpoint_crossing systems",
    "structdep/charts/gluing.py": "one_endpoint_crossing systems",
    "structdep/charts/crossing_sensitive.py": "crossing_sensitive systems",
    "structdep/spanning": "spanning chu_liu_edmonds",
    "structdep/transitions": "oracles transition_systems transition_losses",
    "structdep/transitions/beam.py": "transition_systems",
    "structdep/transitions/configuration.py": "transition_systems oracles",
    "structdep/transitions/greedy.py": "transition_systems",
    "structdep/transitions/losses.py": "transition_losses",
    "structdep/transitions/notation.py": "transition_systems",
    "structdep/transitions/scorers.py": "transition_systems",
    "structdep/transitions/systems.py": "transition_systems oracles",
    "structdep/batching.py": "batching batches",
    "structdep/trees/pseudo_projective.py": "pseudo_projective",
    "structdep/inference/losses.py": "constraints gradients boundary",
    "structdep/inference/distribution.py": "constraints labels distribution risk boundary",
    "structdep/inference/inside.py": "values boundary gradients constraints",
    "structdep/semirings": "semirings",
    "structdep/_engines/cpu": "values native real_numbers",
    "structdep/_engines/xla": "values gradients own_systems",
}
"""The tests of a folder or of a module, the likeliest to notice first; the module's own examples come before them."""

MOST_MEMORY = 8 << 30
"""Bytes of addresses for a mutant, which may ask for any number."""


class Outcome(NamedTuple):
    """Whether a test failed, which, and after how many seconds of a processor; "timeout" where none ended in time."""

    killed: bool
    by: str
    seconds: float


def main() -> None:
    """Print each mutant that survives, then a table."""
    os.chdir(ROOT)
    arguments = parsed()
    paths = [path for given in arguments.paths for path in (sorted(given.rglob("*.py")) if given.is_dir() else [given])]
    every = [(path, number) for path in paths for number in range(len(mutations(path)[1]))]
    chosen = sorted(random.Random(arguments.seed).sample(every, min(arguments.sample, len(every))))
    if arguments.only:
        chosen = [(path, number) for path, number in every if f"{path}:{number}" in arguments.only]
    found, limits = Counter[tuple[str, bool]](), {}
    for path, number in chosen:
        tests = (*files_of(path), *shlex.split(arguments.options))
        if tests not in limits:
            limits[tests] = limit_of(tests)
        outcome = outcome_of(path, number, (str(path), *tests), limits[tests])
        change = mutations(path)[1][number]
        report(change, number, outcome, arguments.log)
        found[str(path.parent if path.parent != Path("structdep") else path), outcome.killed] += 1
    for name in sorted({name for name, _ in found}):
        killed, alive = found[name, True], found[name, False]
        low, high = binomtest(killed, killed + alive).proportion_ci(method="wilson")
        share = f"{killed / (killed + alive):.1%} ({low:.1%} to {high:.1%})"
        print(f"{name}: {killed} of {killed + alive} mutants killed, {share}, seed {arguments.seed}")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Count the mutants of modules that their tests notice.")
    parser.add_argument("paths", type=Path, nargs="+", help="modules, or folders of them")
    parser.add_argument("--sample", type=int, default=100, help="how many mutants of all of them")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of mutants")
    parser.add_argument("--only", nargs="+", help="these mutants, PATH:NUMBER each, instead of a sample")
    parser.add_argument("--options", default="", help="more options of pytest, to leave out tests: '-k \"not xla\"'")
    parser.add_argument("--log", type=Path, help="a file to which all outcomes are added, one line of JSON each")
    return parser.parse_args()


def files_of(path: Path) -> tuple[str, ...]:
    names = TESTS.get(str(path)) or TESTS[str(path.parent)]
    return tuple(f"tests/test_{name}.py" for name in names.split())


def limit_of(tests: Sequence[str]) -> float:
    """Seconds of a processor for a mutant: some more than the tests take without one, which must pass."""
    outcome = outcome_of(None, 0, tests, 3600)
    if outcome.killed:
        raise SystemExit(f"{outcome.by} fails without a mutant")
    return 1.5 * outcome.seconds + 20


def report(change: Mutation, number: int, outcome: Outcome, log: Path | None) -> None:
    place, texts = f"{change.path}:{number}", (change.before, change.after)
    if not outcome.killed:
        print(f"survived: {place}, line {change.line}\n  - {texts[0]}\n  + {texts[1]}", flush=True)
    if log:
        with log.open("a") as file:
            print(json.dumps([place, change.line, *texts, *outcome]), file=file)


def outcome_of(path: Path | None, number: int, tests: Sequence[str], limit: float) -> Outcome:
    """Run the tests in a child, with one mutant of a module."""
    start = cpu_seconds()
    with tempfile.NamedTemporaryFile("r") as output:
        child = multiprocessing.get_context("fork").Process(target=run, args=(path, number, tests, output.name, limit))
        child.start()
        child.join(10 * limit)
        late = child.is_alive() or child.exitcode == -signal.SIGXCPU
        child.kill()
        child.join()
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", output.read(), re.MULTILINE)
    by = "timeout" if late else failed[0] if failed else ""
    return Outcome(child.exitcode != 0, by, round(cpu_seconds() - start, 1))


def cpu_seconds() -> float:
    """Those of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(path: Path | None, number: int, tests: Sequence[str], output: str, limit: float) -> None:
    """In the child: run pytest on the mutant, which Python imports in the place of the module."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
    file = os.open(output, os.O_WRONLY)
    os.dup2(file, 1)
    os.dup2(file, 2)
    for name in [name for name in sys.modules if name.split(".")[0] in ("structdep", "conftest", "mutations")]:
        del sys.modules[name]
    if path:
        install(path, number)
    options = ["-x", "-q", "-p", "no:cacheprovider", "-n", "0", "--no-header", "--durations=0", "--durations-min=9"]
    code = pytest.main([*options, *tests])
    sys.stdout.flush()
    os._exit(int(code))


def install(path: Path, number: int) -> None:
    """Let Python compile the mutant instead of the module."""
    tree, changes = mutations(path)
    changes[number].apply()
    mutant = compile(ast.fix_missing_locations(tree), path, "exec")
    get_code = SourceFileLoader.get_code

    def mutated(loader: SourceFileLoader, name: str) -> CodeType | None:
        return mutant if Path(loader.path) == path.absolute() else get_code(loader, name)

    SourceFileLoader.get_code = mutated  # type: ignore[method-assign]


if __name__ == "__main__":
    main()

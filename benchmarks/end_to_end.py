"""`python -m benchmarks.end_to_end`: what a user waits for, whole processes from the shell, beside SuPar's.

Each process is pinned to one core, with one thread. Ours and SuPar's (where it is installed: `pip install '.[peers]'`)
take turns, run by run; figures are medians. None predicts tags, batches in training have 250 words, and models are of
like sizes. Caches are empty when a run begins: what is compiled for its first training and parsing, later ones have.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.__main__ import machine
from structdep_parser.data.conllu import read
from structdep_parser.data.treebank import find_treebank

ROOT = Path(__file__).parent.parent
OURS = ("mst", "eisner", "mh4-hybrid")
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
Command = list[str]


class Program(NamedTuple):
    """A parser from the shell: commands that train it for some epochs into a folder, and parse a file by that."""

    name: str
    train: Callable[[Path, int, Sequence[Path]], Command]
    parse: Callable[[Path, Path, Path], Command]


def ours(parser: str) -> Program:
    command = ["-m", "structdep_parser"]
    loss = "hinge" if parser == "mh4-hybrid" else "nll"

    def train(folder: Path, epochs: int, files: Sequence[Path]) -> Command:
        train, dev, test = map(str, files)
        choices = ["--parser", parser, "--loss", loss, "--tags", "off", "--epochs", str(epochs)]
        choices += ["--set", "layers=2"]  # as SuPar's
        place = ["--runs", str(folder.parent), "--name", folder.name]
        return [*command, "train", "--train", train, "--dev", dev, "--test", test, *choices, *place]

    def parse(folder: Path, source: Path, target: Path) -> Command:
        return [*command, "parse", str(folder), "-i", str(source), "-o", str(target)]

    return Program(f"structdep {parser}", train, parse)


def supar() -> Program:
    script = str(ROOT / "benchmarks" / "supar_parser.py")

    def train(folder: Path, epochs: int, files: Sequence[Path]) -> Command:
        return [script, "train", str(folder / "model"), str(epochs), "250", *map(str, files)]

    def parse(folder: Path, source: Path, target: Path) -> Command:
        return [script, "parse", str(folder / "model"), str(source), str(target)]

    return Program("SuPar", train, parse)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lang", default="got", help="the treebank (default: got)")
    parser.add_argument("--parsers", nargs="+", default=OURS, metavar="PARSER", help=f"default: {' '.join(OURS)}")
    parser.add_argument("--runs", type=int, default=3, help="default: 3")
    parser.add_argument("--core", type=int, default=0, help="the core that all are pinned to (default: 0)")
    options = parser.parse_args()
    treebank = find_treebank(options.lang)
    if treebank.dev is None:
        parser.error(f"--lang {options.lang} has no dev set: name a treebank that has")
    programs = [ours(name) for name in options.parsers]
    if importlib.util.find_spec("supar"):
        programs.append(supar())
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for number in range(options.runs):
        for program in programs:
            with tempfile.TemporaryDirectory() as folder:
                for row, figure in one_run(program, Path(folder), treebank.train, treebank.dev, options.core).items():
                    found[row][program.name].append(figure)
                    print(f"run {number + 1}, {program.name}: {row} {figure:,.1f}", file=sys.stderr, flush=True)
    print(f"{machine()}; {options.lang}; medians of {options.runs} runs\n")
    print(f"| | {' | '.join(program.name for program in programs)} |\n|---|{'--:|' * len(programs)}")
    for row, figures in found.items():
        print(f"| {row} | {' | '.join(f'{median(figures[program.name]):,.1f}' for program in programs)} |")


def one_run(program: Program, folder: Path, train: Path, dev: Path, core: int) -> dict[str, float]:
    """The rows of the table, in order."""
    text = dev.read_text(encoding="utf-8")
    one, ten = folder / "one.conllu", folder / "ten.conllu"
    one.write_text(text.split("\n\n")[0] + "\n\n", encoding="utf-8")
    ten.write_text(10 * text, encoding="utf-8")

    def trained(name: str, epochs: int) -> float:
        return seconds(program.train(folder / name, epochs, (train, dev, one)), folder, core)

    def parsed(source: Path) -> float:
        return seconds(program.parse(folder / "first", source, folder / "parsed.conllu"), folder, core)

    first = trained("first", 1)
    one_epoch, three_epochs = trained("again", 1), trained("longer", 3)
    epoch = (three_epochs - one_epoch) / 2
    first_parse = parsed(dev)
    first_sentence, one_sentence, whole, tenfold = map(parsed, (one, one, dev, ten))
    return {
        "training for one epoch, empty caches, s": first,
        "training for one epoch again, s": one_epoch,
        "each epoch more, with its evaluation, s": epoch,
        "training and evaluation, words a second": (words(train) + words(dev)) / epoch,
        "the dev set, first parse on a machine, s": first_parse,
        "the dev set again, s": whole,
        "one sentence, the first after that, s": first_sentence,
        "one sentence again, s": one_sentence,
        "parsing, words a second": 9 * words(dev) / (tenfold - whole),
    }


def words(file: Path) -> int:
    return sum(map(len, read(file)))


def seconds(command: Command, folder: Path, core: int) -> float:
    """Of one process, with caches in this folder. RuntimeError where it fails."""
    own = {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'experiments'}"}
    pin = ["taskset", "--cpu-list", str(core)]
    start = time.perf_counter()
    done = subprocess.run(
        [*pin, sys.executable, *command], env=os.environ | THREADS | own, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}")
    return time.perf_counter() - start


if __name__ == "__main__":
    main()

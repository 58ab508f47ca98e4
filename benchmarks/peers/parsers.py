"""Training and parsing by whole processes from the shell: structdep's parsers, SuPar's and UDPipe's.

Each process is pinned to one core, with one thread. None predicts tags. structdep and SuPar have models of similar
sizes and batches of 250 words. Caches are empty when a run begins: structdep compiles programs in the first training
and the first parsing, and loads them later.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers.parser_programs import Command, Program
from benchmarks.peers.rows import OURS, Row, Step
from structdep_parser.data.conllu import Sentence, read
from structdep_parser.data.treebank import Treebank, find_treebank

ROOT = Path(__file__).parent.parent.parent
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
EPOCHS = 3
"""Of the longer training, whose parser is evaluated."""


class Files(NamedTuple):
    """Files of a treebank, and of the development set: its first sentence, and ten copies."""

    train: Path
    dev: Path
    one: Path
    ten: Path


def steps(lang: str, programs: Sequence[Program], runs: int, core: int) -> list[Step]:
    """Run by run, the programs in turn.

    Raises:
        ValueError: the treebank has no development set.
        FileNotFoundError: there is no such treebank.
    """
    treebank = find_treebank(lang)
    if treebank.dev is None:
        raise ValueError(f"--lang {lang} has no development set: name a treebank that has")
    return [
        Step(f"parsers: {lang}, {program.name}, run {run + 1}", partial(one_run, program, treebank, lang, core))
        for run in range(runs)
        for program in programs
    ]


def one_run(program: Program, treebank: Treebank, lang: str, core: int) -> list[Row]:
    """A row for each figure. Where the program fails, one that says so; structdep's failures are raised."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            figures = measured(program, files(treebank, Path(folder)), Path(folder), core)
        except (RuntimeError, ValueError) as error:
            if program.name.startswith(OURS):
                raise
            return [Row("parsers", lang, "training", program.name, "s", trouble=str(error).strip().splitlines()[-1])]
    return [Row("parsers", lang, name, program.name, unit, runs=[figure]) for (name, unit), figure in figures.items()]


def files(treebank: Treebank, folder: Path) -> Files:
    assert treebank.dev is not None
    text = treebank.dev.read_text(encoding="utf-8")
    one, ten = folder / "one.conllu", folder / "ten.conllu"
    one.write_text(text.split("\n\n")[0] + "\n\n", encoding="utf-8")
    ten.write_text(10 * text, encoding="utf-8")
    return Files(treebank.train, treebank.dev, one, ten)


def measured(program: Program, files: Files, folder: Path, core: int) -> dict[tuple[str, str], float]:
    """Figures by their name and unit, in the order of the page."""

    def trained(name: str, epochs: int) -> float:
        return seconds(program.train(folder / name, epochs, (files.train, files.dev, files.one)), folder, core)

    def parsed(source: Path, by: str = "first") -> float:
        return seconds(program.parse(folder / by, source, folder / "parsed.conllu"), folder, core)

    first, one_epoch, longer = trained("first", 1), trained("again", 1), trained("longer", EPOCHS)
    epoch = (longer - one_epoch) / (EPOCHS - 1)
    train, dev = read(files.train), read(files.dev)
    first_parse = parsed(files.dev)
    first_sentence, one_sentence, whole, tenfold = map(parsed, (files.one, files.one, files.dev, files.ten))
    parsed(files.dev, "longer")
    return {
        ("train for one epoch, empty caches", "s"): first,
        ("train for one epoch again", "s"): one_epoch,
        ("each epoch more, with its evaluation", "s"): epoch,
        ("train and evaluate", "words/s"): (words(train) + words(dev)) / epoch,
        ("parse the development set for the first time", "s"): first_parse,
        ("parse the development set again", "s"): whole,
        ("parse one sentence after that", "s"): first_sentence,
        ("parse one sentence again", "s"): one_sentence,
        ("parse", "words/s"): 9 * words(dev) / (tenfold - whole),
        (f"LAS on the development set after {EPOCHS} epochs", "%"): las(dev, read(folder / "parsed.conllu")),
    }


def words(sentences: Sequence[Sentence]) -> int:
    return sum(map(len, sentences))


def las(gold: Sequence[Sentence], parsed: Sequence[Sentence]) -> float:
    """Percentage of words whose head and relation are right. ValueError if the words are not those of the treebank."""
    if [sentence.forms for sentence in gold] != [sentence.forms for sentence in parsed]:
        raise ValueError("the parsed file has other words than the treebank")
    pairs = zip(gold, parsed, strict=True)
    right = [(own == other) for g, p in pairs for own, other in zip(_arcs(g), _arcs(p), strict=True)]
    return 100 * sum(right) / len(right)


def _arcs(sentence: Sentence) -> list[tuple[int, str]]:
    return list(zip(sentence.heads.tolist(), sentence.deprels, strict=True))


def seconds(command: Command, folder: Path, core: int) -> float:
    """Processor time of one process, with caches in this folder. RuntimeError where it fails."""
    own = {"XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'experiments'}"}
    own["PYTHONDONTWRITEBYTECODE"] = ""  # packages that are installed have their bytecode
    pin = ["taskset", "--cpu-list", str(core)]
    start = processor_time()
    done = subprocess.run(
        [*pin, sys.executable, *command], env=os.environ | THREADS | own, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}")
    return processor_time() - start


def processor_time() -> float:
    """Of all processes that this one has started and that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
